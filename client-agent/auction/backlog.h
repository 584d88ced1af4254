/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much one BDI holds that is not yet on the server's disk. Kernels without debugfs or
 * cachestat(2) do not say it per mount, so it is estimated from two counters and bounded by a third:
 *
 *	unsent   += written by applications - written to the server     (mountstats, never < 0)
 *	backlog   = min(unsent, Dirty) + Writeback                      (meminfo; of that what is ours, in_flight.h)
 *
 * Overwriting a dirty page, or deleting it, makes unsent too large and page-granular WRITEs make it too
 * small; it is forgotten whenever the whole system is clean, or nothing has moved for longer than the kernel
 * keeps anything, and the bound by meminfo holds always.
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_BACKLOG_H
#define CANFS_CLIENT_AGENT_AUCTION_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

struct canfs_backlog {
	uint64_t unsent_bytes;
	uint64_t written_bytes; /* the counters' last values */
	uint64_t sent_bytes;
	bool primed;
};

/*
 * written_bytes, sent_bytes: cumulative counters; one that runs backwards (a new mount on the same
 * number) starts the estimate anew. dirty_bytes: of the whole system now; writeback_bytes: ours.
 * Returns the backlog in bytes, <= dirty_bytes + writeback_bytes.
 */
uint64_t canfs_backlog_update(struct canfs_backlog *backlog, uint64_t written_bytes,
	uint64_t sent_bytes, uint64_t dirty_bytes, uint64_t writeback_bytes);

/*
 * The backlog by what is dirty and in flight now, while the counters are of an earlier time. The estimate stays as it
 * is: bounded by what is dirty now, it would lose what was sent since, and lose it again when that is counted.
 */
uint64_t canfs_backlog_bytes(
	const struct canfs_backlog *backlog, uint64_t dirty_bytes, uint64_t writeback_bytes);

/* Nothing has moved for so long that nothing can be unsent any more. */
void canfs_backlog_forget(struct canfs_backlog *backlog);

#endif
