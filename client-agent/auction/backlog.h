/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Estimates how much data of one BDI is not yet on the server's disk. Kernels without debugfs or
 * cachestat(2) do not show that per mount. The estimate uses two counters and a bound:
 *
 *	unsent   += written by applications - written to the server     (mountstats, never < 0)
 *	backlog   = min(unsent, Dirty) + Writeback                      (meminfo; our part of Writeback: in_flight.h)
 *
 * Overwriting or deleting a dirty page makes unsent too large. WRITEs of whole pages make unsent
 * too small. unsent is reset when the whole system is clean, or when nothing has moved for longer
 * than the kernel keeps dirty data. The bound by meminfo always holds.
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_BACKLOG_H
#define CANFS_CLIENT_AGENT_AUCTION_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

struct canfs_backlog {
	uint64_t unsent_bytes;
	uint64_t written_bytes; /* last values of the counters */
	uint64_t sent_bytes;
	bool primed;
};

/*
 * written_bytes and sent_bytes are cumulative counters. A counter that runs backwards (a new mount
 * with the same number) restarts the estimate. dirty_bytes is of the whole system now;
 * writeback_bytes is our part. Returns the backlog in bytes, <= dirty_bytes + writeback_bytes.
 */
uint64_t canfs_backlog_update(struct canfs_backlog *backlog, uint64_t written_bytes,
	uint64_t sent_bytes, uint64_t dirty_bytes, uint64_t writeback_bytes);

/*
 * Returns the backlog for present values of Dirty and Writeback while the counters are older. Does
 * not change the estimate. Bounding unsent by the present Dirty would subtract the data sent since
 * the last counters, and the next counters would subtract that data again.
 */
uint64_t canfs_backlog_bytes(
	const struct canfs_backlog *backlog, uint64_t dirty_bytes, uint64_t writeback_bytes);

/* Resets unsent. Call this if nothing has moved for so long that no unsent data can be left. */
void canfs_backlog_forget(struct canfs_backlog *backlog);

#endif
