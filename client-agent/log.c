/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "client-agent/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void canfs_log(const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (getenv("JOURNAL_STREAM")) {
		fprintf(stderr, "%s\n", line);
		return;
	}

	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	fprintf(stderr, "%02d:%02d:%02d.%03ld %s\n", tm.tm_hour, tm.tm_min, tm.tm_sec,
		now.tv_nsec / 1000000, line);
}
