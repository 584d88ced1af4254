/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much of the system's Writeback is one BDI's. A local disk's write-back, or another mount's, must not keep
 * data here that an idle server would take; so two parts are estimated, and bounded by Writeback:
 *
 *	not answered   pages whose sending has begun - bytes written to the server      (mountstats)
 *	not committed  bytes written to the server since the last COMMIT but one was done, or since two
 *	               round trips of a COMMIT ago, whichever is longer ago
 *
 * The COMMITs of a file come one after another: the last one that is done was sent after the one before, and
 * covers all that was answered by then. Files take turns, hence the round trips. When nothing more is sent the
 * last COMMIT has none to follow it, and counts a second later. A server that needs no COMMIT
 * shows as one that was never sent any: what it has answered is no Writeback, and that bounds it.
 *
 * Kernels whose NFS client has large folios count each as one page when its sending begins. That shows, since much
 * more is then sent than was begun; all of Writeback counts as ours then.
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_IN_FLIGHT_H
#define CANFS_CLIENT_AGENT_AUCTION_IN_FLIGHT_H

#include "client-agent/kernel/mountstats.h"

/* What was written to the server is remembered for 13 s: less is known of a server that is slower. */
#define CANFS_IN_FLIGHT_SAMPLES     128
#define CANFS_IN_FLIGHT_SAMPLE_USEC 100000
#define CANFS_IN_FLIGHT_REST_USEC   1000000

/* All 0: nothing seen yet. */
struct canfs_in_flight {
	bool primed;
	int64_t lead_bytes; /* how far begun bytes are ahead of sent ones with nothing on its way */
	uint64_t uncounted_bytes; /* sent and never begun ... */
	uint64_t counted_bytes;   /* ... of what was sent in the same time */
	uint64_t sent_bytes;      /* the counters' last values */
	struct canfs_op_stats commit;
	uint64_t round_trip_usec;   /* of the COMMITs that were done last ... */
	uint64_t committed_usec[2]; /* ... which was seen then; [1]: those before; 0: none */
	size_t samples;             /* so far; the last CANFS_IN_FLIGHT_SAMPLES are kept */
	struct {
		uint64_t usec;
		uint64_t sent_bytes;
	} sample[CANFS_IN_FLIGHT_SAMPLES];
};

/* Bytes, <= writeback_bytes, which is of the whole system now. Counters that run backwards start anew. */
uint64_t canfs_in_flight_update(struct canfs_in_flight *in_flight,
	const struct canfs_mountstats *stats, uint64_t writeback_bytes, uint64_t now_usec);

#endif
