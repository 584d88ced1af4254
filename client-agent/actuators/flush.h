/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which bytes of the open files to send next: what was appended since the last time comes first,
 * then a walk round the rest, where data may have been overwritten.
 *
 *	0          walk          tail          size
 *	|== clean ==|... cyclic ...|== appended ==|
 */
#ifndef CANFS_CLIENT_AGENT_ACTUATORS_FLUSH_H
#define CANFS_CLIENT_AGENT_ACTUATORS_FLUSH_H

#include "client-agent/kernel/writers.h"

/* Does the kernel have cachestat(2)? */
bool canfs_flush_exact(void);

/*
 * What is overwritten once is soon overwritten again, and what was sent in between was sent for nothing: so after a walk the
 * next one begins so much later, as the kernel's flusher lets data rest.
 */
#define CANFS_FLUSH_REST_USEC UINT64_C(10000000)

struct canfs_flush_terms {
	uint64_t now_usec;
	bool exact; /* clean ranges are found by cachestat(2) and skipped, only dirty bytes count; else all count */
	bool hurries; /* walks do not rest: what is held must leave */
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
