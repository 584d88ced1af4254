/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The agent's status as JSON: the replies of its control socket (status.md), and the input of
 * metrics.c. All values come from the loop's memory, except the knobs, which are read from the
 * kernel. Reading a knob does not block.
 */
#ifndef CANFS_CLIENT_AGENT_STATUS_STATUS_H
#define CANFS_CLIENT_AGENT_STATUS_STATUS_H

#include "client-agent/actuators/act.h"
#include "common/control/request.h"

/* The data to show: the loop's own, and what the loop notes for the status. */
struct canfs_view {
	const struct canfs_agent_config *config;
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

/* Returns the members of the reply to "status", or NULL if there is no memory. */
json_t *canfs_status_json(const struct canfs_view *view, uint64_t now_usec);

/* The commands status and why; call->subject is a struct canfs_view. */
extern const struct canfs_control_command canfs_status_commands[];

#endif
