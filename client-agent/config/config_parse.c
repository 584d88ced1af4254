// SPDX-License-Identifier: LGPL-3.0-or-later
/* The parser of agent.conf. inih splits the lines; this file checks and stores the values. */
#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "client-agent/config/config_option.h"
#include "common/file.h"
#include "client-agent/config/listen.h"

/* State of inih's handler. */
struct parser {
	struct canfs_agent_config config;
	const char *file;
	char *error; /* of the first mistake; "" so far */
	const char *text;
	int line;
	int mistake_line;
	int name_line[CANFS_OPTIONS_MAX]; /* line of the option in this section; 0: not yet */
	int header_line[CANFS_CONFIG_SECTIONS_MAX];
	enum { NOWHERE, AGENT, MOUNT } place;
	struct canfs_terms agent_terms; /* saved while config.terms holds those of a [mount] */
};

/* Keeps only the first mistake. Returns 0, which inih takes as an error. */
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

static int set_number(struct parser *parser, const struct canfs_option *option, const char *value)
{
	char *end;
	double number = strtod(value, &end);
	bool whole = option->type == TYPE_REAL || number == floor(number);

	/* strtod() alone would also accept hexadecimal, "inf" and "nan". */
	if (end == value || *end || strspn(value, "+-.0123456789eE") != strlen(value))
		return mistake(parser, "%s = %.64s: not a number", option->name, value);
	if (!whole)
		return mistake(parser, "%s = %.64s: not a whole number", option->name, value);
	if (!(number >= option->min && number <= option->max))
		return mistake(parser, "%s = %.64s: not in %.15g ... %.15g", option->name, value,
			option->min, option->max);
	canfs_option_put(&parser->config, option, number);
	return 1;
}

static int set_word(struct parser *parser, const struct canfs_option *option, const char *value)
{
	for (int i = 0; i < 2; i++) {
		if (strcmp(value, option->words[i]) == 0) {
			canfs_option_put(&parser->config, option, i);
			return 1;
		}
	}
	return mistake(parser, "%s = %.64s: not %s or %s", option->name, value, option->words[0],
		option->words[1]);
}

static int set_path(struct parser *parser, const struct canfs_option *option, const char *value)
{
	if (value[0] != '/' && !(value[0] == '\0' && option->may_be_empty))
		return mistake(parser, "%s = %.64s: not an absolute path", option->name, value);
	if (strlen(value) >= CANFS_CONFIG_PATH_MAX)
		return mistake(parser, "%s: longer than %d bytes", option->name,
			CANFS_CONFIG_PATH_MAX - 1);
	strcpy((char *)&parser->config + option->offset, value);
	return 1;
}

static int set_listen(struct parser *parser, const struct canfs_option *option, const char *value)
{
	struct sockaddr_storage address;
	int ret = value[0] ? canfs_listen_parse(value, &address) : 0;

	if (ret)
		return mistake(parser, "%s = %.64s: %s", option->name, value,
			ret == -EACCES ? "not a loopback address, as 127.0.0.1 and [::1] are"
				       : "not ADDRESS:PORT, as 127.0.0.1:9105 or [::1]:9105");
	strcpy((char *)&parser->config + option->offset, value);
	return 1;
}

/* Returns the length of a path without slashes at its end, as mount points are written. */
static size_t without_slash(const char *path, size_t len)
{
	while (len > 1 && path[len - 1] == '/')
		len--;
	return len;
}

/* Replaces the list. */
static int set_list(struct parser *parser, const struct canfs_option *option, const char *value)
{
	struct canfs_config_list *list = (void *)((char *)&parser->config + option->offset);

	list->n = 0;
	for (value += strspn(value, " \t"); *value; value += strspn(value, " \t")) {
		size_t len = strcspn(value, " \t");
		if (value[0] != '/')
			return mistake(parser, "%s: %.*s: not an absolute path", option->name,
				len > 64 ? 64 : (int)len, value);
		if (value[len - 1] == ',')
			return mistake(parser,
				"%s: %.*s: paths are separated by blanks, not commas", option->name,
				len > 64 ? 64 : (int)len, value);
		if (len >= CANFS_CONFIG_PATH_MAX)
			return mistake(parser, "%s: a path is longer than %d bytes", option->name,
				CANFS_CONFIG_PATH_MAX - 1);
		if (list->n == CANFS_CONFIG_LIST_MAX)
			return mistake(parser, "%s: more than %d paths", option->name,
				CANFS_CONFIG_LIST_MAX);
		snprintf(list->path[list->n++], CANFS_CONFIG_PATH_MAX, "%.*s",
			(int)without_slash(value, len), value);
		value += len;
	}
	return 1;
}

static int set_option(struct parser *parser, size_t i, const char *value)
{
	const struct canfs_option *option = &canfs_options[i];

	if (parser->name_line[i])
		return mistake(
			parser, "%s: given before, in line %d", option->name, parser->name_line[i]);
	parser->name_line[i] = parser->line;
	switch (option->type) {
	case TYPE_COUNT:
	case TYPE_REAL:
		return set_number(parser, option, value);
	case TYPE_MODE:
	case TYPE_SWITCH:
		return set_word(parser, option, value);
	case TYPE_PATH:
		return set_path(parser, option, value);
	case TYPE_LISTEN:
		return set_listen(parser, option, value);
	case TYPE_LIST:
		return set_list(parser, option, value);
	}
	return 0;
}

static int on_pair(void *user, const char *section, const char *name, const char *value)
{
	struct parser *parser = user;

	(void)section; /* inih truncates it after 49 bytes: see take_header() */
	if (parser->place == NOWHERE)
		return mistake(parser, "%.64s: before any section, the first one is [agent]", name);
	for (size_t i = 0; i < canfs_options_n; i++) {
		if (strcmp(name, canfs_options[i].name) != 0)
			continue;
		if (parser->place == MOUNT && !canfs_options[i].per_mount)
			return mistake(parser, "%s: allowed in [agent] only", name);
		return set_option(parser, i, value);
	}
	return mistake(parser, "%.64s: unknown option", name);
}

/* Blames the later line of the two options. If neither is in a [mount], blames its header. */
static void blame(struct parser *parser, const char *a, const char *b)
{
	parser->line =
		parser->place == MOUNT ? parser->header_line[parser->config.sections - 1] : 0;
	for (size_t i = 0; i < canfs_options_n; i++) {
		if ((strcmp(canfs_options[i].name, a) == 0 ||
			    strcmp(canfs_options[i].name, b) == 0) &&
			parser->name_line[i] > parser->line)
			parser->line = parser->name_line[i];
	}
}

/*
 * A price must not count as lost before the next question is due and its answer can arrive. See
 * poller.h: the interval is stretched at random up to 1.2 times, and an answer may take 2 s.
 */
static void check_timeout(struct parser *parser, const char *name, unsigned int value,
	const char *factor, double longest_sec)
{
	double least_sec = ceil(longest_sec + 2);
	unsigned int timeout_sec = parser->config.price_timeout_sec;

	if (timeout_sec >= least_sec)
		return;
	blame(parser, "price_timeout_sec", name);
	mistake(parser, "price_timeout_sec = %u: less than %.0f, which is %s %s = %u and 2",
		timeout_sec, least_sec, factor, name, value);
}

/* Checks values that must fit together. */
static void check_together(struct parser *parser)
{
	const struct canfs_agent_config *config = &parser->config;
	int line = parser->line;

	if (config->terms.readahead_min_kib > config->terms.readahead_max_kib) {
		blame(parser, "readahead_min_kib", "readahead_max_kib");
		mistake(parser, "readahead_min_kib = %u: more than readahead_max_kib = %u",
			config->terms.readahead_min_kib, config->terms.readahead_max_kib);
	}
	check_timeout(parser, "price_idle_sec", config->price_idle_sec, "1.2 times",
		config->price_idle_sec * 6 / 5.0);
	check_timeout(parser, "price_min_msec", config->price_min_msec, "twice",
		config->price_min_msec / 500.0);
	parser->line = line;
}

/* Ends a section: stores the terms of a [mount]. */
static void end_section(struct parser *parser)
{
	struct canfs_agent_config *config = &parser->config;

	check_together(parser);
	if (parser->place == MOUNT) {
		config->section[config->sections - 1].terms = config->terms;
		config->terms = parser->agent_terms;
	}
}

static void begin_mount(struct parser *parser, const char *pattern, size_t len)
{
	struct canfs_agent_config *config = &parser->config;

	if (len >= CANFS_CONFIG_PATH_MAX) {
		mistake(parser, "[mount]: the pattern is longer than %d bytes",
			CANFS_CONFIG_PATH_MAX - 1);
		return;
	}
	if (len == 0 || pattern[0] != '/') {
		mistake(parser, "[mount %.*s]: not an absolute path", len > 64 ? 64 : (int)len,
			pattern);
		return;
	}
	len = without_slash(pattern, len);
	for (size_t i = 0; i < config->sections; i++) {
		if (strncmp(config->section[i].pattern, pattern, len) == 0 &&
			!config->section[i].pattern[len]) {
			mistake(parser, "[mount %.*s]: given before, in line %d",
				len > 64 ? 64 : (int)len, pattern, parser->header_line[i]);
			return;
		}
	}
	if (config->sections == CANFS_CONFIG_SECTIONS_MAX) {
		mistake(parser, "more than %d [mount] sections", CANFS_CONFIG_SECTIONS_MAX);
		return;
	}
	memcpy(config->section[config->sections].pattern, pattern, len);
	config->section[config->sections].pattern[len] = '\0';
	parser->header_line[config->sections++] = parser->line;
	if (parser->place != MOUNT)
		parser->agent_terms = config->terms;
	parser->place = MOUNT;
	memset(parser->name_line, 0, sizeof(parser->name_line));
}

/* Parses "[agent]" or "[mount PATTERN]". PATTERN may contain ], and a comment may follow. */
static void take_header(struct parser *parser, const char *line)
{
	static const char mount[] = "mount ";
	const char *name = line + 1, *end = line;
	size_t len;

	do
		end = strchr(end + 1, ']');
	while (end && !strchr("\r\n;#", end[1 + strspn(end + 1, " \t")]));
	if (!end)
		return; /* inih warns */
	name += strspn(name, " \t");
	while (end > name && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	len = (size_t)(end - name);
	if (len == 5 && memcmp(name, "agent", 5) == 0) {
		if (parser->place == MOUNT)
			mistake(parser, "[agent] after a [mount]: it must come first");
		else
			parser->place = AGENT;
	} else if (len >= sizeof(mount) - 1 && memcmp(name, mount, sizeof(mount) - 1) == 0) {
		end_section(parser);
		name += sizeof(mount) - 1;
		name += strspn(name, " \t");
		begin_mount(parser, name, end > name ? (size_t)(end - name) : 0);
	} else {
		mistake(parser, "[%.*s]: allowed are [agent] and [mount /PATTERN]",
			len > 64 ? 64 : (int)len, name);
	}
}

/*
 * inih's reader: like fgets() from the text. Counts lines. A line that does not fit is a mistake.
 */
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
	/* A reader could not tell whether an indented header continues the value above. */
	if (buf[0] == '[')
		take_header(parser, buf);
	else if (buf[strspn(buf, " \t")] == '[')
		mistake(parser, "a section must begin its line");
	return buf;
}

/* Some editors write a byte order mark. */
static const char *skip_byte_order_mark(const char *text)
{
	static const char mark[] = "\xef\xbb\xbf";

	return strncmp(text, mark, sizeof(mark) - 1) == 0 ? text + sizeof(mark) - 1 : text;
}

int canfs_config_parse_string(struct canfs_agent_config *config, const char *file, const char *text,
	char error[CANFS_CONFIG_ERROR_MAX])
{
	struct parser *parser = calloc(1, sizeof(*parser));

	error[0] = '\0';
	if (!parser) {
		snprintf(error, CANFS_CONFIG_ERROR_MAX, "%.128s: out of memory", file);
		return -ENOMEM;
	}
	parser->config = *config;
	parser->config.sections = 0;
	parser->file = file;
	parser->error = error;
	parser->text = skip_byte_order_mark(text);
	int line = ini_parse_stream(next_line, parser, on_pair, parser);
	if (line > 0 && (!error[0] || line < parser->mistake_line)) {
		error[0] = '\0';
		parser->line = line;
		mistake(parser, "neither \"name = value\" nor [agent] nor [mount /PATTERN]");
	} else if (line < 0) {
		mistake(parser, "out of memory");
	}
	if (!error[0])
		end_section(parser);
	if (!error[0])
		*config = parser->config;
	else /* state_dir is always set: restoring the journal must not depend on other options */
		memcpy(config->state_dir, parser->config.state_dir, sizeof(config->state_dir));
	free(parser);
	return error[0] ? -EINVAL : 0;
}

int canfs_config_parse_file(
	struct canfs_agent_config *config, const char *file, char error[CANFS_CONFIG_ERROR_MAX])
{
	char *text;
	int ret = canfs_read_text("", file, CANFS_CONFIG_BYTES_MAX, &text);

	if (ret) {
		snprintf(error, CANFS_CONFIG_ERROR_MAX, "%.256s: %s", file, strerror(-ret));
		return ret;
	}
	ret = canfs_config_parse_string(config, file, text, error);
	free(text);
	return ret;
}
