// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/cache_size.h"
#include "server/monitors/cgroup.h"
#include "server/monitors/source.h"

#include <errno.h>

/* Names of the files and fields in version 1 and version 2 of cgroups. */
struct cgroup_files {
	const char *limit;
	const char *usage;
	const char *cache;
	const char *shared;
};
static const struct cgroup_files files_of_version[] = {
	{ "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache ", "total_shmem " },
	{ "memory.max", "memory.current", "file ", "shmem " },
};

/* Cache minus shared memory, from a file of names and numbers. */
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

static bool read_number(const struct canfs_cgroup *group, const char *name, uint64_t *number)
{
	char text[64];
	const char *cursor = text;

	return canfs_cgroup_read(group, name, text, sizeof(text)) > 0 &&
	       canfs_parse_number(&cursor, number);
}

/*
 * The size that the group's cache can grow to. False: the group has no limit, or its files cannot
 * be read.
 */
static bool read_group(const struct canfs_cgroup *group, uint64_t *bytes)
{
	const struct cgroup_files *files = &files_of_version[group->version2];
	uint64_t limit, usage;
	char text[8192];

	/* No limit is "max" (version 2) or a huge number of pages (version 1). */
	return read_number(group, files->limit, &limit) && limit < INT64_MAX / 2 &&
	       read_number(group, files->usage, &usage) &&
	       canfs_cgroup_read(group, "memory.stat", text, sizeof(text)) > 0 &&
	       parse_cache(text, files->cache, files->shared, 1, bytes) == 0 &&
	       !__builtin_add_overflow(*bytes, canfs_growth(limit, usage), bytes);
}

int canfs_cache_size(const char *root, uint64_t *bytes)
{
	struct canfs_cgroup group;
	char text[8192];
	uint64_t free_kib;
	int ret = canfs_read_source(root, "/proc/meminfo", text, sizeof(text));

	if (ret < 0)
		return ret;
	ret = parse_cache(text, "Cached:", "Shmem:", 1024, bytes);
	if (ret != 0)
		return ret;
	if (!canfs_parse_named(text, "MemFree:", &free_kib) || free_kib > UINT64_MAX / 2048 ||
		__builtin_add_overflow(*bytes, free_kib * 1024, bytes))
		return -EPROTO;
	for (bool more = canfs_cgroup_own(root, "memory", &group); more;
		more = canfs_cgroup_up(&group)) {
		uint64_t group_bytes;

		if (read_group(&group, &group_bytes) && group_bytes < *bytes)
			*bytes = group_bytes;
	}
	return 0;
}
