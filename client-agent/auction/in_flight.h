/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Estimates how much of the system's Writeback belongs to one BDI. The write-back of a local disk
 * or of another mount must not make this client hold data that an idle server would take. The
 * estimate is the sum of two parts, bounded by Writeback:
 *
 *	not answered   pages whose sending has begun - bytes written to the server      (mountstats)
 *	not committed  bytes written to the server since the last COMMIT but one was done, or since two
 *	               round trips of a COMMIT ago, whichever is longer ago
 *
 * The COMMITs of one file do not overlap: each is sent after the one before is done, and covers all
 * data that was answered by then. Files take turns; the two round trips account for that. When
 * nothing more is sent, no COMMIT follows the last one, so after one more second the last one itself counts. A
 * server that needs no COMMIT looks like a server that never got one. Its answered data is not in
 * Writeback, so the bound by Writeback corrects the estimate.
 *
 * NFS clients with large folios count each folio as one page when its sending begins. Then much
 * more is sent than was begun. If that is detected, all of Writeback counts as ours.
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_IN_FLIGHT_H
#define CANFS_CLIENT_AGENT_AUCTION_IN_FLIGHT_H

#include "client-agent/kernel/mountstats.h"

/* Samples of sent bytes cover 13 s. For a server with slower COMMITs the estimate is less exact. */
#define CANFS_IN_FLIGHT_SAMPLES     128
#define CANFS_IN_FLIGHT_SAMPLE_USEC 100000
#define CANFS_IN_FLIGHT_REST_USEC   1000000

/* All 0: nothing seen yet. */
struct canfs_in_flight {
	bool primed;
	int64_t lead_bytes;       /* how far begun bytes exceed sent bytes with nothing in flight */
	uint64_t uncounted_bytes; /* sent and never begun ... */
	uint64_t counted_bytes;   /* ... out of what was sent in the same time */
	uint64_t sent_bytes;      /* last values of the counters */
	struct canfs_op_stats commit;
	uint64_t round_trip_usec;   /* of the latest COMMITs ... */
	uint64_t committed_usec[2]; /* ... which were seen at [0]; [1]: those before; 0: none */
	size_t samples;             /* so far; the last CANFS_IN_FLIGHT_SAMPLES are kept */
	struct {
		uint64_t usec;
		uint64_t sent_bytes;
	} sample[CANFS_IN_FLIGHT_SAMPLES];
};

/*
 * Returns bytes, <= writeback_bytes, which is of the whole system now. Counters that run backwards
 * restart the estimate.
 */
uint64_t canfs_in_flight_update(struct canfs_in_flight *in_flight,
	const struct canfs_mountstats *stats, uint64_t writeback_bytes, uint64_t now_usec);

#endif
