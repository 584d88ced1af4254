/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The size that the page cache serving the exports can grow to. */
#ifndef CANFS_SERVER_MONITORS_CACHE_SIZE_H
#define CANFS_SERVER_MONITORS_CACHE_SIZE_H

#include <stdint.h>

/*
 * Stores the size of the page cache plus free memory: a cache that can still grow loses nothing,
 * even if all of it is read repeatedly. Uses the machine's memory (/proc/meminfo) or, if smaller,
 * that of a cgroup of this process with a memory limit (version 1 or 2, parent groups included).
 * Shared memory does not count as cache. Returns 0, -EPROTO if the kernel's files have an unknown
 * format, or -errno.
 */
int canfs_cache_size(const char *root, uint64_t *bytes);

#endif
