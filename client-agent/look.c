/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "client-agent/look.h"
#include "client-agent/arithmetic.h"

static bool has_moved(uint64_t from_bytes, uint64_t to_bytes)
{
	return canfs_larger(from_bytes, to_bytes) - canfs_smaller(from_bytes, to_bytes) >=
	       CANFS_LOOK_BYTES;
}

bool canfs_look_is_due(
	const struct canfs_look *look, const struct canfs_meminfo *meminfo, uint64_t now_usec)
{
	uint64_t elapsed_usec = now_usec - look->looked_usec;

	if (!look->looked_usec || elapsed_usec >= CANFS_LOOK_USEC)
		return true;
	return elapsed_usec >= look->cost_usec * CANFS_LOOK_SHARE &&
	       (has_moved(look->dirty_bytes, meminfo->dirty_bytes) ||
		       has_moved(look->writeback_bytes, meminfo->writeback_bytes));
}

void canfs_look_done(struct canfs_look *look, const struct canfs_meminfo *meminfo,
	uint64_t cost_usec, uint64_t now_usec)
{
	*look = (struct canfs_look) { .looked_usec = now_usec,
		.cost_usec = cost_usec,
		.dirty_bytes = meminfo->dirty_bytes,
		.writeback_bytes = meminfo->writeback_bytes };
}
