// SPDX-License-Identifier: LGPL-3.0-or-later
/* inih splits the lines; this file checks and stores the values. */
#include "common/options.h"

#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"

int canfs_options_mistake(struct canfs_options_reader *reader, const char *format, ...)
{
	va_list args;

	if (reader->error[0])
		return 0;
	reader->mistake_line = reader->line;
	int n = snprintf(
		reader->error, CANFS_OPTIONS_ERROR_MAX, "%.128s:%d: ", reader->file, reader->line);
	va_start(args, format);
	vsnprintf(reader->error + n, CANFS_OPTIONS_ERROR_MAX - (size_t)n, format, args);
	va_end(args);
	return 0;
}

/* number is within the option's bounds, the index of a word, or 0. */
static void put(void *at, const struct canfs_option *option, double number)
{
	if (option->type == CANFS_REAL)
		*(double *)at = number;
	else if (option->type == CANFS_SWITCH)
		*(bool *)at = number != 0;
	else
		*(unsigned int *)at = (unsigned int)number;
}

static int set_number(struct canfs_options_reader *reader, const struct canfs_option *option,
	void *at, const char *value)
{
	char *end;
	double number = strtod(value, &end);

	if (!value[0] && option->may_be_empty) {
		put(at, option, 0);
		return 1;
	}
	/* strtod() alone would also accept hexadecimal, "inf" and "nan". */
	if (end == value || *end || strspn(value, "+-.0123456789eE") != strlen(value))
		return canfs_options_mistake(
			reader, "%s = %.64s: not a number", option->name, value);
	if (option->type == CANFS_COUNT && number != floor(number))
		return canfs_options_mistake(
			reader, "%s = %.64s: not a whole number", option->name, value);
	if (!(number >= option->min && number <= option->max))
		return canfs_options_mistake(reader, "%s = %.64s: not in %.15g ... %.15g",
			option->name, value, option->min, option->max);
	put(at, option, number);
	return 1;
}

static const char *const off_on[] = { "off", "on" };

static const char *const *words_of(const struct canfs_option *option)
{
	return option->type == CANFS_SWITCH ? off_on : option->words;
}

static int set_word(struct canfs_options_reader *reader, const struct canfs_option *option,
	void *at, const char *value)
{
	const char *const *words = words_of(option);

	for (int i = 0; i < 2; i++) {
		if (strcmp(value, words[i]) == 0) {
			put(at, option, i);
			return 1;
		}
	}
	return canfs_options_mistake(
		reader, "%s = %.64s: not %s or %s", option->name, value, words[0], words[1]);
}

static int set_path(struct canfs_options_reader *reader, const struct canfs_option *option,
	void *at, const char *value)
{
	if (value[0] != '/' && !(value[0] == '\0' && option->may_be_empty))
		return canfs_options_mistake(
			reader, "%s = %.64s: not an absolute path", option->name, value);
	if (strlen(value) >= CANFS_OPTION_PATH_MAX)
		return canfs_options_mistake(reader, "%s: longer than %d bytes", option->name,
			CANFS_OPTION_PATH_MAX - 1);
	strcpy(at, value);
	return 1;
}

static int set_custom(struct canfs_options_reader *reader, const struct canfs_option *option,
	void *at, const char *value)
{
	return option->set(reader, option, at, value);
}

typedef int set_option(struct canfs_options_reader *reader, const struct canfs_option *option,
	void *at, const char *value);

static set_option *const setters[] = {
	[CANFS_COUNT] = set_number,
	[CANFS_REAL] = set_number,
	[CANFS_WORD] = set_word,
	[CANFS_SWITCH] = set_word,
	[CANFS_PATH] = set_path,
	[CANFS_CUSTOM] = set_custom,
};

static int unknown(struct canfs_options_reader *reader, const char *name)
{
	const struct canfs_option_table *options = reader->options;

	for (size_t i = 0; i < options->n_retired; i++) {
		if (strcmp(name, options->retired[i].name) == 0)
			return canfs_options_mistake(reader, "%s: no longer an option: %s", name,
				options->retired[i].hint);
	}
	return canfs_options_mistake(reader, "%.64s: unknown option", name);
}

int canfs_options_set(
	struct canfs_options_reader *reader, const char *name, const char *value, bool in_section)
{
	size_t i = 0;

	while (i < reader->options->n && strcmp(name, reader->options->option[i].name) != 0)
		i++;
	if (i == reader->options->n)
		return unknown(reader, name);
	const struct canfs_option *option = &reader->options->option[i];
	if (in_section && !option->in_sections)
		return canfs_options_mistake(reader, "%s: allowed in the first section only", name);
	if (reader->name_line[i])
		return canfs_options_mistake(
			reader, "%s: already set in line %d", name, reader->name_line[i]);
	reader->name_line[i] = reader->line;
	return setters[option->type](
		reader, option, (char *)reader->config + option->offset, value);
}

static int on_pair(void *user, const char *section, const char *name, const char *value)
{
	struct canfs_options_reader *reader = user;

	(void)section; /* inih truncates it after 49 bytes: see take_header() */
	return reader->options->pair(reader, name, value);
}

/* A header may contain ], and a comment may follow it. */
static void take_header(struct canfs_options_reader *reader, const char *line)
{
	const char *name = line + 1, *end = line;

	do
		end = strchr(end + 1, ']');
	while (end && !strchr("\r\n;#", end[1 + strspn(end + 1, " \t")]));
	if (!end)
		return; /* inih warns */
	name += strspn(name, " \t");
	while (end > name && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	memset(reader->name_line, 0, sizeof(reader->name_line));
	reader->options->header(
		reader, (struct canfs_span) { name, end > name ? (size_t)(end - name) : 0 });
}

/*
 * inih's reader: like fgets() from the text. Counts lines. A line that does not fit is a mistake.
 */
static char *next_line(char *buf, int size, void *user)
{
	struct canfs_options_reader *reader = user;
	size_t len = strcspn(reader->text, "\n");
	size_t copy = len < (size_t)size - 2 ? len : (size_t)size - 2;

	if (!*reader->text)
		return NULL;
	reader->line++;
	if (copy < len)
		canfs_options_mistake(reader, "line longer than %d bytes", size - 2);
	memcpy(buf, reader->text, copy);
	buf[copy] = '\n';
	buf[copy + 1] = '\0';
	reader->text += len + (reader->text[len] == '\n');
	/* A reader could not tell whether an indented header continues the value above. */
	if (buf[0] == '[')
		take_header(reader, buf);
	else if (buf[strspn(buf, " \t")] == '[')
		canfs_options_mistake(reader, "a section must begin its line");
	return buf;
}

/* Some editors write a byte order mark. */
static const char *skip_byte_order_mark(const char *text)
{
	static const char mark[] = "\xef\xbb\xbf";

	return strncmp(text, mark, sizeof(mark) - 1) == 0 ? text + sizeof(mark) - 1 : text;
}

int canfs_options_read(struct canfs_options_reader *reader, const char *text)
{
	reader->error[0] = '\0';
	reader->text = skip_byte_order_mark(text);
	int line = ini_parse_stream(next_line, reader, on_pair, reader);
	if (line > 0 && (!reader->error[0] || line < reader->mistake_line)) {
		reader->error[0] = '\0';
		reader->line = line;
		canfs_options_mistake(reader, "neither %s", reader->options->line_is);
	} else if (line < 0) {
		canfs_options_mistake(reader, "out of memory");
	}
	return reader->error[0] ? -EINVAL : 0;
}

int canfs_options_read_file(const char *file, char **text, char error[CANFS_OPTIONS_ERROR_MAX])
{
	int ret = canfs_read_text("", file, CANFS_OPTIONS_BYTES_MAX, text);

	if (ret)
		snprintf(error, CANFS_OPTIONS_ERROR_MAX, "%.256s: %s", file, strerror(-ret));
	return ret;
}

void canfs_options_defaults(const struct canfs_option_table *options, void *config)
{
	for (size_t i = 0; i < options->n; i++) {
		const struct canfs_option *option = &options->option[i];
		void *at = (char *)config + option->offset;

		if (option->type == CANFS_PATH)
			strcpy(at, option->text);
		else if (option->type != CANFS_CUSTOM)
			put(at, option, option->number);
	}
}

/* Sets text to the option's default and allowed to what may be set; "": no note is needed. */
static void describe(
	const struct canfs_option *option, char text[CANFS_OPTION_PATH_MAX], char allowed[128])
{
	const char *const *words = words_of(option);

	text[0] = allowed[0] = '\0';
	switch (option->type) {
	case CANFS_COUNT:
	case CANFS_REAL:
		if (!option->may_be_empty)
			snprintf(text, CANFS_OPTION_PATH_MAX, "%.15g", option->number);
		snprintf(allowed, 128, "%.15g ... %.15g%s", option->min, option->max,
			option->may_be_empty ? "; empty: detected" : "");
		break;
	case CANFS_WORD:
	case CANFS_SWITCH:
		snprintf(text, CANFS_OPTION_PATH_MAX, "%s", words[(int)option->number]);
		snprintf(allowed, 128, "%s or %s", words[0], words[1]);
		break;
	case CANFS_PATH:
	case CANFS_CUSTOM:
		snprintf(text, CANFS_OPTION_PATH_MAX, "%s", option->text ? option->text : "");
		snprintf(allowed, 128, "%s", option->allowed ? option->allowed : "");
		break;
	}
}

bool canfs_options_example(
	const struct canfs_option_table *options, size_t i, char *buf, size_t size)
{
	char text[CANFS_OPTION_PATH_MAX], allowed[128];

	if (i >= options->n)
		return false;
	const struct canfs_option *option = &options->option[i];
	describe(option, text, allowed);
	snprintf(buf, size, "# %s%s%s%s%s\n#%s =%s%s\n", option->help, *allowed ? " (" : "",
		allowed, *allowed && option->in_sections ? ", per mount" : "", *allowed ? ")" : "",
		option->name, *text ? " " : "", text);
	return true;
}
