/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The interfaces by which the servers of the managed mounts are reached: sampled together with the mounts' counters, so that
 * what is the mounts' own can be told from what is others', and what each mount's own network costs (auction/own_network.h).
 *
 *	route of each mount's server --> interface, its speed --.
 *	bytes of the interface ----------- own_network ---------+--> price of a write-back, of a read-ahead
 *	write-back of all mounts behind it -'
 *
 * Whatever cannot be learned costs nothing: no route, a speed that nobody knows, counters that cannot be read.
 */
#ifndef CANFS_CLIENT_AGENT_INTERFACES_H
#define CANFS_CLIENT_AGENT_INTERFACES_H

#include <net/if.h>
#include "client-agent/auction/bidder.h"
#include "client-agent/auction/own_network.h"

/* Further ones are not watched. */
#define CANFS_INTERFACES_WATCHED_MAX 16

/* A route is asked for so often; whether a link went up or down; and when a driver must have found its speed after that. */
#define CANFS_INTERFACES_ROUTE_USEC  10000000
#define CANFS_INTERFACES_LINK_USEC   1000000
#define CANFS_INTERFACES_SETTLE_USEC 10000000

struct canfs_interface {
	char name[IF_NAMESIZE];
	struct canfs_own_network network;
	bool is_used;

	/* Of the mounts behind it, for the next sample. */
	uint64_t background_bytes;
	uint64_t in_flight_bytes;

	/* Its speed is asked for when it is new, and when its link has changed. */
	uint32_t mbit; /* 0: not known */
	uint32_t carrier_changes;
	uint64_t link_due_usec;
	uint64_t settled_usec; /* it is to be asked for once more then; 0: it was */
};

/* All zero: none yet. */
struct canfs_interfaces {
	size_t n;
	struct canfs_interface interface[CANFS_INTERFACES_WATCHED_MAX];
};

/*
 * Sets network of each bidder. To be called when the mounts' counters have been taken (canfs_bidder_observe()), with the
 * time of that; now_usec is not 0.
 */
void canfs_interfaces_sample(struct canfs_interfaces *interfaces, const char *root,
	struct canfs_bidder *const bidders[], size_t n, uint64_t now_usec);

#endif
