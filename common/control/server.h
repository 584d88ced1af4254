/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A control socket in somebody's poll loop: it waits for nobody.
 *
 *	poll --> serve: a little is read, answered, written on each connection that is ready
 *	 ^---------'    once a second, tick: a connection that has moved nothing for too long is dropped
 *
 * A connection has one buffer for its request and one for its reply, and is read again when the
 * reply has gone: 16 MiB in all at the very most.
 */
#ifndef CANFS_COMMON_CONTROL_SERVER_H
#define CANFS_COMMON_CONTROL_SERVER_H

#include <poll.h>
#include "common/control/connection.h"
#include "common/control/socket.h"

#define CANFS_CONTROL_CONNECTIONS 16
#define CANFS_CONTROL_POLLED      (1 + CANFS_CONTROL_CONNECTIONS)

/* A connection on which nothing moves for so long is closed. */
#define CANFS_CONTROL_IDLE_MSEC 30000

struct canfs_control_server {
	struct canfs_socket listener;
	struct canfs_control_service service;
	uint64_t idle_usec;
	bool full; /* no descriptor for another connection: asked again after the next tick */
	size_t count;
	struct canfs_connection *connections[CANFS_CONTROL_CONNECTIONS];
};

/* idle_msec: 0 for CANFS_CONTROL_IDLE_MSEC. Errors: canfs_socket_open()'s. */
int canfs_control_server_open(struct canfs_control_server *server, const char *path,
	const struct canfs_control_service *service, unsigned int idle_msec);
void canfs_control_server_close(struct canfs_control_server *server);

/* What poll(2) shall wait for. Returns how many entries it has filled. */
size_t canfs_control_server_poll(
	const struct canfs_control_server *server, struct pollfd polled[CANFS_CONTROL_POLLED]);

/* Takes what poll(2) has found in these entries; at most one request of each connection. */
void canfs_control_server_serve(struct canfs_control_server *server, const struct pollfd *polled,
	struct canfs_control_time now);

/* To be called about once a second. */
void canfs_control_server_tick(struct canfs_control_server *server, uint64_t now_usec);

/* The time that connections are served at. */
struct canfs_control_time canfs_control_time_now(void);

#endif
