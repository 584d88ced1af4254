/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Tells whether bytes of a file are in the page cache. The query starts no read.
 * preadv2(RWF_NOWAIT) starts one if a page is missing.
 *
 *	           4 KB     64 KB    1 MB
 *	cachestat  0.3-0.6  0.3-0.4  0.3-0.4 usec   Linux 6.5 or later
 *	mincore    1.0-1.4  1.5-2.0  10-16          over a persistent mapping; 5-7 more to map and unmap
 *
 * cachestat is used where the kernel has it. cachestat counts pages that are still being read, and
 * mincore does not. The code that starts reads must therefore track which of them are in flight
 * (fetching.c).
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_RESIDENT_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_RESIDENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_RESIDENT_BYTES_MAX ((uint64_t)1 << 20) /* per call */

/*
 * A mapping of a part of a file, for mincore(2). No thread touches its pages. Only a part is
 * mapped, because a file may be larger than the address space, and a server that runs out of
 * addresses crashes.
 */
#define CANFS_RESIDENT_WINDOW_BYTES ((uint64_t)1 << 30)
struct canfs_resident_map {
	pthread_mutex_t mutex; /* protects what follows */
	void *at;              /* NULL: not mapped yet */
	uint64_t offset, bytes;
};
#define CANFS_RESIDENT_MAP_INITIALIZER                                                             \
	{                                                                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER                                                 \
	}

/*
 * Returns whether all of [offset, offset + bytes) of fd is in the page cache. file_bytes: the size
 * of the file; bytes beyond its end count as resident. offset: a multiple of the page size. bytes:
 * at most CANFS_RESIDENT_BYTES_MAX. True if the kernel does not tell.
 */
bool canfs_is_resident(int fd, uint64_t offset, uint64_t bytes, uint64_t file_bytes,
	struct canfs_resident_map *map);

/*
 * The same by mincore(2) on any kernel. The mutex of the map admits one thread at a time. For the
 * tests, too.
 */
bool canfs_is_resident_by_mincore(int fd, uint64_t offset, uint64_t bytes, uint64_t file_bytes,
	struct canfs_resident_map *map);

/* No thread may query with the map any more. */
void canfs_resident_unmap(struct canfs_resident_map *map);

#endif
