// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Large enough for /proc/meminfo of current kernels. */
#define PROC_FILE_MAX 32768

static int open_below(const char *root, const char *path)
{
	char full[PATH_MAX];
	int len = snprintf(full, sizeof(full), "%s%s", root, path);

	if (len < 0 || (size_t)len >= sizeof(full))
		return -ENAMETOOLONG;
	int fd = open(full, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Reads until the end or until buf is full. Returns the length or -errno. */
static ssize_t read_up_to(int fd, char *buf, size_t size)
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
	int fd = open_below(root, path);

	if (fd < 0)
		return fd;
	ssize_t len = read_up_to(fd, buf, size);
	if (len >= 0 && (size_t)len == size)
		len = -EFBIG;
	if (len >= 0)
		buf[len] = '\0';
	close(fd);
	return len;
}

int canfs_read_text(const char *root, const char *path, size_t max_bytes, char **text)
{
	size_t size = PROC_FILE_MAX, len = 0;
	char *buf = NULL;
	int ret = 0;
	int fd = open_below(root, path);

	if (fd < 0)
		return fd;
	for (;;) {
		char *more = realloc(buf, size);
		if (!more) {
			ret = -ENOMEM;
			goto out;
		}
		buf = more;
		ssize_t n = read_up_to(fd, buf + len, size - len);
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
	int fd = open_below(root, path);

	if (fd < 0)
		return fd;
	buf = malloc(CANFS_PROC_LINE_MAX);
	if (!buf) {
		close(fd);
		return -ENOMEM;
	}
	while ((n = read_up_to(fd, buf + len, CANFS_PROC_LINE_MAX - len)) > 0) {
		len += (size_t)n;
		used = take_lines(buf, len, take, data, &skip);
		if (used == 0 && len == CANFS_PROC_LINE_MAX) {
			skip = true;
			used = len;
		}
		len -= used;
		memmove(buf, buf + used, len);
	}
	free(buf);
	close(fd);
	return (int)n;
}

int canfs_parse_u64(const char **text, uint64_t *value)
{
	const char *p = *text;
	uint64_t v = 0;

	if (*p < '0' || *p > '9')
		return -EPROTO;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -EPROTO;
	}
	*text = p;
	*value = v;
	return 0;
}

struct field {
	const char *name; /* including the separator before the number */
	size_t offset;    /* of the uint64_t that receives the number */
};

/* Parses "NAME  123 kB\n" into *bytes. Returns 0, -EPROTO, or -ENOENT if line has another name. */
static int parse_line(const char *line, const char *name, uint64_t *bytes)
{
	size_t name_len = strlen(name);

	if (strncmp(line, name, name_len) != 0)
		return -ENOENT;
	line += name_len;
	line += strspn(line, " ");
	if (canfs_parse_u64(&line, bytes) != 0 || strncmp(line, " kB\n", 4) != 0)
		return -EPROTO;
	return __builtin_mul_overflow(*bytes, 1024, bytes) || *bytes > INT64_MAX ? -EPROTO : 0;
}

/*
 * Every field must occur at least once and be complete. Otherwise *lacks is the name of a bad
 * field.
 */
static int parse_fields(
	const char *text, const struct field *fields, size_t n, void *into, const char **lacks)
{
	unsigned int seen = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		if (*line == '\n' && *++line == '\0')
			break;
		for (size_t i = 0; i < n; i++) {
			uint64_t value;
			int ret = parse_line(line, fields[i].name, &value);
			if (ret == -ENOENT)
				continue;
			if (ret) {
				*lacks = fields[i].name;
				return ret;
			}
			memcpy((char *)into + fields[i].offset, &value, sizeof(value));
			seen |= 1u << i;
			break;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (!(seen & 1u << i)) {
			*lacks = fields[i].name;
			return -EPROTO;
		}
	}
	return 0;
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int parse_meminfo(const char *text, struct canfs_meminfo *meminfo, const char **lacks)
{
	static const struct field fields[] = {
		{ "MemTotal:", offsetof(struct canfs_meminfo, total_bytes) },
		{ "MemFree:", offsetof(struct canfs_meminfo, free_bytes) },
		{ "MemAvailable:", offsetof(struct canfs_meminfo, available_bytes) },
		{ "Active(file):", offsetof(struct canfs_meminfo, active_file_bytes) },
		{ "Dirty:", offsetof(struct canfs_meminfo, dirty_bytes) },
		{ "Writeback:", offsetof(struct canfs_meminfo, writeback_bytes) },
	};
	struct canfs_meminfo parsed = { 0 };
	int ret = parse_fields(text, fields, COUNT(fields), &parsed, lacks);

	if (!ret)
		*meminfo = parsed;
	return ret;
}

int canfs_meminfo_parse(const char *text, struct canfs_meminfo *meminfo)
{
	const char *lacks;

	return parse_meminfo(text, meminfo, &lacks);
}

const char *canfs_meminfo_lack(const char *root)
{
	char text[PROC_FILE_MAX];
	struct canfs_meminfo meminfo;
	const char *lacks = NULL;

	if (canfs_read_file(root, "/proc/meminfo", text, sizeof(text)) >= 0)
		(void)parse_meminfo(text, &meminfo, &lacks);
	return lacks;
}

int canfs_meminfo_read(const char *root, struct canfs_meminfo *meminfo)
{
	char text[PROC_FILE_MAX];
	ssize_t len = canfs_read_file(root, "/proc/meminfo", text, sizeof(text));

	return len < 0 ? (int)len : canfs_meminfo_parse(text, meminfo);
}

uint64_t canfs_meminfo_spare_bytes(const struct canfs_meminfo *meminfo)
{
	uint64_t owed;

	if (__builtin_add_overflow(meminfo->dirty_bytes, meminfo->writeback_bytes, &owed))
		return 0;
	return meminfo->available_bytes > owed ? meminfo->available_bytes - owed : 0;
}

/*
 * Parses a file of lines "NAME NUMBER". name includes the newline before it and the blank after it,
 * so the first line is never found.
 */
static int parse_named(const char *text, const char *name, uint64_t unit, uint64_t *bytes)
{
	const char *line = strstr(text, name);
	uint64_t number, product;

	if (!line)
		return -EPROTO;
	line += strlen(name);
	if (canfs_parse_u64(&line, &number) != 0 || *line != '\n' ||
		__builtin_mul_overflow(number, unit, &product) || product > INT64_MAX)
		return -EPROTO;
	*bytes = product;
	return 0;
}

int canfs_vmstat_parse(const char *text, struct canfs_vmstat *vmstat)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	struct canfs_vmstat parsed;
	int ret =
		parse_named(text, "\nworkingset_activate_file ", page_bytes, &parsed.missed_bytes);

	if (!ret)
		ret = parse_named(text, "\nnr_dirty_background_threshold ", page_bytes,
			&parsed.background_bytes);
	if (!ret)
		*vmstat = parsed;
	return ret;
}

int canfs_vmstat_read(const char *root, struct canfs_vmstat *vmstat)
{
	char text[PROC_FILE_MAX];
	ssize_t len = canfs_read_file(root, "/proc/vmstat", text, sizeof(text));

	return len < 0 ? (int)len : canfs_vmstat_parse(text, vmstat);
}

int canfs_cgroup_dirty_parse(const char *text, uint64_t *dirty_bytes)
{
	return parse_named(text, "\nfile_dirty ", 1, dirty_bytes);
}

int canfs_cgroup_dirty_read(const char *root, const char *cgroup, uint64_t *dirty_bytes)
{
	char path[PATH_MAX], text[PROC_FILE_MAX];
	int n = snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.stat", cgroup);
	ssize_t len = n < (int)sizeof(path) ? canfs_read_file(root, path, text, sizeof(text))
					    : -ENAMETOOLONG;

	return len < 0 ? (int)len : canfs_cgroup_dirty_parse(text, dirty_bytes);
}
