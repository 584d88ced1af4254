// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Writes the time of day, or nothing if journald reads stderr. Returns the length. */
static size_t stamp(char *buf, size_t size)
{
	struct timespec now;
	struct tm tm;

	if (getenv("JOURNAL_STREAM"))
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	return (size_t)snprintf(buf, size, "%02d:%02d:%02d.%03ld ", tm.tm_hour, tm.tm_min,
		tm.tm_sec, now.tv_nsec / 1000000);
}

void canfs_log(const char *format, ...)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	char line[1024];
	size_t len = stamp(line, sizeof(line)), left = sizeof(line) - len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line + len, left, format, args);
	va_end(args);
	len += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
	if (len == sizeof(line) - 1)
		len--;
	for (size_t i = 0; i < len; i++) { /* names may contain newlines: keep this one line */
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
	line[len++] = '\n';
	/*
	 * A pipe or socket that is ready takes a line this short as a whole. Otherwise the line is
	 * lost.
	 */
	if (poll(&out, 1, 0) != 1 || write(STDERR_FILENO, line, len) < 0)
		return;
}
