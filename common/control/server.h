/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A control socket in the caller's poll loop. It never blocks.
 *
 *	poll --> serve: reads, answers and writes a little on each connection that is ready
 *	 ^---------'    once a second, tick: drops connections that have been idle for too long
 *
 * A connection has one buffer for its request and one for its reply. It is read again after the
 * reply has been sent. All connections together use at most 16 MiB.
 */
#ifndef CANFS_COMMON_CONTROL_SERVER_H
#define CANFS_COMMON_CONTROL_SERVER_H

#include <poll.h>
#include "common/control/connection.h"
#include "common/control/socket.h"

#define CANFS_CONTROL_CONNECTIONS 16
#define CANFS_CONTROL_POLLED      (1 + CANFS_CONTROL_CONNECTIONS)

/* A connection that neither receives nor sends for this long is closed. */
#define CANFS_CONTROL_IDLE_MSEC 30000

struct canfs_control_server {
	struct canfs_socket listener;
	struct canfs_control_service service;
	uint64_t idle_usec;
	bool full; /* accept4() failed, perhaps without descriptors: retried after the next tick */
	size_t count;
	struct canfs_connection *connections[CANFS_CONTROL_CONNECTIONS];
};

/* idle_msec: 0 for CANFS_CONTROL_IDLE_MSEC. Returns 0 or -errno, like canfs_socket_open(). */
int canfs_control_server_open(struct canfs_control_server *server, const char *path,
	const struct canfs_control_service *service, unsigned int idle_msec);
void canfs_control_server_close(struct canfs_control_server *server);

/* Fills the entries for poll(2). Returns their number. */
size_t canfs_control_server_poll(
	const struct canfs_control_server *server, struct pollfd polled[CANFS_CONTROL_POLLED]);

/* Handles the events of these entries, with at most one request per connection. */
void canfs_control_server_serve(struct canfs_control_server *server, const struct pollfd *polled,
	struct canfs_control_time now);

/* Call this about once a second. */
void canfs_control_server_tick(struct canfs_control_server *server, uint64_t now_usec);

/* Returns the current time, for canfs_control_server_serve(). */
struct canfs_control_time canfs_control_time_now(void);

#endif
