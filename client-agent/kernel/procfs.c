// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/procfs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/file.h"
#include "common/text.h"

/* Large enough for /proc/meminfo of current kernels. */
#define PROC_FILE_MAX 32768

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
