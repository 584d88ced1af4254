// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/control/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void canfs_connection_open(struct canfs_connection *connection, int fd, uint64_t now_usec)
{
	connection->fd = fd;
	connection->moved_usec = now_usec;
	connection->ended = false;
	connection->got = 0;
	connection->reply = NULL;
}

void canfs_connection_close(struct canfs_connection *connection)
{
	close(connection->fd);
	free(connection->reply);
}

static bool has_request(const struct canfs_connection *connection)
{
	return connection->got != 0 &&
	       (connection->ended || connection->got == sizeof(connection->request) ||
		       memchr(connection->request, '\n', connection->got));
}

/*
 * Reads nothing while a reply is in flight, so that a client that does not read its replies cannot
 * send more requests.
 */
short canfs_connection_events(const struct canfs_connection *connection)
{
	return connection->reply || has_request(connection) ? POLLOUT : POLLIN;
}

/* Returns false if the peer is gone. */
static bool receive(struct canfs_connection *connection, uint64_t now_usec)
{
	ssize_t got;

	if (connection->ended || connection->got == sizeof(connection->request))
		return true;
	got = recv(connection->fd, connection->request + connection->got,
		sizeof(connection->request) - connection->got, 0);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	connection->ended = got == 0;
	connection->got += (size_t)got;
	connection->moved_usec = now_usec;
	return true;
}

static bool send_reply(struct canfs_connection *connection, uint64_t now_usec)
{
	ssize_t sent = send(connection->fd, connection->reply + connection->sent,
		connection->reply_length - connection->sent, MSG_NOSIGNAL);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	connection->sent += (size_t)sent;
	connection->moved_usec = now_usec;
	if (connection->sent == connection->reply_length) {
		free(connection->reply);
		connection->reply = NULL;
	}
	return true;
}

/* Removes the first used bytes from the request buffer, including the newline. */
static void consume(struct canfs_connection *connection, size_t used)
{
	connection->got -= used;
	memmove(connection->request, connection->request + used, connection->got);
}

/* Returns the reply to the next request, which is complete. The last one may lack its newline. */
static char *next_reply(struct canfs_connection *connection,
	const struct canfs_control_service *service, struct canfs_control_time now)
{
	char *end = memchr(connection->request, '\n', connection->got);
	size_t length = end ? (size_t)(end - connection->request) : connection->got;
	char *reply;

	if (!end && connection->got == sizeof(connection->request)) {
		/* The start of the next request is unknown. */
		connection->ended = true;
		connection->got = 0;
		service->counters->requests++;
		service->counters->requests_bad++;
		return canfs_control_refusal(
			"the request is too long; at most 4096 bytes are allowed");
	}
	reply = canfs_control_respond(service, connection->request, length, now);
	consume(connection, end ? length + 1 : length);
	return reply;
}

bool canfs_connection_serve(struct canfs_connection *connection,
	const struct canfs_control_service *service, struct canfs_control_time now)
{
	if (!connection->reply && !receive(connection, now.monotonic_usec))
		return false;
	if (!connection->reply && has_request(connection)) {
		connection->reply = next_reply(connection, service, now);
		if (!connection->reply)
			return false;
		connection->reply_length = strlen(connection->reply);
		connection->sent = 0;
	}
	if (connection->reply && !send_reply(connection, now.monotonic_usec))
		return false;
	return connection->reply || has_request(connection) || !connection->ended;
}
