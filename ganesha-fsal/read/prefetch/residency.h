/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The residency heuristic: if a whole file stays in the page cache, not each of its reads is
 * probed. This saves the cost of a probe, 1/25 of a 4 KB read. A read that misses after all blocks
 * its worker, as without canfs.
 *
 * If pages are evicted one by one, less than one in 1,000 reads blocks, because a file needs
 * CANFS_RESIDENT_READS reads to count as resident again. If a whole range is evicted, reads block
 * until the next probe of any file of the device. After that probe, no file of the device counts as
 * resident.
 *
 *	unknown: each is probed --CANFS_RESIDENT_READS in a row are there--> resident: one in CANFS_RESIDENT_PROBE_READS is
 *	   ^------------- one is not, or anything is fetched, or a probe of the device failed ---'
 *
 * No lock: of two concurrent reads one may not be counted, but a loss always is.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_RESIDENCY_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_RESIDENCY_H

#include <stdatomic.h>
#include <stdbool.h>

#define CANFS_RESIDENT_READS       2048u
#define CANFS_RESIDENT_PROBE_READS 32u

/* All zero at first. */
struct canfs_residency {
	atomic_uint
		reads; /* in a row that were there; of a resident file, plus those since the last probe */
	atomic_uint age; /* that of its device, when counting began */
};

enum canfs_residency_verdict { CANFS_RESIDENCY_UNKNOWN, CANFS_RESIDENT, CANFS_RESIDENCY_PROBE };

/*
 * Some of a read was not there, or is being fetched: the file no longer counts as resident. age:
 * how often a resident file of the device was found evicted.
 */
static inline void canfs_residency_lost(struct canfs_residency *residency, unsigned int age)
{
	atomic_store_explicit(&residency->age, age, memory_order_relaxed);
	atomic_store_explicit(&residency->reads, 0, memory_order_relaxed);
}

/* A read comes: counts it if the file is resident. Returns whether to probe it. */
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

/* A read was probed, and all of it was there. */
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
