// SPDX-License-Identifier: LGPL-3.0-or-later
#include "priced/exports_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/clock.h"
#include "common/thread.h"

#define STOP_MSEC 2000

struct canfs_exports_thread {
	struct canfs_export_list *list;
	canfs_say *say;
	int last_error; /* last logged; 0: the lists can be read. Used only by the thread */
	pthread_t thread;
	pthread_mutex_t mutex; /* protects the members below */
	pthread_cond_t wake;
	bool hurry, stop, ended;
};

static void say_error(struct canfs_exports_thread *thread, int error)
{
	char message[128];

	if (error == thread->last_error)
		return;
	thread->last_error = error;
	if (error == 0)
		snprintf(message, sizeof(message), "the exports can be read again");
	else
		snprintf(message, sizeof(message),
			"the exports cannot be read (%s): keeping the old ones", strerror(-error));
	thread->say(message);
}

static void refresh(struct canfs_exports_thread *thread)
{
	int ret = canfs_export_list_refresh(thread->list);

	say_error(thread, ret < 0 ? ret : 0);
}

static void tell(struct canfs_exports_thread *thread, bool *what)
{
	pthread_mutex_lock(&thread->mutex);
	*what = true;
	pthread_cond_signal(&thread->wake);
	pthread_mutex_unlock(&thread->mutex);
}

/* Returns false if the thread must stop. */
static bool wait_for_next(struct canfs_exports_thread *thread)
{
	struct timespec until = canfs_in_msec(CANFS_EXPORTS_POLL_MSEC);
	bool stop;

	pthread_mutex_lock(&thread->mutex);
	while (!thread->stop && !thread->hurry &&
		pthread_cond_timedwait(&thread->wake, &thread->mutex, &until) != ETIMEDOUT)
		continue;
	thread->hurry = false;
	stop = thread->stop;
	pthread_mutex_unlock(&thread->mutex);
	return !stop;
}

static void *run(void *arg)
{
	struct canfs_exports_thread *thread = arg;

	pthread_setname_np(pthread_self(), "canfs_exports");
	do
		refresh(thread);
	while (wait_for_next(thread));
	tell(thread, &thread->ended);
	return NULL;
}

static void free_thread(struct canfs_exports_thread *thread)
{
	pthread_cond_destroy(&thread->wake);
	pthread_mutex_destroy(&thread->mutex);
	free(thread);
}

int canfs_exports_thread_start(
	struct canfs_exports_thread **thread, struct canfs_export_list *list, canfs_say *say)
{
	struct canfs_exports_thread *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return -ENOMEM;
	new->list = list;
	new->say = say;
	pthread_mutex_init(&new->mutex, NULL);
	canfs_steady_cond_init(&new->wake);
	ret = canfs_thread_start(&new->thread, 0, run, new);
	if (ret != 0) {
		free_thread(new);
		return ret;
	}
	*thread = new;
	return 0;
}

void canfs_exports_thread_hurry(struct canfs_exports_thread *thread)
{
	tell(thread, &thread->hurry);
}

/*
 * Both threads use one condition variable, but only one waits at a time: the exports thread does
 * not wait any more after it was told to stop.
 */
static bool wait_for_end(struct canfs_exports_thread *thread)
{
	struct timespec until = canfs_in_msec(STOP_MSEC);
	bool ended;

	pthread_mutex_lock(&thread->mutex);
	while (!thread->ended &&
		pthread_cond_timedwait(&thread->wake, &thread->mutex, &until) != ETIMEDOUT)
		continue;
	ended = thread->ended;
	pthread_mutex_unlock(&thread->mutex);
	return ended;
}

bool canfs_exports_thread_stop(struct canfs_exports_thread *thread)
{
	if (!thread)
		return true;
	tell(thread, &thread->stop);
	if (!wait_for_end(thread))
		return false;
	pthread_join(thread->thread, NULL);
	free_thread(thread);
	return true;
}
