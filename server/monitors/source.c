// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int canfs_read_source(const char *root, const char *path, char *text, size_t size)
{
	char full[PATH_MAX];
	size_t len = 0;
	int ret = 0;
	int fd;

	if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full))
		return -ENAMETOOLONG;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* /proc gives a page at a time. */
	while (len < size - 1) {
		ssize_t n = read(fd, text + len, size - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			ret = -errno;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	close(fd);
	return ret != 0 ? ret : (int)len;
}

bool canfs_parse_number(const char **cursor, uint64_t *number)
{
	const char *c = *cursor;
	uint64_t n = 0;

	while (*c == ' ' || *c == '\t')
		c++;
	if (*c < '0' || *c > '9')
		return false;
	for (; *c >= '0' && *c <= '9'; c++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, (uint64_t)(*c - '0'), &n))
			return false;
	}
	*cursor = c;
	*number = n;
	return true;
}

bool canfs_parse_named(const char *text, const char *name, uint64_t *number)
{
	size_t len = strlen(name);

	for (const char *line = text; *line != '\0'; line = canfs_next_line(line)) {
		const char *cursor = line + len;

		if (strncmp(line, name, len) == 0)
			return canfs_parse_number(&cursor, number);
	}
	return false;
}

const char *canfs_next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}
