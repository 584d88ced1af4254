/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A file that stays in the page cache as a whole: not each of its reads is looked at. That saves what a look costs, a
 * 25th of a read of 4 KB. Reads of those that are not there after all hold up a worker, as without us: one in 1,000 of all
 * reads at most, however often pages go, since it takes CANFS_WARM_READS to be warm again.
 *
 * Without a lock: if two threads come together and one is not counted, so be it.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_WARMTH_H
#define CANFS_GANESHA_FSAL_PREFETCH_WARMTH_H

#include <stdatomic.h>
#include <stdbool.h>

/* More than the smallest reads in sequence for which nothing need be fetched (4 KiB, of a unit of 4 MiB): none of those is warm. */
#define CANFS_WARM_READS 2048u
#define CANFS_WARM_LOOK  32u /* one in so many is looked at */

/* All zero at first. Reads in a row that found all there; from CANFS_WARM_READS on, also those since the last look. */
struct canfs_warmth {
	atomic_uint reads;
};

/* A read comes. True: it need not be looked at. */
static inline bool canfs_warmth_suffices(struct canfs_warmth *warmth)
{
	unsigned int reads = atomic_load_explicit(&warmth->reads, memory_order_relaxed);

	if (reads < CANFS_WARM_READS)
		return false;
	reads = reads + 1 < CANFS_WARM_READS + CANFS_WARM_LOOK ? reads + 1 : CANFS_WARM_READS;
	atomic_store_explicit(&warmth->reads, reads, memory_order_relaxed);
	return reads != CANFS_WARM_READS;
}

/* A read was looked at: all of it was there. */
static inline void canfs_warmth_found(struct canfs_warmth *warmth)
{
	unsigned int reads = atomic_load_explicit(&warmth->reads, memory_order_relaxed);

	if (reads < CANFS_WARM_READS)
		atomic_store_explicit(&warmth->reads, reads + 1, memory_order_relaxed);
}

/* Some of it was not, or is being fetched. */
static inline void canfs_warmth_lost(struct canfs_warmth *warmth)
{
	atomic_store_explicit(&warmth->reads, 0, memory_order_relaxed);
}

#endif
