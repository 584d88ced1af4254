/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Chooses which bytes of the open files to send next. Data appended since the last call goes first.
 * Overwritten data is sent only when held data must leave, on a cyclic walk over the rest of the
 * file. Such data is likely to be overwritten again. If it is sent early, it is sent twice, in small
 * pieces that a disk must seek for.
 *
 *	0          walk          tail          size
 *	|== clean ==|... cyclic ...|== appended ==|
 */
#ifndef CANFS_CLIENT_AGENT_ACTUATORS_FLUSH_H
#define CANFS_CLIENT_AGENT_ACTUATORS_FLUSH_H

#include "client-agent/kernel/writers.h"

/* Returns true if the kernel has cachestat(2). */
bool canfs_flush_exact(void);

struct canfs_flush_terms {
	bool exact; /* cachestat(2) finds clean ranges, which are skipped. Only dirty bytes count; else all bytes count */
	bool hurries; /* held data must leave: walk, too */
};

/*
 * Passes up to chunk_bytes to sync_file_range(SYNC_FILE_RANGE_WRITE), in pieces, round robin over
 * the writers. Returns the bytes that count (exact). Failed files add to *errors. Waits for the
 * server only as long as starting a write takes.
 */
uint64_t canfs_flush(struct canfs_writers *writers, uint64_t chunk_bytes,
	const struct canfs_flush_terms *terms, unsigned int *errors);

/* Skips appended data that the kernel has sent by itself. Needs cachestat(2). */
void canfs_flush_pass_sent(struct canfs_writers *writers);

#endif
