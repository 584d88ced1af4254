// SPDX-License-Identifier: LGPL-3.0-or-later
/* What is typed, and what is said of it. */
#include "client-agent/ctl/ctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ctl_warn(const char *format, ...)
{
	va_list args;

	fputs("canfsctl: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

char *ctl_mountpoint(char *path)
{
	size_t length = path ? strlen(path) : 0;

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	return path;
}

bool ctl_parse_number(
	const char *option, const char *text, double least, double most, double *number)
{
	char *end;

	errno = 0;
	*number = strtod(text, &end);
	if (errno == 0 && end != text && *end == '\0' && *number >= least && *number <= most)
		return true;
	ctl_warn("%s: '%s' is not a number from %g to %g", option, text, least, most);
	return false;
}

bool ctl_parse_count(const char *option, const char *text, unsigned int least, unsigned int most,
	unsigned int *count)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno == 0 && *text >= '0' && *text <= '9' && *end == '\0' && number >= least &&
		number <= most) {
		*count = (unsigned int)number;
		return true;
	}
	ctl_warn("%s: '%s' is not a whole number from %u to %u", option, text, least, most);
	return false;
}
