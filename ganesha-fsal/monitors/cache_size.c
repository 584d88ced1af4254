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
	const char *cache;
	const char *shared;
};
static const struct cgroup_files files_of_version[] = {
	{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "total_cache ", "total_shmem " },
	{ "/sys/fs/cgroup", "memory.max", "file ", "shmem " },
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
static int read_cache(const char *root, const char *source, const char *cache_name,
	const char *shared_name, uint64_t unit_bytes, uint64_t *bytes)
{
	uint64_t cache, shared;
	char text[8192];
	int error = canfs_read_source(root, source, text, sizeof(text));

	if (error < 0)
		return error;
	if (!canfs_parse_named(text, cache_name, &cache) ||
		!canfs_parse_named(text, shared_name, &shared) ||
		__builtin_mul_overflow(canfs_growth(cache, shared), unit_bytes, bytes))
		return -EPROTO;
	return 0;
}

/* A group without a limit, or with one that cannot be read, limits nothing. */
static bool has_limit(const char *root, const char *group, const struct cgroup_files *files)
{
	char source[PATH_MAX + 64], text[64];
	const char *cursor = text;
	uint64_t limit;

	snprintf(source, sizeof(source), "%s%s/%s", files->mount, group, files->limit);
	/* "max", or the largest number of pages: as good as none. */
	return canfs_read_source(root, source, text, sizeof(text)) > 0 &&
	       canfs_parse_number(&cursor, &limit) && limit < INT64_MAX / 2;
}

/* From the group upwards; a container's root may lie anywhere on the path, or above it. */
static void apply_limits(
	const char *root, char *group, const struct cgroup_files *files, uint64_t *bytes)
{
	char source[PATH_MAX + 64];
	uint64_t cache_bytes;

	while (true) {
		char *slash = strrchr(group, '/');

		if (slash != NULL && slash[1] == '\0')
			*slash = '\0';
		snprintf(source, sizeof(source), "%s%s/memory.stat", files->mount, group);
		if (has_limit(root, group, files) &&
			read_cache(root, source, files->cache, files->shared, 1, &cache_bytes) ==
				0 &&
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
	int error = read_cache(root, "/proc/meminfo", "Cached:", "Shmem:", 1024, bytes);

	if (error != 0)
		return error;
	if (canfs_read_source(root, "/proc/self/cgroup", text, sizeof(text)) > 0 &&
		canfs_parse_cgroup(text, group, sizeof(group), &version2) == 0)
		apply_limits(root, group, &files_of_version[version2], bytes);
	return 0;
}
