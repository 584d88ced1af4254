/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the agent is asked, in its loop's poll: the control socket (canfsctl) and, if configured,
 * /metrics (Prometheus). Neither ever waits for a client; one that cannot be opened is said once
 * and done without.
 */
#ifndef CANFS_CLIENT_AGENT_STATUS_SERVER_H
#define CANFS_CLIENT_AGENT_STATUS_SERVER_H

#include "client-agent/status/http.h"
#include "client-agent/status/server_reader.h"
#include "client-agent/status/status.h"
#include "common/control/server.h"

#define CANFS_DESK_POLLED (CANFS_CONTROL_POLLED + 1 + CANFS_CONFIG_LIST_MAX)

struct canfs_status_server {
	const char *root;                   /* before the socket's path; "" in production */
	char socket[CANFS_CONFIG_PATH_MAX]; /* what is open, as configured; "": nothing */
	char listen[CANFS_CONFIG_PATH_MAX];
	struct canfs_control_server server;
	struct canfs_http *http;
	struct canfs_config_list
		servers; /* as configured, of those that are asked for the metrics */
	struct canfs_server_reader reader[CANFS_CONFIG_LIST_MAX];
	size_t readers;
	struct canfs_view view; /* what is shown: the loop keeps it up to date */
	uint64_t ticked_usec;
};

/* *status_server is all 0 but for root and view. Again after a change of the configuration: opens what differs. */
void canfs_status_server_configure(
	struct canfs_status_server *status_server, const struct canfs_agent_config *config);
void canfs_status_server_close(struct canfs_status_server *status_server);

/* What poll(2) shall wait for, and how long at most (shortened if need be). Returns how many. */
size_t canfs_status_server_poll(struct canfs_status_server *status_server,
	struct pollfd polled[CANFS_DESK_POLLED], int *timeout_msec);

/* Answers what poll(2) has found in these entries. */
void canfs_status_server_serve(
	struct canfs_status_server *status_server, const struct pollfd *polled);

#endif
