/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One connection to the control socket: bytes in, lines answered, bytes out; it never waits. */
#ifndef CANFS_COMMON_CONTROL_CONNECTION_H
#define CANFS_COMMON_CONTROL_CONNECTION_H

#include "common/control/request.h"

struct canfs_connection {
	int fd;              /* non-blocking; owned */
	uint64_t moved_usec; /* when a byte last came or went; CLOCK_MONOTONIC */
	bool ended;          /* nothing more will be read: to be closed when all is answered */
	size_t got;          /* of request */
	char request[CANFS_CONTROL_REQUEST_MAX];
	char *reply; /* NULL: none is in flight */
	size_t reply_length, sent;
};

void canfs_connection_open(struct canfs_connection *connection, int fd, uint64_t now_usec);
void canfs_connection_close(struct canfs_connection *connection);

/* What poll(2) shall wait for. */
short canfs_connection_events(const struct canfs_connection *connection);

/* To be called when poll(2) has seen something. False: to be closed. */
bool canfs_connection_serve(struct canfs_connection *connection,
	const struct canfs_control_service *service, struct canfs_control_time now);

#endif
