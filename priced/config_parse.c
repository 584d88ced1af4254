// SPDX-License-Identifier: LGPL-3.0-or-later
/* The parser of priced.conf. inih splits the lines, this code checks them. */
#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "priced/config_option.h"
#include "server/monitors/source.h"

#define CLASS_SECTION "class "

/* The class section being parsed. */
struct class_section {
	char name[64];
	int header_line; /* 0: not in a class section */
	int line;        /* of its first option */
	int premium_line;
	unsigned int clients; /* number of words */
	int premium_pct;
};

/* The user data of inih's handler. */
struct parser {
	struct canfs_priced_config config;
	const char *file;
	char *error; /* of the first mistake; "": none yet */
	const char *text;
	int line;
	int mistake_line;
	int name_line[CANFS_PRICED_OPTIONS_MAX]; /* line of each option; 0: not given yet */
	struct class_section client_class;
	struct canfs_names *names; /* NULL: names are left out */
};

/* Keeps only the first mistake. Returns 0, which means an error to inih. */
static int __attribute__((format(printf, 2, 3)))
mistake(struct parser *parser, const char *format, ...)
{
	va_list args;
	int n;

	if (parser->error[0] != '\0')
		return 0;
	parser->mistake_line = parser->line;
	n = snprintf(
		parser->error, CANFS_PRICED_ERROR_MAX, "%.128s:%d: ", parser->file, parser->line);
	va_start(args, format);
	vsnprintf(parser->error + n, CANFS_PRICED_ERROR_MAX - (size_t)n, format, args);
	va_end(args);
	return 0;
}

static int set_number(
	struct parser *parser, const struct canfs_priced_option *option, const char *value)
{
	char *end;
	double number = strtod(value, &end);

	if (value[0] == '\0' && canfs_priced_option_is_optional(option)) {
		canfs_priced_option_put(&parser->config, option, 0);
		return 1;
	}
	/* strtod() alone would also accept hexadecimal, "inf" and "nan". */
	if (end == value || *end != '\0' || strspn(value, "+-.0123456789eE") != strlen(value))
		return mistake(parser, "%s = %.64s: not a number", option->name, value);
	if (option->type == PRICED_COUNT && number != floor(number))
		return mistake(parser, "%s = %.64s: not a whole number", option->name, value);
	if (!(number >= option->min && number <= option->max))
		return mistake(parser, "%s = %.64s: not in %.15g ... %.15g", option->name, value,
			option->min, option->max);
	canfs_priced_option_put(&parser->config, option, number);
	return 1;
}

static int set_switch(
	struct parser *parser, const struct canfs_priced_option *option, const char *value)
{
	bool on = strcmp(value, "on") == 0;

	if (!on && strcmp(value, "off") != 0)
		return mistake(parser, "%s = %.64s: not off or on", option->name, value);
	canfs_priced_option_put(&parser->config, option, on);
	return 1;
}

static int set_path(
	struct parser *parser, const struct canfs_priced_option *option, const char *value)
{
	if (value[0] != '/' && value[0] != '\0')
		return mistake(parser, "%s = %.64s: not an absolute path", option->name, value);
	if (strlen(value) >= CANFS_PRICED_PATH_MAX)
		return mistake(parser, "%s: longer than %d bytes", option->name,
			CANFS_PRICED_PATH_MAX - 1);
	strcpy((char *)&parser->config + option->offset, value);
	return 1;
}

static int add_interface(struct parser *parser, const char *name, size_t len)
{
	struct canfs_priced_config *config = &parser->config;

	if (len >= IF_NAMESIZE || memchr(name, '/', len))
		return mistake(parser, "interfaces: %.*s: not the name of a network interface",
			len > 64 ? 64 : (int)len, name);
	if (config->interface_count == CANFS_INTERFACES_MAX)
		return mistake(parser, "interfaces: more than %d", CANFS_INTERFACES_MAX);
	memcpy(config->interfaces[config->interface_count], name, len);
	config->interfaces[config->interface_count++][len] = '\0';
	return 1;
}

#define NAME_OF(NAME, name, Name) " " #name

static int add_monitor(struct parser *parser, const char *name, size_t len)
{
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		const char *known = canfs_resource_name((enum canfs_resource)i);

		if ((CANFS_PRICED_MONITORS & 1u << i) && strlen(known) == len &&
			memcmp(known, name, len) == 0) {
			parser->config.monitors |= 1u << i;
			return 1;
		}
	}
	return mistake(parser, "monitors: %.*s: not of%s", len > 64 ? 64 : (int)len, name,
		CANFS_HOST_RESOURCE_ROWS(NAME_OF));
}

/* Names are separated by blanks or commas, because the CANFS { } block uses commas. */
static int set_names(struct parser *parser, const char *value,
	int (*add)(struct parser *parser, const char *name, size_t len))
{
	static const char between[] = " \t,";

	for (value += strspn(value, between); *value != '\0'; value += strspn(value, between)) {
		size_t len = strcspn(value, between);

		if (!add(parser, value, len))
			return 0;
		value += len;
	}
	return 1;
}

static int set_monitors(struct parser *parser, const char *value)
{
	parser->config.monitors = 0;
	if (!set_names(parser, value, add_monitor))
		return 0;
	return parser->config.monitors != 0 ? 1 : mistake(parser, "monitors: none is named");
}

static int set_option(struct parser *parser, size_t i, const char *value)
{
	const struct canfs_priced_option *option = &canfs_priced_options[i];

	if (parser->name_line[i] != 0)
		return mistake(
			parser, "%s: given before, in line %d", option->name, parser->name_line[i]);
	parser->name_line[i] = parser->line;
	switch (option->type) {
	case PRICED_COUNT:
	case PRICED_REAL:
		return set_number(parser, option, value);
	case PRICED_SWITCH:
		return set_switch(parser, option, value);
	case PRICED_PATH:
		return set_path(parser, option, value);
	case PRICED_INTERFACES:
		parser->config.interface_count = 0;
		return set_names(parser, value, add_interface);
	case PRICED_MONITORS:
		return set_monitors(parser, value);
	}
	return 0;
}

/* Checks a complete class section. Errors name the line of its first option, or of its header. */
static int end_class(struct parser *parser)
{
	struct class_section client_class = parser->client_class;
	char error[CANFS_CLASS_ERROR_MAX];
	int line = parser->line;

	parser->client_class = (struct class_section) { .line = 0 };
	if (client_class.header_line == 0)
		return 1;
	parser->line = client_class.line != 0 ? client_class.line : client_class.header_line;
	if (client_class.clients == 0)
		mistake(parser, "class %s: it has no clients", client_class.name);
	else if (canfs_classes_end(&parser->config.classes, client_class.name,
			 client_class.premium_pct, error) != 0)
		mistake(parser, "%s", error);
	parser->line = line;
	return parser->error[0] == '\0';
}

static int add_client(struct parser *parser, const char *word, size_t len)
{
	char text[512], error[CANFS_CLASS_ERROR_MAX]; /* a longer word is no valid name */

	snprintf(text, sizeof(text), "%.*s", (int)len, word);
	parser->client_class.clients++;
	if (canfs_classes_add_word(&parser->config.classes, text,
		    parser->names ? canfs_names_find : NULL, parser->names, error) != 0)
		return mistake(parser, "clients: %s", error);
	return 1;
}

static int set_premium(struct parser *parser, const char *value)
{
	struct class_section *client_class = &parser->client_class;
	char *end;
	long number;

	if (client_class->premium_line != 0)
		return mistake(
			parser, "premium: given before, in line %d", client_class->premium_line);
	client_class->premium_line = parser->line;
	errno = 0;
	number = strtol(value, &end, 10);
	if (end == value || *end != '\0')
		return mistake(parser, "premium = %.64s: not a whole number", value);
	if (errno != 0 || number < CANFS_PREMIUM_PCT_MIN || number > CANFS_PREMIUM_PCT_MAX)
		return mistake(parser, "premium = %.64s: not in %d ... %d", value,
			CANFS_PREMIUM_PCT_MIN, CANFS_PREMIUM_PCT_MAX);
	client_class->premium_pct = (int)number;
	return 1;
}

static int set_class(struct parser *parser, const char *name, const char *value)
{
	if (parser->client_class.line == 0)
		parser->client_class.line = parser->line;
	if (strcmp(name, "clients") == 0)
		return set_names(parser, value, add_client);
	if (strcmp(name, "premium") == 0)
		return set_premium(parser, value);
	return mistake(parser, "%.64s: a class has clients and premium", name);
}

static int on_pair(void *user, const char *section, const char *name, const char *value)
{
	struct parser *parser = user;

	if (parser->client_class.header_line != 0)
		return set_class(parser, name, value);
	if (strcmp(section, "priced") != 0)
		return mistake(parser, "%.64s: not below [priced]", name);
	for (size_t i = 0; i < canfs_priced_options_n; i++) {
		if (strcmp(name, canfs_priced_options[i].name) == 0)
			return set_option(parser, i, value);
	}
	return mistake(parser, "%.64s: unknown option", name);
}

/* inih does not report empty sections, so headers are parsed here. */
static void take_header(struct parser *parser, const char *line)
{
	const size_t prefix = strlen("[" CLASS_SECTION);
	struct class_section *client_class = &parser->client_class;

	(void)end_class(parser);
	if (strncmp(line, "[" CLASS_SECTION, prefix) != 0) {
		if (strncmp(line, "[priced]", 8) != 0)
			mistake(parser, "allowed are the sections [priced] and [class NAME]");
		return;
	}
	*client_class = (struct class_section) { .header_line = parser->line };
	snprintf(client_class->name, sizeof(client_class->name), "%.*s",
		(int)strcspn(line + prefix, "]\n"), line + prefix);
	if (parser->names)
		parser->names->class_name = client_class->name;
}

/* inih's reader: fgets() from the text, counts lines. A line that does not fit is a mistake. */
static char *next_line(char *buf, int size, void *user)
{
	struct parser *parser = user;
	size_t len = strcspn(parser->text, "\n");
	size_t copy = len < (size_t)size - 2 ? len : (size_t)size - 2;

	if (*parser->text == '\0')
		return NULL;
	parser->line++;
	if (copy < len)
		mistake(parser, "line longer than %d bytes", size - 2);
	memcpy(buf, parser->text, copy);
	buf[copy] = '\n';
	buf[copy + 1] = '\0';
	parser->text += len + (parser->text[len] == '\n');
	if (buf[0] == '[')
		take_header(parser, buf);
	return buf;
}

int canfs_priced_config_parse_string(struct canfs_priced_config *config, const char *file,
	const char *text, struct canfs_names *names, char error[CANFS_PRICED_ERROR_MAX])
{
	struct parser *parser = calloc(1, sizeof(*parser));
	int line;

	error[0] = '\0';
	if (!parser) {
		snprintf(error, CANFS_PRICED_ERROR_MAX, "%.128s: out of memory", file);
		return -ENOMEM;
	}
	parser->config = *config;
	parser->file = file;
	parser->error = error;
	parser->text = text;
	parser->names = names;
	line = ini_parse_stream(next_line, parser, on_pair, parser);
	if (line > 0 && (error[0] == '\0' || line < parser->mistake_line)) {
		error[0] = '\0';
		parser->line = line;
		mistake(parser, "neither \"name = value\" nor a section");
	} else if (line < 0) {
		mistake(parser, "out of memory");
	}
	(void)end_class(parser);
	if (error[0] == '\0')
		*config = parser->config;
	free(parser);
	return error[0] != '\0' ? -EINVAL : 0;
}

static int parse_file(struct canfs_priced_config *config, const char *file, char *text,
	struct canfs_names *names, char error[CANFS_PRICED_ERROR_MAX])
{
	int ret = canfs_read_source("", file, text, CANFS_PRICED_CONFIG_BYTES_MAX);

	/* A full buffer: the file may be longer. */
	if (ret >= CANFS_PRICED_CONFIG_BYTES_MAX - 1)
		ret = -EFBIG;
	if (ret < 0) {
		snprintf(error, CANFS_PRICED_ERROR_MAX, "%.256s: %s", file, strerror(-ret));
		return ret;
	}
	return canfs_priced_config_parse_string(config, file, text, names, error);
}

int canfs_priced_config_parse_file(struct canfs_priced_config *config, const char *file,
	struct canfs_names *names, char error[CANFS_PRICED_ERROR_MAX])
{
	char *text = malloc(CANFS_PRICED_CONFIG_BYTES_MAX);
	int ret;

	if (!text) {
		snprintf(error, CANFS_PRICED_ERROR_MAX, "%.256s: out of memory", file);
		return -ENOMEM;
	}
	ret = parse_file(config, file, text, names, error);
	free(text);
	return ret;
}
