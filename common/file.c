// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_BYTES 32768

int canfs_open_below(const char *root, const char *path)
{
	char full[PATH_MAX];
	int len = snprintf(full, sizeof(full), "%s%s", root, path);

	if (len < 0 || (size_t)len >= sizeof(full))
		return -ENAMETOOLONG;
	int fd = open(full, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

ssize_t canfs_read_up_to(int fd, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

ssize_t canfs_read_file(const char *root, const char *path, char *buf, size_t size)
{
	int fd = canfs_open_below(root, path);

	if (fd < 0)
		return fd;
	ssize_t len = canfs_read_up_to(fd, buf, size);
	if (len >= 0 && (size_t)len == size)
		len = -EFBIG;
	if (len >= 0)
		buf[len] = '\0';
	close(fd);
	return len;
}

int canfs_read_text(const char *root, const char *path, size_t max_bytes, char **text)
{
	size_t size = FIRST_BYTES, len = 0;
	char *buf = NULL;
	int ret = 0;
	int fd = canfs_open_below(root, path);

	if (fd < 0)
		return fd;
	for (;;) {
		char *more = realloc(buf, size);
		if (!more) {
			ret = -ENOMEM;
			goto out;
		}
		buf = more;
		ssize_t n = canfs_read_up_to(fd, buf + len, size - len);
		if (n < 0) {
			ret = (int)n;
			goto out;
		}
		len += (size_t)n;
		if (len < size)
			break;
		if (size > max_bytes)
			break;
		size *= 2;
	}
	if (len > max_bytes) {
		ret = -EFBIG;
		goto out;
	}
	buf[len] = '\0';
	*text = buf;
	buf = NULL;
out:
	free(buf);
	close(fd);
	return ret;
}

/* Passes the whole lines in buf[0 ... len) to take(). Returns their number of bytes. */
static size_t take_lines(const char *buf, size_t len,
	void (*take)(void *data, const char *line, const char *end), void *data, bool *skip)
{
	size_t used = 0;
	const char *end;

	while ((end = memchr(buf + used, '\n', len - used))) {
		if (!*skip)
			take(data, buf + used, end);
		*skip = false;
		used = (size_t)(end - buf) + 1;
	}
	return used;
}

int canfs_read_lines(const char *root, const char *path,
	void (*take)(void *data, const char *line, const char *end), void *data)
{
	size_t len = 0, used;
	bool skip = false; /* the beginning of this line did not fit */
	ssize_t n;
	char *buf;
	int fd = canfs_open_below(root, path);

	if (fd < 0)
		return fd;
	buf = malloc(CANFS_LINE_MAX);
	if (!buf) {
		close(fd);
		return -ENOMEM;
	}
	while ((n = canfs_read_up_to(fd, buf + len, CANFS_LINE_MAX - len)) > 0) {
		bool is_end = (size_t)n < CANFS_LINE_MAX - len;

		len += (size_t)n;
		used = take_lines(buf, len, take, data, &skip);
		if (used == 0 && len == CANFS_LINE_MAX) {
			skip = true;
			used = len;
		}
		len -= used;
		memmove(buf, buf + used, len);
		if (is_end)
			break;
	}
	free(buf);
	close(fd);
	return n < 0 ? (int)n : 0;
}
