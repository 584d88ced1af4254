// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "bench/disk/queue.h"
#include "common/clock.h"

struct request {
	struct canfs_command command; /* first: the device returns it, cast to the request */
	fuse_req_t fuse;
	char data[]; /* for a write */
};

void canfs_queue_add(struct canfs_disk_threads *q, fuse_req_t fuse, enum canfs_command_kind kind,
	uint64_t offset, size_t bytes, const char *data)
{
	size_t copied = data ? bytes : 0;
	struct request *r = malloc(sizeof(*r) + copied);
	double due;

	if (!r) {
		fuse_reply_err(fuse, ENOMEM);
		return;
	}
	r->command = (struct canfs_command) { .kind = kind, .offset = offset, .bytes = bytes };
	r->fuse = fuse;
	if (copied)
		memcpy(r->data, data, copied);
	pthread_mutex_lock(&q->lock);
	due = canfs_device_due_usec(&q->device);
	r->command.arrival_usec = canfs_clock_now_usec(&q->clock);
	canfs_device_add(&q->device, &r->command);
	/* wake the thread only if this command is due before the one that it waits for */
	if (canfs_device_due_usec(&q->device) < due)
		pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

/* Called with medium_lock held. Returns 0 or -errno. For a read, sets *data. */
static int execute(struct canfs_disk_threads *q, const struct request *r, const char **data)
{
	const struct canfs_command *c = &r->command;

	if (q->is_off || canfs_faults_hit(&q->faults, c)) {
		q->errors++;
		return -EIO;
	}
	switch (c->kind) {
	case CANFS_COMMAND_READ:
		*data = canfs_store_read(&q->store, c->offset);
		return 0;
	case CANFS_COMMAND_WRITE:
		return canfs_volatile_write(
			&q->written, &q->store, c->offset, r->data, c->bytes, c->due_usec);
	case CANFS_COMMAND_FLUSH:
		break;
	}
	canfs_volatile_flush(&q->written, c->arrival_usec);
	return 0;
}

static void answer(struct canfs_disk_threads *q, struct canfs_command *c)
{
	struct request *r = (struct request *)c;
	const char *data = NULL;
	int ret;

	pthread_mutex_lock(&q->medium_lock);
	ret = execute(q, r, &data);
	if (ret)
		fuse_reply_err(r->fuse, -ret);
	else if (c->kind == CANFS_COMMAND_READ)
		fuse_reply_buf(r->fuse, data, c->bytes);
	else if (c->kind == CANFS_COMMAND_WRITE)
		fuse_reply_write(r->fuse, c->bytes);
	else
		fuse_reply_err(r->fuse, 0);
	pthread_mutex_unlock(&q->medium_lock);
	free(r);
}

void canfs_queue_power_cut(struct canfs_disk_threads *q, uint32_t seed)
{
	pthread_mutex_lock(&q->medium_lock);
	q->is_off = true;
	q->cut = canfs_volatile_cut(&q->written, &q->store, seed);
	pthread_mutex_unlock(&q->medium_lock);
	canfs_device_drop_buffers(&q->device);
}

int canfs_queue_power_recut(struct canfs_disk_threads *q, uint32_t seed)
{
	int ret;

	pthread_mutex_lock(&q->medium_lock);
	ret = canfs_volatile_recut(&q->written, &q->store, seed, &q->cut);
	if (ret == 0)
		q->is_off = true;
	pthread_mutex_unlock(&q->medium_lock);
	if (ret == 0)
		canfs_device_drop_buffers(&q->device);
	return ret;
}

void canfs_queue_power_on(struct canfs_disk_threads *q)
{
	pthread_mutex_lock(&q->medium_lock);
	q->is_off = false;
	pthread_mutex_unlock(&q->medium_lock);
}

static void note_lateness(struct canfs_disk_threads *q, const struct canfs_command *c)
{
	double late = canfs_clock_late_usec(&q->clock, c->due_usec);

	q->late.commands++;
	q->late.sum_usec += late;
	q->late.max_usec = fmax(q->late.max_usec, late);
}

/* Called with lock held. Takes all completed commands, in order of completion. */
static struct canfs_command *take_done(struct canfs_disk_threads *q)
{
	struct canfs_command *done = NULL, **last = &done, *c;
	double now = canfs_clock_now_usec(&q->clock);

	while ((c = canfs_device_take(&q->device, now))) {
		if (q->device.mode != CANFS_DISK_FREE)
			note_lateness(q, c);
		c->next = NULL;
		*last = c;
		last = &c->next;
	}
	return done;
}

/* Called with lock held. Waits until the next command is due, or until a change is signalled. */
static void wait_due(struct canfs_disk_threads *q)
{
	double due = canfs_device_due_usec(&q->device);
	struct timespec until;

	if (due == INFINITY) {
		pthread_cond_wait(&q->changed, &q->lock);
		return;
	}
	until = canfs_clock_deadline(&q->clock, due);
	pthread_cond_timedwait(&q->changed, &q->lock, &until);
}

static void *work(void *argument)
{
	struct canfs_disk_threads *q = argument;

	/*
	 * Minimal timer slack, but no real-time priority: a bug in a spinning real-time thread
	 * would freeze the machine. The model compensates for late wake-ups anyway.
	 */
	prctl(PR_SET_TIMERSLACK, 1);
	pthread_mutex_lock(&q->lock);
	while (!q->stop || q->device.outstanding > 0) {
		struct canfs_command *done = take_done(q), *next;

		if (!done) {
			wait_due(q);
			continue;
		}
		pthread_mutex_unlock(&q->lock);
		for (; done; done = next) {
			next = done->next;
			answer(q, done);
		}
		pthread_mutex_lock(&q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

int canfs_queue_start(struct canfs_disk_threads *q, uint64_t capacity_bytes)
{
	int ret;

	memset(q, 0, sizeof(*q));
	ret = canfs_store_init(&q->store, capacity_bytes);
	if (ret)
		return ret;
	canfs_device_init(&q->device, capacity_bytes);
	canfs_clock_init(&q->clock);
	canfs_volatile_init(&q->written);
	pthread_mutex_init(&q->lock, NULL);
	pthread_mutex_init(&q->medium_lock, NULL);
	canfs_steady_cond_init(&q->changed);
	ret = pthread_create(&q->thread, NULL, work, q);
	if (ret)
		canfs_store_fini(&q->store);
	return -ret;
}

void canfs_queue_stop(struct canfs_disk_threads *q)
{
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	canfs_device_set_mode(&q->device, CANFS_DISK_FREE);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	canfs_volatile_fini(&q->written);
	canfs_store_fini(&q->store);
}
