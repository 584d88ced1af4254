// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/sampling.h"
#include "client-agent/auction/arithmetic.h"

static bool has_moved(uint64_t from_bytes, uint64_t to_bytes)
{
	return canfs_larger(from_bytes, to_bytes) - canfs_smaller(from_bytes, to_bytes) >=
	       CANFS_SAMPLING_BYTES;
}

bool canfs_sampling_is_due(const struct canfs_sampling *sampling,
	const struct canfs_meminfo *meminfo, uint64_t now_usec)
{
	uint64_t elapsed_usec = now_usec - sampling->sampled_usec;

	if (!sampling->sampled_usec || elapsed_usec >= CANFS_SAMPLING_USEC)
		return true;
	return elapsed_usec >= sampling->cost_usec * CANFS_SAMPLING_SHARE &&
	       (has_moved(sampling->dirty_bytes, meminfo->dirty_bytes) ||
		       has_moved(sampling->writeback_bytes, meminfo->writeback_bytes));
}

void canfs_sampling_done(struct canfs_sampling *sampling, const struct canfs_meminfo *meminfo,
	uint64_t cost_usec, uint64_t now_usec)
{
	*sampling = (struct canfs_sampling) { .sampled_usec = now_usec,
		.cost_usec = cost_usec,
		.dirty_bytes = meminfo->dirty_bytes,
		.writeback_bytes = meminfo->writeback_bytes };
}
