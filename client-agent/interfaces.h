/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The network interfaces on the way to the servers of the managed mounts. They are sampled together
 * with the mounts' counters. So the traffic of the mounts can be told from that of others, which
 * sets the price of each mount's own network (auction/own_network.h).
 *
 *	route of each mount's server --> interface, its speed --.
 *	bytes of the interface ----------- own_network ---------+--> price of a write-back, of a read-ahead
 *	write-back of all mounts behind it -'
 *
 * Unknown values cost nothing: no route, an unknown speed, unreadable counters.
 */
#ifndef CANFS_CLIENT_AGENT_INTERFACES_H
#define CANFS_CLIENT_AGENT_INTERFACES_H

#include <net/if.h>
#include "client-agent/auction/bidder.h"
#include "client-agent/auction/own_network.h"

/* Interfaces beyond these are not watched. */
#define CANFS_INTERFACES_WATCHED_MAX 16

/*
 * How often a route is looked up, and how often a link is checked for up and down. Then the time
 * that a driver needs at most to find the speed of a changed link.
 */
#define CANFS_INTERFACES_ROUTE_USEC  10000000
#define CANFS_INTERFACES_LINK_USEC   1000000
#define CANFS_INTERFACES_SETTLE_USEC 10000000

struct canfs_interface {
	char name[IF_NAMESIZE];
	struct canfs_own_network network;
	bool is_used;

	/* Sums over the mounts behind the interface, for the next sample. */
	uint64_t background_bytes;
	uint64_t in_flight_bytes;

	/* The speed is read when the interface is new, and when its link has changed. */
	uint32_t mbit; /* 0: not known */
	uint32_t carrier_changes;
	uint64_t link_due_usec;
	uint64_t settled_usec; /* time to read the speed once more; 0: done */
};

/* All zero: no interfaces yet. */
struct canfs_interfaces {
	size_t n;
	struct canfs_interface interface[CANFS_INTERFACES_WATCHED_MAX];
};

/*
 * Sets network of each bidder. Call this after canfs_bidder_observe() took new counters, with the
 * time of these counters. now_usec is not 0.
 */
void canfs_interfaces_sample(struct canfs_interfaces *interfaces, const char *root,
	struct canfs_bidder *const bidders[], size_t n, uint64_t now_usec);

#endif
