/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The ghost caches (pricing/ghost.h) of a server with many worker threads that read.
 *
 *	read --> hash --> below the threshold?  no: done     the usual case, no lock
 *	                                        yes --> try the lock --> list
 *
 * There is one list with one lock. A READ holds the lock once, for some ten nanoseconds per sampled
 * page. A worker never waits: if the lock is taken, the read is left out and counted as missed.
 */
#ifndef CANFS_SERVER_MONITORS_GHOSTS_H
#define CANFS_SERVER_MONITORS_GHOSTS_H

#include <stddef.h>
#include <stdint.h>
#include "pricing/ghost.h"

/*
 * The memory of every server's ghost caches. It suffices for a read cache of 7 TiB, and is touched
 * only as far as the sample needs it.
 */
#define CANFS_GHOSTS_MEMORY_BYTES ((size_t)16 << 20)

#define CANFS_GHOSTS_MEMORY_MIN_BYTES ((size_t)1 << 20)
#define CANFS_GHOSTS_MEMORY_MAX_BYTES ((size_t)1 << 30)

/*
 * Time constant of the window for hit rates. The value of a cache changes more slowly than prices
 * that follow a burst, and the window must contain enough reads.
 */
#define CANFS_GHOSTS_TAU_SEC 5.0

struct canfs_ghosts;

/*
 * memory_bytes: an upper bound, CANFS_GHOSTS_MEMORY_MIN_BYTES ... MAX. seed: as in
 * canfs_ghost_new(). Returns 0, -EINVAL or -ENOMEM.
 */
int canfs_ghosts_new(struct canfs_ghosts **ghosts, size_t memory_bytes, uint64_t seed);
void canfs_ghosts_free(
	struct canfs_ghosts *ghosts); /* call it after the last read is reported; NULL allowed */

/* Reports a read of length bytes at offset. From any thread. Never blocks. NULL: does nothing. */
void canfs_ghosts_note_read(
	struct canfs_ghosts *ghosts, uint64_t file, uint64_t offset, uint64_t length);

/*
 * Only one thread may call these two functions. canfs_ghosts_resize() sets the size of the real
 * cache. canfs_ghosts_forecast() returns the hit rates of the reported reads, with the latest
 * weighted most.
 */
void canfs_ghosts_resize(struct canfs_ghosts *ghosts, uint64_t cache_bytes);
struct canfs_ghost_forecast canfs_ghosts_forecast(struct canfs_ghosts *ghosts, double elapsed_sec);

struct canfs_ghosts_usage {
	size_t used_bytes;
	size_t memory_bytes;   /* the upper bound */
	uint64_t missed_reads; /* sampled reads left out because the lock was taken */
};
struct canfs_ghosts_usage canfs_ghosts_usage(struct canfs_ghosts *ghosts); /* any thread */

#endif
