// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/monitors/cache_size.h"
#include "ganesha-fsal/monitors/source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Where the two versions of cgroups say what. */
struct cgroup_files {
	const char *mount;
	const char *limit;
	const char *usage;
	const char *cache;
	const char *shared;
};
static const struct cgroup_files files_of_version[] = {
	{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache ",
		"total_shmem " },
	{ "/sys/fs/cgroup", "memory.max", "memory.current", "file ", "shmem " },
};

int canfs_parse_cgroup(const char *text, char *path, size_t size, bool *version2)
{
	int result = -EPROTO;

	/* 4:cpu,memory:/a/b (version 1), 0::/a/b (version 2, without the controller if 1 has it) */
	for (const char *line = text; *line != '\0'; line = canfs_next_line(line)) {
		size_t len = strcspn(line, "\n");
		const char *controllers = memchr(line, ':', len);
		const char *group = NULL;
		bool unified;

		if (controllers != NULL)
			group = memchr(
				controllers + 1, ':', len - (size_t)(controllers + 1 - line));
		if (group == NULL)
			continue;
		unified = group == controllers + 1;
		if (!unified &&
			memmem(controllers, (size_t)(group - controllers), "memory", 6) == NULL)
			continue;
		len -= (size_t)(group + 1 - line);
		if (len >= size)
			return -EPROTO;
		memcpy(path, group + 1, len);
		path[len] = '\0';
		*version2 = unified;
		result = 0;
		if (!unified)
			break;
	}
	return result;
}

/* Cache less shared memory, from a file of names and numbers. */
static int parse_cache(const char *text, const char *cache_name, const char *shared_name,
	uint64_t unit_bytes, uint64_t *bytes)
{
	uint64_t cache, shared;

	return canfs_parse_named(text, cache_name, &cache) &&
			       canfs_parse_named(text, shared_name, &shared) &&
			       !__builtin_mul_overflow(
				       canfs_growth(cache, shared), unit_bytes, bytes)
		       ? 0
		       : -EPROTO;
}

static int read_cache(
	const char *root, const char *source, const struct cgroup_files *files, uint64_t *bytes)
{
	char text[8192];
	int error = canfs_read_source(root, source, text, sizeof(text));

	return error < 0 ? error : parse_cache(text, files->cache, files->shared, 1, bytes);
}

static bool read_number(const char *root, const char *group, const struct cgroup_files *files,
	const char *name, uint64_t *number)
{
	char source[PATH_MAX + 64], text[64];
	const char *cursor = text;

	snprintf(source, sizeof(source), "%s%s/%s", files->mount, group, name);
	return canfs_read_source(root, source, text, sizeof(text)) > 0 &&
	       canfs_parse_number(&cursor, number);
}

/* What the group has not used yet. A group without a limit, or with one that cannot be read, limits nothing. */
static bool read_free(
	const char *root, const char *group, const struct cgroup_files *files, uint64_t *free_bytes)
{
	uint64_t limit, usage;

	/* "max", or the largest number of pages: as good as none. */
	if (!read_number(root, group, files, files->limit, &limit) || limit >= INT64_MAX / 2 ||
		!read_number(root, group, files, files->usage, &usage))
		return false;
	*free_bytes = canfs_growth(limit, usage);
	return true;
}

/* From the group upwards; a container's root may lie anywhere on the path, or above it. */
static void apply_limits(
	const char *root, char *group, const struct cgroup_files *files, uint64_t *bytes)
{
	char source[PATH_MAX + 64];
	uint64_t cache_bytes, free_bytes;

	while (true) {
		char *slash = strrchr(group, '/');

		if (slash != NULL && slash[1] == '\0')
			*slash = '\0';
		snprintf(source, sizeof(source), "%s%s/memory.stat", files->mount, group);
		if (read_free(root, group, files, &free_bytes) &&
			read_cache(root, source, files, &cache_bytes) == 0 &&
			!__builtin_add_overflow(cache_bytes, free_bytes, &cache_bytes) &&
			cache_bytes < *bytes)
			*bytes = cache_bytes;
		slash = strrchr(group, '/');
		if (slash == NULL)
			break;
		*slash = '\0';
	}
}

int canfs_cache_size(const char *root, uint64_t *bytes)
{
	char text[8192], group[PATH_MAX];
	bool version2;
	uint64_t free_kib;
	int error = canfs_read_source(root, "/proc/meminfo", text, sizeof(text));

	if (error < 0)
		return error;
	error = parse_cache(text, "Cached:", "Shmem:", 1024, bytes);
	if (error != 0)
		return error;
	if (!canfs_parse_named(text, "MemFree:", &free_kib) || free_kib > UINT64_MAX / 2048 ||
		__builtin_add_overflow(*bytes, free_kib * 1024, bytes))
		return -EPROTO;
	if (canfs_read_source(root, "/proc/self/cgroup", text, sizeof(text)) > 0 &&
		canfs_parse_cgroup(text, group, sizeof(group), &version2) == 0)
		apply_limits(root, group, &files_of_version[version2], bytes);
	return 0;
}
