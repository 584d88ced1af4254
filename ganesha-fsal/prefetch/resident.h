/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Are these bytes of a file in the page cache? Asking starts no read; preadv2(RWF_NOWAIT) on a page that is not
 * there does.
 *
 *	           4 KB     64 KB    1 MB
 *	cachestat  0.3-0.6  0.3-0.4  0.3-0.4 usec   Linux 6.5 or later
 *	mincore    1.0-1.4  1.5-2.0  10-16          over a mapping that stays; 5-7 more to map and unmap
 *
 * So cachestat, where there is one. It counts pages that are only now being read, mincore does not: the code that starts
 * reads must know itself which of them are in flight (fetching.c).
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_RESIDENT_H
#define CANFS_GANESHA_FSAL_PREFETCH_RESIDENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_RESIDENT_BYTES_MAX ((uint64_t)1 << 20) /* looked at in one call */

/*
 * A mapping of a part of a file, for mincore(2). Nobody ever touches its pages. Of a part, as files may be larger than
 * what a process can address, and a server without addresses dies.
 */
#define CANFS_RESIDENT_WINDOW_BYTES ((uint64_t)1 << 30)
struct canfs_resident_map {
	pthread_mutex_t mutex; /* of what follows */
	void *at;              /* NULL: none yet */
	uint64_t offset, bytes;
};
#define CANFS_RESIDENT_MAP_INITIALIZER                                                             \
	{                                                                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER                                                 \
	}

/*
 * All of [offset, offset + bytes) of fd, a file of file_bytes? What lies behind its end is. offset is a
 * multiple of the page's size, and bytes at most CANFS_RESIDENT_BYTES_MAX. True if the kernel does not tell.
 */
bool canfs_is_resident(int fd, uint64_t offset, uint64_t bytes, uint64_t file_bytes,
	struct canfs_resident_map *map);

/* The same by mincore(2), whatever the kernel has, one thread at a time. For the tests, too. */
bool canfs_is_resident_by_mincore(int fd, uint64_t offset, uint64_t bytes, uint64_t file_bytes,
	struct canfs_resident_map *map);

/* Nobody asks with it any more. */
void canfs_resident_unmap(struct canfs_resident_map *map);

#endif
