/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Asks a price server of this machine over its control socket (server/control.md), in the caller's poll loop, every five seconds: what it
 * says is there when Prometheus comes. Never waits for it; one that is not there, or does not answer, is "not up".
 *
 *	idle --> connect(2), one send(2) of all questions --> a line of reply each --> idle
 */
#ifndef CANFS_CLIENT_AGENT_STATUS_SERVER_READER_H
#define CANFS_CLIENT_AGENT_STATUS_SERVER_READER_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>
#include "common/control/socket.h"

#define CANFS_SERVER_QUESTIONS 5

struct canfs_server_reader {
	char path[CANFS_SOCKET_PATH_MAX];
	char name
		[CANFS_SOCKET_PATH_MAX]; /* of the metrics' label: the path's last part, without .sock */
	int fd;                          /* -1: idle */
	uint64_t asked_usec;             /* 0: never */
	char *text;                      /* of replies, as far as they have come */
	size_t text_bytes, text_room;
	json_t *said[CANFS_SERVER_QUESTIONS]; /* the last replies; NULL: none, or an error */
	bool is_up;
};

/* path: with the root before it. -ENAMETOOLONG. */
int canfs_server_reader_open(
	struct canfs_server_reader *reader, const char *root, const char *path);
void canfs_server_reader_close(
	struct canfs_server_reader *reader); /* it is asked again when it is time to */

/* Returns how many entries it has set, 1 at most; shortens *timeout_msec to the next question. */
size_t canfs_server_reader_poll(struct canfs_server_reader *reader, uint64_t now_usec,
	struct pollfd *polled, int *timeout_msec);

/* Asks, if it is time to; takes what has come. */
void canfs_server_reader_serve(struct canfs_server_reader *reader, uint64_t now_usec);

/* As server_metrics.h takes it. NULL: no memory. */
json_t *canfs_server_reader_json(const struct canfs_server_reader *reader);

#endif
