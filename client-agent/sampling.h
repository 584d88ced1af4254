/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When the mounts' counters are worth reading. The kernel writes out all of them, of every mount, each time
 * (mountstats: some 12 microseconds for one of NFSv3), and we take them apart, so that ten times a second would
 * be most of what the agent costs. What the pace needs so often is in meminfo, which is cheap.
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

/* The last sample. All zero: there was none. */
struct canfs_sampling {
	uint64_t sampled_usec;
	uint64_t cost_usec; /* of a processor */
	uint64_t dirty_bytes;
	uint64_t writeback_bytes;
};

bool canfs_sampling_is_due(const struct canfs_sampling *sampling,
	const struct canfs_meminfo *meminfo, uint64_t now_usec);

/* The counters were read at now_usec, which is not 0, and took cost_usec. */
void canfs_sampling_done(struct canfs_sampling *sampling, const struct canfs_meminfo *meminfo,
	uint64_t cost_usec, uint64_t now_usec);

#endif
