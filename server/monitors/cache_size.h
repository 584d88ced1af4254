/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How large may the page cache that serves the exports become? */
#ifndef CANFS_SERVER_MONITORS_CACHE_SIZE_H
#define CANFS_SERVER_MONITORS_CACHE_SIZE_H

#include <stdint.h>

/*
 * What it holds, and what is still free: a cache that may yet grow loses nothing, however often all of it
 * is read. The machine's (/proc/meminfo), or, if less, that of a cgroup with a memory limit that this process is in
 * (version 1 or 2, limits above it included). Shared memory is no cache. 0, -EPROTO (not what the kernel
 * writes), or -errno.
 */
int canfs_cache_size(const char *root, uint64_t *bytes);

#endif
