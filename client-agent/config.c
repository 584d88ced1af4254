/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "client-agent/config.h"

#include <errno.h>
#include <fnmatch.h>
#include <ini.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "client-agent/procfs.h"
#include "client-agent/status/listen.h"
#include "pricing/price.h"

enum type { TYPE_COUNT, TYPE_REAL, TYPE_WORD, TYPE_PATH, TYPE_LISTEN, TYPE_PATTERNS };

struct option {
	const char *name;
	enum type type;
	size_t offset;
	double min, max;      /* of a count or real */
	double number;        /* default of a count or real; of a word, its index */
	const char *words[2]; /* a word's values: false or 0 first */
	const char *path;     /* default of a path or address */
	bool may_be_empty;    /* a path */
	const char *help;
};

#define AT(member) offsetof(struct canfs_config, member)
#define OFF_ON                                                                                     \
	{                                                                                          \
		"off", "on"                                                                        \
	}

/* A new option is one row here and one member of struct canfs_config. */
static const struct option options[] = {
	{ .name = "mode",
		.type = TYPE_WORD,
		.offset = AT(mode),
		.words = { "observe", "enforce" },
		.help = "observe logs decisions and changes nothing, enforce acts on them" },
	{ .name = "writeback",
		.type = TYPE_WORD,
		.offset = AT(writeback),
		.words = OFF_ON,
		.number = 1,
		.help = "defer and accelerate write-back" },
	{ .name = "readahead",
		.type = TYPE_WORD,
		.offset = AT(readahead),
		.words = OFF_ON,
		.number = 1,
		.help = "tune read-ahead" },
	{ .name = "mounts",
		.type = TYPE_PATTERNS,
		.offset = AT(pattern),
		.help = "mount points to manage, as shell patterns; empty: all NFS mounts" },
	{ .name = "hold_pct",
		.type = TYPE_COUNT,
		.offset = AT(hold_pct),
		.min = 5,
		.max = 50,
		.number = 35,
		.help = "share of memory that deferred data may take, in %" },
	{ .name = "guard_mib",
		.type = TYPE_COUNT,
		.offset = AT(guard_mib),
		.min = 32,
		.max = 1 << 20,
		.number = 100,
		.help = "MemAvailable - Dirty - Writeback that must stay, in MiB" },
	{ .name = "price_timeout_sec",
		.type = TYPE_COUNT,
		.offset = AT(price_timeout_sec),
		.min = 1,
		.max = 3600,
		.number = 30,
		.help = "without a price for so long: back to the kernel's defaults" },
	{ .name = "price_idle_sec",
		.type = TYPE_COUNT,
		.offset = AT(price_idle_sec),
		.min = 1,
		.max = 3600,
		.number = 10,
		.help = "how often an idle client asks for the price" },
	{ .name = "price_min_msec",
		.type = TYPE_COUNT,
		.offset = AT(price_min_msec),
		.min = 20,
		.max = 60000,
		.number = 100,
		.help = "a busy client asks at most this often" },
	{ .name = "k_memory",
		.type = TYPE_REAL,
		.offset = AT(k_memory),
		.min = CANFS_K_MIN,
		.max = CANFS_K_MAX,
		.number = 32,
		.help = "k of this client's memory" },
	{ .name = "price_min",
		.type = TYPE_REAL,
		.offset = AT(price_min),
		.min = 0,
		.max = 0.5,
		.number = 0.02,
		.help = "floor of this client's own price" },
	{ .name = "hysteresis",
		.type = TYPE_REAL,
		.offset = AT(hysteresis),
		.min = 0,
		.max = 0.5,
		.number = 0.02,
		.help = "prices must differ by more to change a verdict" },
	{ .name = "dwell_ms",
		.type = TYPE_COUNT,
		.offset = AT(dwell_ms),
		.min = 0,
		.max = 60000,
		.number = 200,
		.help = "least time between two changes of a verdict" },
	{ .name = "readahead_min_kib",
		.type = TYPE_COUNT,
		.offset = AT(readahead_min_kib),
		.min = 64,
		.max = 15360,
		.number = 64,
		.help = "least read-ahead" },
	{ .name = "readahead_max_kib",
		.type = TYPE_COUNT,
		.offset = AT(readahead_max_kib),
		.min = 64,
		.max = 15360,
		.number = 8192,
		.help = "most read-ahead" },
	{ .name = "state_dir",
		.type = TYPE_PATH,
		.offset = AT(state_dir),
		.path = "/run/canfs",
		.help = "journal and lock; must not outlive a reboot" },
	{ .name = "control_socket",
		.type = TYPE_PATH,
		.offset = AT(control_socket),
		.path = "/run/canfs/agent.sock",
		.may_be_empty = true,
		.help = "where canfsctl asks the agent; empty: nowhere" },
	{ .name = "metrics_listen",
		.type = TYPE_LISTEN,
		.offset = AT(metrics_listen),
		.path = "",
		.help = "loopback ADDRESS:PORT for Prometheus; empty: none" },
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

/* What inih's handler works on. */
struct parser {
	struct canfs_config config;
	const char *file;
	char *error; /* of the first mistake; "" so far */
	const char *text;
	int line;
	int mistake_line;
	int name_line[OPTIONS]; /* where it was given; 0: not yet */
};

/* Keeps the first mistake only. Returns 0, which to inih means an error. */
static int __attribute__((format(printf, 2, 3)))
mistake(struct parser *parser, const char *format, ...)
{
	va_list args;

	if (parser->error[0])
		return 0;
	parser->mistake_line = parser->line;
	int n = snprintf(
		parser->error, CANFS_CONFIG_ERROR_MAX, "%.128s:%d: ", parser->file, parser->line);
	va_start(args, format);
	vsnprintf(parser->error + n, CANFS_CONFIG_ERROR_MAX - (size_t)n, format, args);
	va_end(args);
	return 0;
}

static void put_number(struct canfs_config *config, const struct option *option, double number)
{
	void *at = (char *)config + option->offset;

	if (option->type == TYPE_REAL)
		*(double *)at = number;
	else if (option->type == TYPE_COUNT)
		*(unsigned int *)at = (unsigned int)number;
	else if (option->offset == AT(mode))
		config->mode = number != 0 ? CANFS_ENFORCE : CANFS_OBSERVE;
	else
		*(bool *)at = number != 0;
}

static int set_number(struct parser *parser, const struct option *option, const char *value)
{
	char *end;
	double number = strtod(value, &end);
	bool whole = option->type == TYPE_REAL || number == floor(number);

	/* strtod() alone would also take hexadecimal, "inf" and "nan". */
	if (end == value || *end || strspn(value, "+-.0123456789eE") != strlen(value))
		return mistake(parser, "%s = %.64s: not a number", option->name, value);
	if (!whole)
		return mistake(parser, "%s = %.64s: not a whole number", option->name, value);
	if (!(number >= option->min && number <= option->max))
		return mistake(parser, "%s = %.64s: not in %g ... %g", option->name, value,
			option->min, option->max);
	put_number(&parser->config, option, number);
	return 1;
}

static int set_word(struct parser *parser, const struct option *option, const char *value)
{
	for (int i = 0; i < 2; i++) {
		if (strcmp(value, option->words[i]) == 0) {
			put_number(&parser->config, option, i);
			return 1;
		}
	}
	return mistake(parser, "%s = %.64s: not %s or %s", option->name, value, option->words[0],
		option->words[1]);
}

static int set_path(struct parser *parser, const struct option *option, const char *value)
{
	if (value[0] != '/' && !(value[0] == '\0' && option->may_be_empty))
		return mistake(parser, "%s = %.64s: not an absolute path", option->name, value);
	if (strlen(value) >= CANFS_CONFIG_PATH_MAX)
		return mistake(parser, "%s: longer than %d bytes", option->name,
			CANFS_CONFIG_PATH_MAX - 1);
	strcpy((char *)&parser->config + option->offset, value);
	return 1;
}

static int set_listen(struct parser *parser, const struct option *option, const char *value)
{
	struct sockaddr_storage address;
	int err = value[0] ? canfs_listen_parse(value, &address) : 0;

	if (err)
		return mistake(parser, "%s = %.64s: %s", option->name, value,
			err == -EACCES ? "not a loopback address, as 127.0.0.1 and [::1] are"
				       : "not ADDRESS:PORT, as 127.0.0.1:9105 or [::1]:9105");
	strcpy((char *)&parser->config + option->offset, value);
	return 1;
}

static int set_patterns(struct parser *parser, const struct option *option, const char *value)
{
	struct canfs_config *config = &parser->config;

	for (value += strspn(value, " \t"); *value; value += strspn(value, " \t")) {
		size_t len = strcspn(value, " \t");
		if (value[0] != '/')
			return mistake(parser, "%s: %.*s: not an absolute path", option->name,
				len > 64 ? 64 : (int)len, value);
		if (len >= CANFS_CONFIG_PATH_MAX)
			return mistake(parser, "%s: a pattern is longer than %d bytes",
				option->name, CANFS_CONFIG_PATH_MAX - 1);
		if (config->patterns == CANFS_CONFIG_PATTERNS_MAX)
			return mistake(parser, "%s: more than %d patterns", option->name,
				CANFS_CONFIG_PATTERNS_MAX);
		memcpy(config->pattern[config->patterns], value, len);
		config->pattern[config->patterns++][len] = '\0';
		value += len;
	}
	return 1;
}

static int set_option(struct parser *parser, size_t i, const char *value)
{
	const struct option *option = &options[i];

	if (parser->name_line[i])
		return mistake(
			parser, "%s: given before, in line %d", option->name, parser->name_line[i]);
	parser->name_line[i] = parser->line;
	switch (option->type) {
	case TYPE_COUNT:
	case TYPE_REAL:
		return set_number(parser, option, value);
	case TYPE_WORD:
		return set_word(parser, option, value);
	case TYPE_PATH:
		return set_path(parser, option, value);
	case TYPE_LISTEN:
		return set_listen(parser, option, value);
	case TYPE_PATTERNS:
		/* What the file says replaces what was there before. */
		parser->config.patterns = 0;
		return set_patterns(parser, option, value);
	}
	return 0;
}

static int on_pair(void *user, const char *section, const char *name, const char *value)
{
	struct parser *parser = user;

	if (strcmp(section, "agent") != 0)
		return mistake(parser, "%.64s: in section [%.64s], the only one is [agent]", name,
			section);
	for (size_t i = 0; i < OPTIONS; i++) {
		if (strcmp(name, options[i].name) == 0)
			return set_option(parser, i, value);
	}
	return mistake(parser, "%.64s: unknown option", name);
}

/* inih's reader: fgets() from the text, counting lines; a line that does not fit is a mistake. */
static char *next_line(char *buf, int size, void *user)
{
	struct parser *parser = user;
	size_t len = strcspn(parser->text, "\n");
	size_t copy = len < (size_t)size - 2 ? len : (size_t)size - 2;

	if (!*parser->text)
		return NULL;
	parser->line++;
	if (copy < len)
		mistake(parser, "line longer than %d bytes", size - 2);
	memcpy(buf, parser->text, copy);
	buf[copy] = '\n';
	buf[copy + 1] = '\0';
	parser->text += len + (parser->text[len] == '\n');
	return buf;
}

/* Blames the later of two lines. */
static void blame(struct parser *parser, const char *a, const char *b)
{
	parser->line = 0;
	for (size_t i = 0; i < OPTIONS; i++) {
		if ((strcmp(options[i].name, a) == 0 || strcmp(options[i].name, b) == 0) &&
			parser->name_line[i] > parser->line)
			parser->line = parser->name_line[i];
	}
}

/* Values that must fit together. */
static void check_together(struct parser *parser)
{
	const struct canfs_config *config = &parser->config;

	if (config->readahead_min_kib > config->readahead_max_kib) {
		blame(parser, "readahead_min_kib", "readahead_max_kib");
		mistake(parser, "readahead_min_kib = %u: more than readahead_max_kib = %u",
			config->readahead_min_kib, config->readahead_max_kib);
	}
	if (config->price_timeout_sec <= config->price_idle_sec) {
		blame(parser, "price_timeout_sec", "price_idle_sec");
		mistake(parser, "price_timeout_sec = %u: not more than price_idle_sec = %u",
			config->price_timeout_sec, config->price_idle_sec);
	}
}

void canfs_config_defaults(struct canfs_config *config)
{
	memset(config, 0, sizeof(*config));
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option *option = &options[i];
		if (option->path)
			strcpy((char *)config + option->offset, option->path);
		else if (option->type != TYPE_PATTERNS)
			put_number(config, option, option->number);
	}
}

int canfs_config_parse_string(struct canfs_config *config, const char *file, const char *text,
	char error[CANFS_CONFIG_ERROR_MAX])
{
	struct parser parser = { .config = *config, .file = file, .error = error, .text = text };

	error[0] = '\0';
	int line = ini_parse_stream(next_line, &parser, on_pair, &parser);
	if (line > 0 && (!error[0] || line < parser.mistake_line)) {
		error[0] = '\0';
		parser.line = line;
		mistake(&parser, "neither \"name = value\" nor [agent]");
	} else if (line < 0) {
		mistake(&parser, "out of memory");
	}
	check_together(&parser);
	if (error[0])
		return -EINVAL;
	*config = parser.config;
	return 0;
}

int canfs_config_parse_file(
	struct canfs_config *config, const char *file, char error[CANFS_CONFIG_ERROR_MAX])
{
	char *text;
	int err = canfs_read_text("", file, CANFS_CONFIG_BYTES_MAX, &text);

	if (err) {
		snprintf(error, CANFS_CONFIG_ERROR_MAX, "%.256s: %s", file, strerror(-err));
		return err;
	}
	err = canfs_config_parse_string(config, file, text, error);
	free(text);
	return err;
}

bool canfs_config_wants_mount(const struct canfs_config *config, const char *mountpoint)
{
	for (size_t i = 0; i < config->patterns; i++) {
		if (fnmatch(config->pattern[i], mountpoint, 0) == 0)
			return true;
	}
	return config->patterns == 0;
}

bool canfs_config_help(size_t i, char *buf, size_t size)
{
	if (i >= OPTIONS)
		return false;
	const struct option *option = &options[i];
	switch (option->type) {
	case TYPE_COUNT:
	case TYPE_REAL:
		snprintf(buf, size, "%s = %g (%g ... %g): %s", option->name, option->number,
			option->min, option->max, option->help);
		break;
	case TYPE_WORD:
		snprintf(buf, size, "%s = %s (%s, %s): %s", option->name,
			option->words[(int)option->number], option->words[0], option->words[1],
			option->help);
		break;
	case TYPE_PATH:
	case TYPE_LISTEN:
	case TYPE_PATTERNS:
		snprintf(buf, size, "%s = %s: %s", option->name, option->path ? option->path : "",
			option->help);
		break;
	}
	return true;
}

static void show_patterns(const struct canfs_config *config, char *value, size_t size)
{
	size_t used = 0;

	value[0] = '\0';
	for (size_t i = 0; i < config->patterns && used < size; i++)
		used += (size_t)snprintf(
			value + used, size - used, "%s%s", i ? " " : "", config->pattern[i]);
}

static double number_of(const struct canfs_config *config, const struct option *option)
{
	const void *at = (const char *)config + option->offset;

	if (option->type == TYPE_REAL)
		return *(const double *)at;
	if (option->type == TYPE_COUNT)
		return *(const unsigned int *)at;
	return option->offset == AT(mode) ? config->mode : *(const bool *)at;
}

bool canfs_config_option(
	const struct canfs_config *config, size_t i, const char **name, char *value, size_t size)
{
	if (i >= OPTIONS)
		return false;
	const struct option *option = &options[i];
	*name = option->name;
	if (option->type == TYPE_PATTERNS)
		show_patterns(config, value, size);
	else if (option->type == TYPE_PATH || option->type == TYPE_LISTEN)
		snprintf(value, size, "%s", (const char *)config + option->offset);
	else if (option->type == TYPE_WORD)
		snprintf(value, size, "%s", option->words[(int)number_of(config, option)]);
	else
		snprintf(value, size, "%g", number_of(config, option));
	return true;
}
