// SPDX-License-Identifier: LGPL-3.0-or-later
/* Command-line parsing, --help and warnings. */
#include "canfsctl/ctl.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/path.h"

#define WARNING_MAX 8192 /* two paths and some words */

void ctl_warn(const char *format, ...)
{
	char line[WARNING_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	for (char *c = line; *c; c++) { /* names may contain newlines; print one line */
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	fprintf(stderr, "canfsctl: %s\n", line);
}

char *ctl_mountpoint(char *path)
{
	if (path)
		canfs_path_clean(path);
	return path;
}

static bool parse_number(const struct ctl_option *option, const char *text, double *number)
{
	char *end;

	errno = 0;
	*number = strtod(text, &end);
	if (errno == 0 && end != text && *end == '\0' && *number >= option->least &&
		*number <= option->most)
		return true;
	ctl_warn("--%s: '%s' is not a number from %g to %g", option->name, text, option->least,
		option->most);
	return false;
}

static bool parse_count(const struct ctl_option *option, const char *text, unsigned int *count)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno == 0 && *text >= '0' && *text <= '9' && *end == '\0' &&
		(double)number >= option->least && (double)number <= option->most) {
		*count = (unsigned int)number;
		return true;
	}
	ctl_warn("--%s: '%s' is not a whole number from %.0f to %.0f", option->name, text,
		option->least, option->most);
	return false;
}

static bool parse_value(const struct ctl_option *option, const char *text, void *options)
{
	void *at = (char *)options + option->at;

	switch (option->type) {
	case CTL_IS_FLAG:
		*(bool *)at = true;
		return true;
	case CTL_IS_TEXT:
		*(const char **)at = text;
		return true;
	case CTL_IS_COUNT:
		return parse_count(option, text, at);
	case CTL_IS_NUMBER:
		break;
	}
	if (text)
		return parse_number(option, text, at);
	*(double *)at = option->missing;
	return true;
}

static void print_option(const struct ctl_option *option)
{
	char left[40];

	if (option->letter)
		snprintf(left, sizeof(left), "-%c, --%s", option->letter, option->name);
	else
		snprintf(left, sizeof(left), "--%s%s", option->name,
			option->value ? option->value : "");
	printf("  %-18s %s\n", left, option->help);
}

static void print_help(const struct ctl_syntax *syntax)
{
	fputs(syntax->usage, stdout);
	for (const struct ctl_option *option = syntax->options; option->name; option++) {
		if (!syntax->helped || !option->takers || (option->takers & syntax->helped))
			print_option(option);
	}
	fputs(syntax->epilog, stdout);
}

static int needs_value(const struct ctl_option *option)
{
	if (!option->value)
		return no_argument;
	return *option->value == '[' ? optional_argument : required_argument;
}

int ctl_parse(
	const struct ctl_syntax *syntax, void *options, unsigned int *given, int argc, char **argv)
{
	enum { HELP = 256, FIRST };
	struct option longs[CTL_OPTIONS_MAX + 2] = { { "help", no_argument, NULL, HELP } };
	const struct ctl_option *row = syntax->options;
	static char name[64]; /* must outlive this call: getopt_long() prints it */
	char letters[CTL_OPTIONS_MAX + 2] = "";
	int c, rows = 0;

	if (syntax->command_follows)
		strcpy(letters, "+");
	for (; row[rows].name && rows < CTL_OPTIONS_MAX; rows++) {
		longs[rows + 1] = (struct option) { row[rows].name, needs_value(&row[rows]), NULL,
			FIRST + rows };
		if (row[rows].letter)
			strncat(letters, &row[rows].letter, 1);
	}
	*given = 0;
	snprintf(name, sizeof(name), "canfsctl %s", syntax->name);
	argv[0] = name;
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		int i = c - FIRST;

		if (c == HELP) {
			print_help(syntax);
			return CTL_OK;
		}
		for (int k = 0; k < rows && c < HELP; k++) {
			if (row[k].letter == c)
				i = k;
		}
		if (i < 0 || !parse_value(&row[i], optarg, options))
			return CTL_USAGE; /* getopt_long() or parse_value() has warned */
		*given |= 1u << i;
	}
	return -1;
}

bool ctl_takes(const struct ctl_syntax *syntax, unsigned int given, const char *command,
	unsigned int taker)
{
	for (unsigned int i = 0; syntax->options[i].name; i++) {
		const struct ctl_option *option = &syntax->options[i];

		if ((given & 1u << i) && option->takers && !(option->takers & taker)) {
			ctl_warn("%s takes no --%s", command, option->name);
			return false;
		}
	}
	return true;
}
