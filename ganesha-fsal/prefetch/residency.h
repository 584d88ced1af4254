/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A file that stays in the page cache as a whole: not each of its reads is probed, which saves what a probe costs, a
 * 25th of a read of 4 KB. A read that is not there after all holds up a worker, as without us: of misses that come one by
 * one less than one in 1,000 reads, since it takes CANFS_RESIDENT_READS to count as resident again; of a stretch that has gone as many as
 * come before the next probe of any file of the device, after which none of them counts as resident.
 *
 *	unknown: each is probed --CANFS_RESIDENT_READS in a row are there--> resident: one in CANFS_RESIDENT_PROBE_READS is
 *	   ^------------- one is not, or anything is fetched, or a probe of the device failed ---'
 *
 * Without a lock: of two that come together one may not be counted, but a loss always is.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_RESIDENCY_H
#define CANFS_GANESHA_FSAL_PREFETCH_RESIDENCY_H

#include <stdatomic.h>
#include <stdbool.h>

#define CANFS_RESIDENT_READS       2048u
#define CANFS_RESIDENT_PROBE_READS 32u

/* All zero at first. */
struct canfs_residency {
	atomic_uint
		reads; /* in a row that were there; of a resident file, since the last probe, too */
	atomic_uint age; /* of its device, when it began to count */
};

enum canfs_residency_verdict { CANFS_RESIDENCY_UNKNOWN, CANFS_RESIDENT, CANFS_RESIDENCY_PROBE };

/* Some of it was not there, or is being fetched. age: how often a resident file of the device was found not to be. */
static inline void canfs_residency_lost(struct canfs_residency *residency, unsigned int age)
{
	atomic_store_explicit(&residency->age, age, memory_order_relaxed);
	atomic_store_explicit(&residency->reads, 0, memory_order_relaxed);
}

/* A read comes. */
static inline enum canfs_residency_verdict canfs_residency_of(
	struct canfs_residency *residency, unsigned int age)
{
	unsigned int reads = atomic_load_explicit(&residency->reads, memory_order_relaxed);
	bool probes = reads + 1 >= CANFS_RESIDENT_READS + CANFS_RESIDENT_PROBE_READS;

	if (reads < CANFS_RESIDENT_READS)
		return CANFS_RESIDENCY_UNKNOWN;
	if (atomic_load_explicit(&residency->age, memory_order_relaxed) != age) {
		canfs_residency_lost(residency, age);
		return CANFS_RESIDENCY_UNKNOWN;
	}
	if (!atomic_compare_exchange_strong_explicit(&residency->reads, &reads,
		    probes ? CANFS_RESIDENT_READS : reads + 1, memory_order_relaxed,
		    memory_order_relaxed))
		return reads < CANFS_RESIDENT_READS ? CANFS_RESIDENCY_UNKNOWN : CANFS_RESIDENT;
	return probes ? CANFS_RESIDENCY_PROBE : CANFS_RESIDENT;
}

/* A read was probed: all of it was there. */
static inline void canfs_residency_found(struct canfs_residency *residency, unsigned int age)
{
	unsigned int reads = atomic_load_explicit(&residency->reads, memory_order_relaxed);

	if (reads == 0)
		atomic_store_explicit(&residency->age, age, memory_order_relaxed);
	if (reads < CANFS_RESIDENT_READS)
		(void)atomic_compare_exchange_strong_explicit(&residency->reads, &reads, reads + 1,
			memory_order_relaxed, memory_order_relaxed);
}

#endif
