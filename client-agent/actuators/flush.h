/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which bytes of the open files to send next: what was appended since the last time comes first. What was overwritten is sent only
 * when what is held must leave, on a walk round the rest: it will be overwritten again, and sent early it is sent twice, in small
 * pieces that a disk has to seek for.
 *
 *	0          walk          tail          size
 *	|== clean ==|... cyclic ...|== appended ==|
 */
#ifndef CANFS_CLIENT_AGENT_ACTUATORS_FLUSH_H
#define CANFS_CLIENT_AGENT_ACTUATORS_FLUSH_H

#include "client-agent/kernel/writers.h"

/* Does the kernel have cachestat(2)? */
bool canfs_flush_exact(void);

struct canfs_flush_terms {
	bool exact; /* clean ranges are found by cachestat(2) and skipped, only dirty bytes count; else all count */
	bool hurries; /* what is held must leave: walks, too */
};

/*
 * Hands up to chunk_bytes to sync_file_range(SYNC_FILE_RANGE_WRITE), in pieces round robin over the
 * writers. Returns the bytes; failed files add to *errors. Does not wait for the server
 * beyond what starting a write takes.
 */
uint64_t canfs_flush(struct canfs_writers *writers, uint64_t chunk_bytes,
	const struct canfs_flush_terms *terms, unsigned int *errors);

/* Passes over what was appended and the kernel has sent by itself. Needs cachestat(2). */
void canfs_flush_pass_sent(struct canfs_writers *writers);

#endif
