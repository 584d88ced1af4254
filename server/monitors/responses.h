/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Response times of operations on the exports of one device, for the monitor of its back end
 * (pricing/slowdown.h). From any thread, without a lock. An operation costs two atomic additions,
 * and two more if it is not quick.
 */
#ifndef CANFS_SERVER_MONITORS_RESPONSES_H
#define CANFS_SERVER_MONITORS_RESPONSES_H

#include <stdatomic.h>
#include <stdint.h>
#include "pricing/slowdown.h"

/* Operations of one class, indexed by canfs_others_octave(). */
struct canfs_response_counts {
	_Atomic uint64_t count[CANFS_OTHERS_OCTAVES], usec[CANFS_OTHERS_OCTAVES];
};

/* All zero: no operations yet. */
struct canfs_responses {
	_Atomic uint64_t operations; /* ended << 16 | in flight, without commits */
	_Atomic uint64_t commits;    /* in flight */
	struct canfs_response_counts counts[CANFS_RESPONSE_CLASSES];
	unsigned int price_tables; /* that share this; under the sampler's mutex */
};

#define CANFS_RESPONSES_SHIFT     16
#define CANFS_RESPONSES_IN_FLIGHT ((UINT64_C(1) << CANFS_RESPONSES_SHIFT) - 1)

/*
 * Call this when an operation other than a commit starts. Returns how many others are in flight,
 * commits included. At most 65535 operations may be in flight.
 */
static inline unsigned int canfs_response_begin(struct canfs_responses *responses)
{
	uint64_t before =
		atomic_fetch_add_explicit(&responses->operations, 1, memory_order_relaxed);
	uint64_t commits = atomic_load_explicit(&responses->commits, memory_order_relaxed);

	return (unsigned int)((before & CANFS_RESPONSES_IN_FLIGHT) + commits);
}

static inline void canfs_response_begin_commit(struct canfs_responses *responses)
{
	atomic_fetch_add_explicit(&responses->commits, 1, memory_order_relaxed);
}

static inline void canfs_response_end_commit(struct canfs_responses *responses)
{
	atomic_fetch_sub_explicit(&responses->commits, 1, memory_order_relaxed);
}

/* Call this when an operation other than a commit ends, after usec. */
static inline void canfs_response_end(struct canfs_responses *responses,
	enum canfs_response_kind kind, uint64_t bytes, unsigned int others, uint64_t usec)
{
	struct canfs_response_counts *counts;
	unsigned int octave;

	atomic_fetch_add_explicit(&responses->operations, CANFS_RESPONSES_IN_FLIGHT,
		memory_order_relaxed); /* ended + 1, in flight - 1 */
	if (usec < (uint64_t)(CANFS_QUICK_SEC * 1e6))
		return;
	counts = &responses->counts[canfs_response_class(kind, bytes)];
	octave = canfs_others_octave(others);
	atomic_fetch_add_explicit(&counts->count[octave], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&counts->usec[octave], usec, memory_order_relaxed);
}

#endif
