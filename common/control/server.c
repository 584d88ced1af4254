// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/control/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "common/clock.h"

enum { LISTENER, FIRST };

struct canfs_control_time canfs_control_time_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	const int64_t unix_msec = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
	return (struct canfs_control_time) { .monotonic_usec = canfs_now_usec(),
		.unix_sec = (double)unix_msec / 1e3 };
}

int canfs_control_server_open(struct canfs_control_server *server, const char *path,
	const struct canfs_control_service *service, unsigned int idle_msec)
{
	*server = (struct canfs_control_server) { .service = *service,
		.idle_usec =
			UINT64_C(1000) * (idle_msec != 0 ? idle_msec : CANFS_CONTROL_IDLE_MSEC) };
	return canfs_socket_open(&server->listener, path);
}

/* Sends one line if the peer's buffer has space. Does not block. */
static void refuse(struct canfs_control_server *server, int fd)
{
	char *reply = canfs_control_refusal("too many connections; try again");

	if (reply)
		(void)!send(fd, reply, strlen(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
	free(reply);
	close(fd);
	server->service.counters->connections_refused++;
}

static void accept_one(struct canfs_control_server *server, uint64_t now_usec)
{
	struct canfs_connection *connection;
	int fd = accept4(server->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		/* The listener stays ready. Without a pause the loop would spin. */
		server->full = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
		return;
	}
	if (server->count == CANFS_CONTROL_CONNECTIONS) {
		refuse(server, fd);
		return;
	}
	connection = malloc(sizeof(*connection));
	if (!connection) {
		close(fd);
		return;
	}
	canfs_connection_open(connection, fd, now_usec);
	server->connections[server->count++] = connection;
}

static void drop(struct canfs_control_server *server, size_t i)
{
	canfs_connection_close(server->connections[i]);
	free(server->connections[i]);
	server->connections[i] = server->connections[--server->count];
}

void canfs_control_server_close(struct canfs_control_server *server)
{
	canfs_socket_close(&server->listener);
	while (server->count != 0)
		drop(server, server->count - 1);
}

size_t canfs_control_server_poll(
	const struct canfs_control_server *server, struct pollfd polled[CANFS_CONTROL_POLLED])
{
	polled[LISTENER] =
		(struct pollfd) { .fd = server->full ? -1 : server->listener.fd, .events = POLLIN };
	for (size_t i = 0; i < server->count; i++)
		polled[FIRST + i] = (struct pollfd) { .fd = server->connections[i]->fd,
			.events = canfs_connection_events(server->connections[i]) };
	return FIRST + server->count;
}

void canfs_control_server_serve(struct canfs_control_server *server, const struct pollfd *polled,
	struct canfs_control_time now)
{
	/* Backwards, because the last connection takes the place of a dropped one. */
	for (size_t i = server->count; i-- > 0;) {
		if (polled[FIRST + i].revents != 0 &&
			!canfs_connection_serve(server->connections[i], &server->service, now))
			drop(server, i);
	}
	if (polled[LISTENER].revents != 0)
		accept_one(server, now.monotonic_usec);
}

void canfs_control_server_tick(struct canfs_control_server *server, uint64_t now_usec)
{
	server->full = false;
	for (size_t i = server->count; i-- > 0;) {
		if (now_usec - server->connections[i]->moved_usec > server->idle_usec)
			drop(server, i);
	}
}
