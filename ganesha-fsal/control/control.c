// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/control/control.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "ganesha-fsal/control/connection.h"
#include "ganesha-fsal/control/socket.h"
#include "protocol/clock.h"

#define TICK_USEC 1000000

struct canfs_control {
	struct canfs_socket listener;
	int wake; /* eventfd: something came of it: stop */
	uint64_t idle_usec;
	void (*thread_begins)(void);
	pthread_t thread;

	/* The thread's own. */
	struct canfs_control_subject subject;
	struct canfs_control_counters counters;
	uint64_t ticked_usec;
	bool full; /* no descriptor for another connection: asked again after the next tick */
	size_t count;
	struct canfs_connection *connections[CANFS_CONTROL_CONNECTIONS];
};

static struct canfs_control_time time_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (struct canfs_control_time) { .monotonic_usec = canfs_now_usec(),
		.unix_sec = (double)now.tv_sec + (double)(now.tv_nsec / 1000000) / 1e3 };
}

/* One line, if the peer's buffer takes it: nothing is waited for. */
static void refuse(struct canfs_control *control, int fd)
{
	char *reply = canfs_control_refusal("too many connections; try again");

	if (reply != NULL)
		(void)!send(fd, reply, strlen(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
	free(reply);
	close(fd);
	control->counters.connections_refused++;
}

static void accept_one(struct canfs_control *control)
{
	struct canfs_connection *connection;
	int fd = accept4(control->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		/* It stays ready: without a pause the loop would spin. */
		control->full = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
		return;
	}
	control->counters.connections++;
	if (control->count == CANFS_CONTROL_CONNECTIONS) {
		refuse(control, fd);
		return;
	}
	connection = malloc(sizeof(*connection));
	if (connection == NULL) {
		close(fd);
		return;
	}
	canfs_connection_open(connection, fd, canfs_now_usec());
	control->connections[control->count++] = connection;
}

static void drop(struct canfs_control *control, size_t i)
{
	canfs_connection_close(control->connections[i]);
	free(control->connections[i]);
	control->connections[i] = control->connections[--control->count];
}

/* Once a second, whatever else happens. */
static void tick(struct canfs_control *control)
{
	uint64_t now_usec = canfs_now_usec();

	if (now_usec - control->ticked_usec < TICK_USEC)
		return;
	canfs_clients_tick(
		control->subject.clients, (double)(now_usec - control->ticked_usec) / 1e6);
	control->ticked_usec = now_usec;
	control->full = false;
	for (size_t i = control->count; i-- > 0;) {
		if (now_usec - control->connections[i]->moved_usec > control->idle_usec) {
			drop(control, i);
			control->counters.connections_dropped++;
		}
	}
}

enum { WAKE, LISTENER, FIRST };

static void wait_for_something(struct canfs_control *control, struct pollfd *polled)
{
	uint64_t passed_usec = canfs_now_usec() - control->ticked_usec;
	int timeout_msec = 0;

	if (passed_usec < TICK_USEC)
		timeout_msec = (int)((TICK_USEC - passed_usec) / 1000) + 1;
	polled[WAKE] = (struct pollfd) { .fd = control->wake, .events = POLLIN };
	polled[LISTENER] = (struct pollfd) { .fd = control->full ? -1 : control->listener.fd,
		.events = POLLIN };
	for (size_t i = 0; i < control->count; i++)
		polled[FIRST + i] = (struct pollfd) { .fd = control->connections[i]->fd,
			.events = canfs_connection_events(control->connections[i]) };
	if (poll(polled, FIRST + control->count, timeout_msec) <= 0) {
		for (size_t i = 0; i < FIRST + control->count; i++)
			polled[i].revents = 0;
	}
}

static void *run(void *arg)
{
	struct canfs_control *control = arg;
	struct pollfd polled[FIRST + CANFS_CONTROL_CONNECTIONS];

	if (control->thread_begins != NULL)
		control->thread_begins();
	for (;;) {
		wait_for_something(control, polled);
		if (polled[WAKE].revents != 0)
			break;
		/* Backwards, as the last one takes the place of one that is dropped. */
		for (size_t i = control->count; i-- > 0;) {
			if (polled[FIRST + i].revents != 0 &&
				!canfs_connection_serve(
					control->connections[i], &control->subject, time_now()))
				drop(control, i);
		}
		if (polled[LISTENER].revents != 0)
			accept_one(control);
		tick(control);
	}
	return NULL;
}

static void free_control(struct canfs_control *control)
{
	while (control->count != 0)
		drop(control, control->count - 1);
	if (control->wake >= 0)
		close(control->wake);
	free(control);
}

static int start_thread(struct canfs_control *control)
{
	sigset_t all, before;
	int error;

	/* The server's signals are for the server's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&control->thread, NULL, run, control);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

int canfs_control_start(struct canfs_control **control, const struct canfs_control_config *config)
{
	struct canfs_control *new = calloc(1, sizeof(*new));
	int error;

	if (new == NULL)
		return -ENOMEM;
	new->idle_usec = UINT64_C(1000) *
			 (config->idle_msec != 0 ? config->idle_msec : CANFS_CONTROL_IDLE_MSEC);
	new->thread_begins = config->thread_begins;
	new->ticked_usec = canfs_now_usec();
	new->subject = (struct canfs_control_subject) { .exchange = config->exchange,
		.clients = config->clients,
		.counters = &new->counters,
		.say = config->say };
	new->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (new->wake < 0) {
		error = -errno;
		goto out;
	}
	error = canfs_socket_open(&new->listener, config->path);
	if (error != 0)
		goto out;
	error = start_thread(new);
	if (error != 0) {
		canfs_socket_close(&new->listener);
		goto out;
	}
	*control = new;
	return 0;
out:
	free_control(new);
	return error;
}

void canfs_control_stop(struct canfs_control *control)
{
	if (control == NULL)
		return;
	eventfd_write(control->wake, 1);
	pthread_join(control->thread, NULL);
	canfs_socket_close(&control->listener);
	free_control(control);
}
