/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A file that stays in the page cache as a whole: not each of its reads is looked at, which saves what a look costs, a
 * 25th of a read of 4 KB. A read that is not there after all holds up a worker, as without us: of misses that come one by
 * one less than one in 1,000 reads, since it takes CANFS_WARM_READS to be warm again; of a stretch that has gone as many as
 * come before the next look at any file of the device, after which none of them is warm.
 *
 *	cold: each is looked at --CANFS_WARM_READS in a row are there--> warm: one in CANFS_WARM_LOOK is
 *	   ^------------- one is not, or anything is fetched, or a file of the device was found cold ---'
 *
 * Without a lock: of two that come together one may not be counted, but a loss always is.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_WARMTH_H
#define CANFS_GANESHA_FSAL_PREFETCH_WARMTH_H

#include <stdatomic.h>
#include <stdbool.h>

#define CANFS_WARM_READS 2048u
#define CANFS_WARM_LOOK  32u

/* All zero at first. */
struct canfs_warmth {
	atomic_uint reads; /* in a row that were there; of a warm file, since the last look, too */
	atomic_uint age;   /* of its device, when it began to count */
};

enum canfs_warm { CANFS_COLD, CANFS_WARM, CANFS_WARM_BUT_LOOK };

/* Some of it was not there, or is being fetched. age: how often a warm file of the device was found cold. */
static inline void canfs_warmth_lost(struct canfs_warmth *warmth, unsigned int age)
{
	atomic_store_explicit(&warmth->age, age, memory_order_relaxed);
	atomic_store_explicit(&warmth->reads, 0, memory_order_relaxed);
}

/* A read comes. */
static inline enum canfs_warm canfs_warmth_of(struct canfs_warmth *warmth, unsigned int age)
{
	unsigned int reads = atomic_load_explicit(&warmth->reads, memory_order_relaxed);
	bool looks = reads + 1 >= CANFS_WARM_READS + CANFS_WARM_LOOK;

	if (reads < CANFS_WARM_READS)
		return CANFS_COLD;
	if (atomic_load_explicit(&warmth->age, memory_order_relaxed) != age) {
		canfs_warmth_lost(warmth, age);
		return CANFS_COLD;
	}
	if (!atomic_compare_exchange_strong_explicit(&warmth->reads, &reads,
		    looks ? CANFS_WARM_READS : reads + 1, memory_order_relaxed,
		    memory_order_relaxed))
		return reads < CANFS_WARM_READS ? CANFS_COLD : CANFS_WARM;
	return looks ? CANFS_WARM_BUT_LOOK : CANFS_WARM;
}

/* A read of a cold file was looked at: all of it was there. */
static inline void canfs_warmth_found(struct canfs_warmth *warmth, unsigned int age)
{
	unsigned int reads = atomic_load_explicit(&warmth->reads, memory_order_relaxed);

	if (reads == 0)
		atomic_store_explicit(&warmth->age, age, memory_order_relaxed);
	if (reads < CANFS_WARM_READS)
		(void)atomic_compare_exchange_strong_explicit(&warmth->reads, &reads, reads + 1,
			memory_order_relaxed, memory_order_relaxed);
}

#endif
