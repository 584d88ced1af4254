/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the agent shows of itself, as JSON: the replies of its control socket (status.md), and what
 * metrics.c makes its text of. Everything is read from what the loop has at hand, and of the kernel
 * only the knobs, which answer at once.
 */
#ifndef CANFS_CLIENT_AGENT_STATUS_STATUS_H
#define CANFS_CLIENT_AGENT_STATUS_STATUS_H

#include "client-agent/actuators/act.h"
#include "common/control/request.h"

/* What there is to see: the loop's own, and what it notes for us. */
struct canfs_view {
	const struct canfs_agent_config *config;
	const char *config_file; /* NULL: none */
	const struct canfs_actors *actors;
	struct canfs_bidder *const *bidders;
	size_t n;
	size_t left_out;              /* mounts beyond the bounds */
	size_t left_alone;            /* mounts without prices */
	struct canfs_host_state host; /* of the last tick */
	uint64_t ticks;
	uint64_t started_usec;
	bool blind; /* /proc cannot be read */
	struct canfs_control_counters counters;
};

/* The members of the reply to "status". NULL: no memory. */
json_t *canfs_status_json(const struct canfs_view *view, uint64_t now_usec);

/* The commands status, why and config; call->subject is a struct canfs_view. */
extern const struct canfs_control_command canfs_status_commands[];

#endif
