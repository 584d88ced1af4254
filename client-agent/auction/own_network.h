/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How busy this client's own network is, for background work on it (CA-NFS §3.3, "Client and Server Network"). The
 * way of a WRITE begins at an interface of the client, and costs as much as the most expensive resource on it (§3, §3.2). Of that
 * one no server knows, so it is not in its prices: the client adds it when it bids.
 *
 *	sent      |== write-back ==|=== others ===|             |    others / speed
 *	received  |ACKs|======== others ========|               |    others / (speed - write-back)
 *	          0                                           speed
 *
 * What counts is what others use: other programs, and reads of these mounts. The write-back of the managed mounts is
 * subtracted, of all of them: with it a lone writer would be too expensive for itself, and leave its link idle.
 *
 * In the direction in which WRITEs go, others take their share of the link. What they receive comes the other way
 * and is not in the way of WRITEs; but the requests for it are, and wait behind what was sent before. A reader that waits for
 * each reply gets only so much of the link as write-back leaves it idle, so that what it receives is taken as a part of that: it
 * must not become cheaper the more it is hurt.
 *
 * mountstats counts a WRITE when it is answered, the interface when it is sent: what may lie between is not taken for others'.
 *
 * Read-ahead is paid likewise, in the other direction (§2.2): what others receive than this mount's own readers.
 *
 * Averaged over "a few hundreds of milliseconds" (§3.3); a little longer here, since samples come every 0.1 to 1 s.
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_OWN_NETWORK_H
#define CANFS_CLIENT_AGENT_AUCTION_OWN_NETWORK_H

#include <stdint.h>
#include "pricing/utilization.h"

#define CANFS_OWN_NETWORK_TAU_SEC 1.0

/*
 * The k of its price: the sooner a further request hurts others, the smaller (§3.2). A server's network has 64, as packets of
 * many clients mix until it is nearly full. Here a request waits behind whole WRITEs of its own connection, of 1 MiB each: 8 ms at
 * 1 Gbit/s, about as long as for a disk's head, so that k is a disk's there. At 100 Mbit/s it is ten times that, and at
 * 10 Gbit/s little. Hence k - 1 grows with the speed, until k is a network's.
 *
 *	Mbit/s               100    1000   10 000   21 000
 *	k                    1.3       4       31       64
 *	Pmax / 2 at u =     0.53    0.66     0.81     0.84
 */
#define CANFS_OWN_NETWORK_K_1GBIT 4.0
#define CANFS_OWN_NETWORK_K_MAX   64.0

/* One interface. */
struct canfs_own_network {
	uint64_t usec;           /* of the last sample; 0: none yet */
	uint64_t received_bytes; /* the counters then */
	uint64_t sent_bytes;
	struct canfs_average received; /* bytes per second */
	struct canfs_average sent;
	struct canfs_average background; /* of sent: payload of the managed mounts' write-back */
	uint64_t in_flight_bytes;        /* of that, not all counted as sent */
};

struct canfs_own_network_counters {
	uint64_t received_bytes; /* since boot */
	uint64_t sent_bytes;
	uint64_t background_bytes; /* since the last sample */
	uint64_t in_flight_bytes;  /* now */
};

void canfs_own_network_init(struct canfs_own_network *network);

/* Counters that run backwards (another interface of that name) say nothing. now_usec is not 0. */
void canfs_own_network_add(struct canfs_own_network *network,
	const struct canfs_own_network_counters *counters, uint64_t now_usec);

/*
 * Utilization by others, [0, 1], as a write-back or a read-ahead meets it; bytes_per_sec: the link's speed, 0: not known, then 0 is
 * returned. fetched_bytes_per_sec: what the mount whose read-ahead it is receives for its readers.
 */
double canfs_own_network_write(const struct canfs_own_network *network, double bytes_per_sec);
double canfs_own_network_readahead(const struct canfs_own_network *network,
	double fetched_bytes_per_sec, double bytes_per_sec);

/* The price of that utilization, in [0, CANFS_PRICE_MAX]. */
double canfs_own_network_price(double utilization, double bytes_per_sec);

#endif
