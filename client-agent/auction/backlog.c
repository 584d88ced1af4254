// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/auction/backlog.h"
#include "client-agent/auction/arithmetic.h"

/* Less dirty memory counts as clean: metadata of local file systems is always a little dirty. */
static const uint64_t clean_bytes = 1 << 20;

uint64_t canfs_backlog_update(struct canfs_backlog *backlog, uint64_t written_bytes,
	uint64_t sent_bytes, uint64_t dirty_bytes, uint64_t writeback_bytes)
{
	bool backwards = written_bytes < backlog->written_bytes || sent_bytes < backlog->sent_bytes;

	if (!backlog->primed || backwards) {
		/*
		 * Data that was dirty before the first sample may be ours, but only as much as was
		 * written here.
		 */
		backlog->unsent_bytes = written_bytes > sent_bytes ? written_bytes - sent_bytes : 0;
		backlog->primed = true;
	} else {
		uint64_t unsent = backlog->unsent_bytes + (written_bytes - backlog->written_bytes);
		uint64_t sent = sent_bytes - backlog->sent_bytes;

		backlog->unsent_bytes = unsent > sent ? unsent - sent : 0;
	}
	backlog->written_bytes = written_bytes;
	backlog->sent_bytes = sent_bytes;
	/*
	 * Overwritten data, and data deleted before it was sent, must not later count others' dirty
	 * pages as ours.
	 */
	backlog->unsent_bytes = canfs_smaller(backlog->unsent_bytes,
		dirty_bytes < clean_bytes ? dirty_bytes : dirty_bytes + writeback_bytes);
	return canfs_backlog_bytes(backlog, dirty_bytes, writeback_bytes);
}

uint64_t canfs_backlog_bytes(
	const struct canfs_backlog *backlog, uint64_t dirty_bytes, uint64_t writeback_bytes)
{
	return canfs_smaller(backlog->unsent_bytes, dirty_bytes) + writeback_bytes;
}

void canfs_backlog_forget(struct canfs_backlog *backlog)
{
	backlog->unsent_bytes = 0;
}
