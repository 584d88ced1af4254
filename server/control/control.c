// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/control/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "server/control/request.h"
#include "common/clock.h"
#include "common/control/server.h"
#include "common/thread.h"

#define TICK_USEC 1000000

struct canfs_control {
	int wake; /* eventfd, signalled to stop the thread */
	void (*thread_begins)(void);
	pthread_t thread;

	/* Used by the thread only. */
	struct canfs_control_server server;
	struct canfs_control_subject subject;
	struct canfs_control_counters counters;
	uint64_t ticked_usec;
};

/* Does its work once a second, also while connections are busy. */
static void tick(struct canfs_control *control)
{
	uint64_t now_usec = canfs_now_usec();

	if (now_usec - control->ticked_usec < TICK_USEC)
		return;
	if (control->subject.clients)
		canfs_clients_tick(
			control->subject.clients, (double)(now_usec - control->ticked_usec) / 1e6);
	control->ticked_usec = now_usec;
	canfs_control_server_tick(&control->server, now_usec);
}

enum { WAKE, SERVER };

static void wait_for_something(struct canfs_control *control, struct pollfd *polled)
{
	uint64_t passed_usec = canfs_now_usec() - control->ticked_usec;
	int timeout_msec = 0;
	size_t count;

	if (passed_usec < TICK_USEC)
		timeout_msec = (int)((TICK_USEC - passed_usec) / 1000) + 1;
	polled[WAKE] = (struct pollfd) { .fd = control->wake, .events = POLLIN };
	count = SERVER + canfs_control_server_poll(&control->server, polled + SERVER);
	if (poll(polled, count, timeout_msec) <= 0) {
		for (size_t i = 0; i < count; i++)
			polled[i].revents = 0;
	}
}

static void *run(void *arg)
{
	struct canfs_control *control = arg;
	struct pollfd polled[SERVER + CANFS_CONTROL_POLLED];

	if (control->thread_begins)
		control->thread_begins();
	for (;;) {
		wait_for_something(control, polled);
		if (polled[WAKE].revents != 0)
			break;
		canfs_control_server_serve(
			&control->server, polled + SERVER, canfs_control_time_now());
		tick(control);
	}
	return NULL;
}

static void free_control(struct canfs_control *control)
{
	if (control->wake >= 0)
		close(control->wake);
	free(control);
}

int canfs_control_start(struct canfs_control **control, const struct canfs_control_config *config)
{
	struct canfs_control *new = calloc(1, sizeof(*new));
	struct canfs_control_service service;
	int ret;

	if (!new)
		return -ENOMEM;
	new->thread_begins = config->thread_begins;
	new->ticked_usec = canfs_now_usec();
	new->subject = (struct canfs_control_subject) { .sampler = config->sampler,
		.clients = config->clients,
		.waiting = config->waiting,
		.classes = config->classes,
		.counters = &new->counters,
		.started_usec = new->ticked_usec,
		.say = config->say,
		.price_service = config->price_service,
		.more = config->more,
		.host = config->host,
		.count = config->count };
	new->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (new->wake < 0) {
		ret = -errno;
		goto out;
	}
	service = canfs_control_service(&new->subject);
	ret = canfs_control_server_open(&new->server, config->path, &service, config->idle_msec);
	if (ret != 0)
		goto out;
	ret = canfs_thread_start(&new->thread, 0, run, new);
	if (ret != 0) {
		canfs_control_server_close(&new->server);
		goto out;
	}
	*control = new;
	return 0;
out:
	free_control(new);
	return ret;
}

void canfs_control_stop(struct canfs_control *control)
{
	if (!control)
		return;
	eventfd_write(control->wake, 1);
	pthread_join(control->thread, NULL);
	canfs_control_server_close(&control->server);
	free_control(control);
}
