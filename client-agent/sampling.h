/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Decides when to read the mounts' counters. At each read the kernel formats the counters of all
 * mounts (mountstats: some 12 microseconds for an NFSv3 mount), and the agent parses them. Ten
 * reads a second would be most of the agent's cost. The pace needs meminfo that often, which is
 * cheap.
 *
 *	nothing moves                 once in CANFS_SAMPLING_USEC
 *	dirty or writeback memory has moved by CANFS_SAMPLING_BYTES
 *	                              at once, but no more than 1/CANFS_SAMPLING_SHARE of a processor
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_SAMPLING_H
#define CANFS_CLIENT_AGENT_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>
#include "client-agent/kernel/procfs.h"

#define CANFS_SAMPLING_USEC  1000000
#define CANFS_SAMPLING_BYTES (4 << 20)
#define CANFS_SAMPLING_SHARE 2000

/* The last sample. All zero: none yet. */
struct canfs_sampling {
	uint64_t sampled_usec;
	uint64_t cost_usec; /* CPU time */
	uint64_t dirty_bytes;
	uint64_t writeback_bytes;
};

bool canfs_sampling_is_due(const struct canfs_sampling *sampling,
	const struct canfs_meminfo *meminfo, uint64_t now_usec);

/* Notes that the counters were read at now_usec, which is not 0, and that this took cost_usec. */
void canfs_sampling_done(struct canfs_sampling *sampling, const struct canfs_meminfo *meminfo,
	uint64_t cost_usec, uint64_t now_usec);

#endif
