/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One connection to the control socket: reads bytes, answers lines, writes bytes. Never blocks. */
#ifndef CANFS_COMMON_CONTROL_CONNECTION_H
#define CANFS_COMMON_CONTROL_CONNECTION_H

#include "common/control/request.h"

struct canfs_connection {
	int fd;              /* non-blocking; owned */
	uint64_t moved_usec; /* when a byte was last received or sent; CLOCK_MONOTONIC */
	bool ended;          /* no more input; close after the last reply */
	size_t got;          /* bytes in request */
	char request[CANFS_CONTROL_REQUEST_MAX];
	char *reply; /* NULL: none in flight */
	size_t reply_length, sent;
};

void canfs_connection_open(struct canfs_connection *connection, int fd, uint64_t now_usec);
void canfs_connection_close(struct canfs_connection *connection);

/* Returns the events for poll(2). */
short canfs_connection_events(const struct canfs_connection *connection);

/* Call this when poll(2) reports an event. Returns false if the connection must be closed. */
bool canfs_connection_serve(struct canfs_connection *connection,
	const struct canfs_control_service *service, struct canfs_control_time now);

#endif
