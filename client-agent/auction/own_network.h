/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How busy this client's network is, as background work sees it (CA-NFS §3.3, "Client and Server
 * Network"). The path of a WRITE begins at an interface of the client. An operation costs as much
 * as the most expensive resource on its path (§3, §3.2). Servers do not know the client's
 * interface, so their prices do not include it. The client adds the interface's price when it bids.
 *
 *	sent      |== write-back ==|=== others ===|             |    others / speed
 *	received  |ACKs|======== others ========|               |    others / (speed - write-back)
 *	          0                                           speed
 *
 * Only the use by others counts: other programs, and reads of these mounts. The write-back of all
 * managed mounts is subtracted. Otherwise a lone writer would make its own link expensive and leave
 * it idle.
 *
 * In the direction of WRITEs, others take their share of the link. Data that others receive does
 * not compete with WRITEs, but the requests for that data do: they wait behind data that was sent
 * before. A reader that waits for each reply gets only the part of the link that write-back leaves
 * idle. So received data is counted relative to that part. Otherwise the price would fall as the
 * reader is hurt more.
 *
 * mountstats counts a WRITE when it is answered; the interface counts it when it is sent. Data that
 * may be between the two is not counted as others'.
 *
 * Read-ahead is priced in the same way, in the other direction (§2.2): by what others receive,
 * without this mount's own readers.
 *
 * The averages cover "a few hundreds of milliseconds" (§3.3). Ours have a time constant of 1 s,
 * because samples come every 0.1 to 1 s.
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_OWN_NETWORK_H
#define CANFS_CLIENT_AGENT_AUCTION_OWN_NETWORK_H

#include <stdint.h>
#include "pricing/utilization.h"

#define CANFS_OWN_NETWORK_TAU_SEC 1.0

/*
 * The k of the price. k is smaller if a further request hurts others earlier (§3.2). A server's
 * network has a k of 64, because packets of many clients interleave until the network is nearly
 * full.
 *
 * On a client, a request waits behind whole WRITEs of 1 MiB on its own connection. That takes 8 ms
 * at 1 Gbit/s, about as long as a disk seek, so at that speed k is that of a disk. At 100 Mbit/s the
 * wait is ten times as long, and at 10 Gbit/s it is short. So k - 1 grows with the speed, up to a
 * network's k.
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
	uint64_t received_bytes; /* counters at that sample */
	uint64_t sent_bytes;
	struct canfs_average received; /* bytes per second */
	struct canfs_average sent;
	struct canfs_average background; /* part of sent: payload of the mounts' write-back */
	uint64_t in_flight_bytes;        /* payload that mountstats may not count yet */
};

struct canfs_own_network_counters {
	uint64_t received_bytes; /* since boot */
	uint64_t sent_bytes;
	uint64_t background_bytes; /* since the last sample */
	uint64_t in_flight_bytes;  /* now */
};

void canfs_own_network_init(struct canfs_own_network *network);

/*
 * Adds a sample. Counters that run backwards (another interface with that name) are ignored.
 * now_usec is not 0.
 */
void canfs_own_network_add(struct canfs_own_network *network,
	const struct canfs_own_network_counters *counters, uint64_t now_usec);

/*
 * Return the utilization by others, [0, 1], as a write-back or a read-ahead meets it. bytes_per_sec
 * is the link's speed; if it is 0 (not known), the result is 0. fetched_bytes_per_sec is what the
 * mount of the read-ahead receives for its own readers.
 */
double canfs_own_network_write(const struct canfs_own_network *network, double bytes_per_sec);
double canfs_own_network_readahead(const struct canfs_own_network *network,
	double fetched_bytes_per_sec, double bytes_per_sec);

/* Returns the price of that utilization, in [0, CANFS_PRICE_MAX]. */
double canfs_own_network_price(double utilization, double bytes_per_sec);

#endif
