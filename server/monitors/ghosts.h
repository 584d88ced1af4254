/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The ghost caches (pricing/ghost.h) of a server whose worker threads all read.
 *
 *	read --> hash --> below the threshold?  no: done     the usual case, no lock
 *	                                        yes --> try the lock --> list
 *
 * There is one list and one lock: it is held for some ten nanoseconds per sampled page, once in a READ.
 * A worker never waits: if the lock is not free at that moment, the read is missed, and that is counted.
 */
#ifndef CANFS_SERVER_MONITORS_GHOSTS_H
#define CANFS_SERVER_MONITORS_GHOSTS_H

#include <stddef.h>
#include <stdint.h>
#include "pricing/ghost.h"

#define CANFS_GHOSTS_MEMORY_MIN_BYTES ((size_t)1 << 20)
#define CANFS_GHOSTS_MEMORY_MAX_BYTES ((size_t)1 << 30)

/*
 * Time constant of the window over which hit rates are taken. The worth of a cache is no news: it may move
 * slower than prices that follow a burst, and must have seen enough reads.
 */
#define CANFS_GHOSTS_TAU_SEC 5.0

struct canfs_ghosts;

/*
 * memory_bytes: never more; CANFS_GHOSTS_MEMORY_MIN_BYTES ... MAX. seed as in
 * canfs_ghost_new(). 0, -EINVAL, -ENOMEM.
 */
int canfs_ghosts_new(struct canfs_ghosts **ghosts, size_t memory_bytes, uint64_t seed);
void canfs_ghosts_free(
	struct canfs_ghosts *ghosts); /* nobody may report reads any more; NULL allowed */

/* A read of length bytes at offset. From any thread; never waits. NULL allowed: it does nothing. */
void canfs_ghosts_note_read(
	struct canfs_ghosts *ghosts, uint64_t file, uint64_t offset, uint64_t length);

/*
 * One thread may call these two. The real cache has that size now; the hit rates of the reads that were
 * fed, the latest counting most.
 */
void canfs_ghosts_resize(struct canfs_ghosts *ghosts, uint64_t cache_bytes);
struct canfs_ghost_forecast canfs_ghosts_forecast(struct canfs_ghosts *ghosts, double elapsed_sec);

struct canfs_ghosts_usage {
	size_t used_bytes;
	size_t memory_bytes;   /* the bound */
	uint64_t missed_reads; /* sampled, while the lock was taken */
};
struct canfs_ghosts_usage canfs_ghosts_usage(struct canfs_ghosts *ghosts); /* any thread */

#endif
