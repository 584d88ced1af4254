/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The agent's status server, in the loop's poll: the control socket (canfsctl) and, if configured,
 * /metrics (Prometheus). Neither ever waits for a client. If one cannot be opened, that is logged
 * once, and the agent runs without it.
 */
#ifndef CANFS_CLIENT_AGENT_STATUS_SERVER_H
#define CANFS_CLIENT_AGENT_STATUS_SERVER_H

#include "client-agent/status/http.h"
#include "client-agent/status/server_reader.h"
#include "client-agent/status/status.h"
#include "common/control/server.h"

#define CANFS_DESK_POLLED (CANFS_CONTROL_POLLED + 1 + CANFS_CONFIG_LIST_MAX)

struct canfs_status_server {
	const char *root;                   /* prepended to the socket's path; "" in production */
	char socket[CANFS_SOCKET_PATH_MAX]; /* the open one; "": none */
	char listen[CANFS_CONFIG_PATH_MAX];
	struct canfs_control_server server;
	struct canfs_http *http;
	struct canfs_config_list
		servers; /* configured sockets of the servers that are asked for metrics */
	struct canfs_server_reader reader[CANFS_CONFIG_LIST_MAX];
	size_t readers;
	struct canfs_view view; /* the data to show; the loop updates it */
	size_t polled;          /* entries of the last canfs_status_server_poll() */
	uint64_t ticked_usec;
};

/*
 * Opens what the configuration wants. Call this again after a change of the configuration; only
 * differences are opened or closed. Before the first call, *status_server is all 0 except root and
 * view.
 */
void canfs_status_server_configure(
	struct canfs_status_server *status_server, const struct canfs_agent_config *config);
void canfs_status_server_close(struct canfs_status_server *status_server);

/*
 * Sets the entries for poll(2) and shortens *timeout_msec if necessary. Returns the number of
 * entries.
 */
size_t canfs_status_server_poll(struct canfs_status_server *status_server,
	struct pollfd polled[CANFS_DESK_POLLED], int *timeout_msec);

/*
 * Serves the clients for which poll(2) reported events in the entries that
 * canfs_status_server_poll() has set. Costs next to nothing if there are none.
 */
void canfs_status_server_serve(
	struct canfs_status_server *status_server, const struct pollfd *polled, uint64_t now_usec);

#endif
