/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* All bidders of this client, one for each BDI with NFS mounts that are to be managed. */
#ifndef CANFS_CLIENT_AGENT_BIDDERS_H
#define CANFS_CLIENT_AGENT_BIDDERS_H

#include "client-agent/auction/bidder.h"
#include "client-agent/actuators/defer.h"

#define CANFS_BIDDERS_MAX CANFS_DEFER_BDIS_MAX

/* A mount without prices, which was logged already. */
struct canfs_left_alone {
	int id;
	struct canfs_bdi bdi;
};

/* All zero: none yet. */
struct canfs_bidders {
	struct canfs_bidder *bidder[CANFS_BIDDERS_MAX];
	size_t n;
	size_t left_out;   /* mounts beyond the bounds */
	size_t unread;     /* unreadable lines of the mount table */
	size_t left_alone; /* entries, one for each BDI */
	struct canfs_left_alone left_alone_mount[CANFS_MOUNTS_MAX + CANFS_MOUNTS_UNFIT];
};

struct canfs_actors; /* act.h */

/*
 * Mounts came or went, or the configuration is another: bidders of BDIs that stayed keep their memory, those of
 * others are let go and freed. One that is not wanted any more stays, observing, until it has no share of the
 * flushing point left. Says what is new.
 */
void canfs_bidders_refresh(struct canfs_bidders *bidders, const struct canfs_mounts *mounts,
	const struct canfs_agent_config *config, struct canfs_actors *actors);

/* Does the configuration want the mount, or is it still managed? data: configuration and bidders. */
struct canfs_bidders_wanted {
	const struct canfs_bidders *bidders;
	const struct canfs_agent_config *config;
};
bool canfs_bidders_want(const void *data, const struct canfs_mount *mount);

/* Is one that is not wanted any more drained, so that a refresh would let it go? */
bool canfs_bidders_left(const struct canfs_bidders *bidders, const struct canfs_actors *actors);

/* Touches no knob. */
void canfs_bidders_free(struct canfs_bidders *bidders);

#endif
