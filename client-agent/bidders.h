/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* All bidders of this client: one for each BDI with NFS mounts to manage. */
#ifndef CANFS_CLIENT_AGENT_BIDDERS_H
#define CANFS_CLIENT_AGENT_BIDDERS_H

#include "client-agent/auction/bidder.h"
#include "client-agent/actuators/defer.h"

#define CANFS_BIDDERS_MAX CANFS_DEFER_BDIS_MAX

/* A mount that stays as it is; the reason has been logged. */
struct canfs_left_alone {
	int id;
	struct canfs_bdi bdi;
};

/* All zero: no bidders yet. */
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
 * Call this when mounts came or went, or the configuration has changed. Bidders of BDIs that stay
 * keep their state; the other bidders are released and freed. A bidder that is not wanted any more
 * stays in observe mode until it has no share of the flushing point. Logs what is new.
 */
void canfs_bidders_refresh(struct canfs_bidders *bidders, const struct canfs_mounts *mounts,
	const struct canfs_agent_config *config, struct canfs_actors *actors);

/*
 * Returns true if the configuration wants the mount, or if it is still managed. data is a struct
 * canfs_bidders_wanted.
 */
struct canfs_bidders_wanted {
	const struct canfs_bidders *bidders;
	const struct canfs_agent_config *config;
};
bool canfs_bidders_want(const void *data, const struct canfs_mount *mount);

/* Returns true if an unwanted bidder is drained, so that a refresh would release it. */
bool canfs_bidders_left(const struct canfs_bidders *bidders, const struct canfs_actors *actors);

/* Frees all bidders, and leaves the knobs as they are. */
void canfs_bidders_free(struct canfs_bidders *bidders);

#endif
