/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Asks a price server of this machine over its control socket (server/control.md) every five
 * seconds, in the caller's poll loop. So replies are available when Prometheus asks. Never waits
 * for the server. A server that is missing or does not answer is "not up".
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
		[CANFS_SOCKET_PATH_MAX]; /* the label in metrics: the last part of the path, without .sock */
	int fd;                          /* -1: idle */
	uint64_t asked_usec;             /* 0: never */
	char *text;                      /* replies received so far */
	size_t text_bytes, text_room;
	json_t *said[CANFS_SERVER_QUESTIONS]; /* the last replies; NULL: none, or an error */
	bool is_up;
};

/* root is prepended to path. Returns 0 or -ENAMETOOLONG. */
int canfs_server_reader_open(
	struct canfs_server_reader *reader, const char *root, const char *path);
void canfs_server_reader_close(
	struct canfs_server_reader *reader); /* the next serve may ask again */

/*
 * Sets at most one entry and returns the number of entries. Shortens *timeout_msec to the next
 * question.
 */
size_t canfs_server_reader_poll(struct canfs_server_reader *reader, uint64_t now_usec,
	struct pollfd *polled, int *timeout_msec);

/* Asks if the next question is due, and takes what has arrived. */
void canfs_server_reader_serve(struct canfs_server_reader *reader, uint64_t now_usec);

/* Returns the object for server_metrics.h, or NULL if there is no memory. */
json_t *canfs_server_reader_json(const struct canfs_server_reader *reader);

#endif
