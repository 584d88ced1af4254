/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "bench/disk/queue.h"

void canfs_queue_add(struct canfs_queue *q, fuse_req_t fuse, enum canfs_request_kind kind,
	uint64_t offset, size_t bytes, const char *data)
{
	size_t copied = data ? bytes : 0;
	struct canfs_request *r = malloc(sizeof(*r) + copied);

	if (!r) {
		fuse_reply_err(fuse, ENOMEM);
		return;
	}
	*r = (struct canfs_request) {
		.fuse = fuse, .kind = kind, .offset = offset, .bytes = bytes
	};
	if (copied)
		memcpy(r->data, data, copied);
	pthread_mutex_lock(&q->lock);
	r->arrival_usec = canfs_clock_now_usec(&q->clock);
	*q->tail = r;
	q->tail = &r->next;
	q->depth++;
	if (q->depth > q->stats.depth_max)
		q->stats.depth_max = q->depth;
	pthread_cond_signal(&q->arrived);
	pthread_mutex_unlock(&q->lock);
}

/* Called with the lock. NULL: stop, and nothing is left. */
static struct canfs_request *next_request(struct canfs_queue *q)
{
	struct canfs_request *r;

	while (!q->head && !q->stop)
		pthread_cond_wait(&q->arrived, &q->lock);
	r = q->head;
	if (!r)
		return NULL;
	q->head = r->next;
	if (!q->head)
		q->tail = &q->head;
	q->stats.depth_sum += q->depth--;
	q->stats.requests[r->kind]++;
	q->stats.bytes[r->kind] += r->bytes;
	return r;
}

static double serve(struct canfs_drive *drive, const struct canfs_request *r)
{
	switch (r->kind) {
	case CANFS_REQUEST_READ:
		return canfs_drive_read(drive, r->offset, r->bytes, r->arrival_usec);
	case CANFS_REQUEST_WRITE:
		return canfs_drive_write(drive, r->offset, r->bytes, r->arrival_usec);
	case CANFS_REQUEST_FLUSH:
		break;
	}
	return canfs_drive_flush(drive, r->arrival_usec);
}

static void answer(struct canfs_queue *q, struct canfs_request *r)
{
	switch (r->kind) {
	case CANFS_REQUEST_READ:
		fuse_reply_buf(r->fuse, canfs_store_read(&q->store, r->offset), r->bytes);
		break;
	case CANFS_REQUEST_WRITE:
		canfs_store_write(&q->store, r->offset, r->data, r->bytes);
		fuse_reply_write(r->fuse, r->bytes);
		break;
	case CANFS_REQUEST_FLUSH:
		fuse_reply_err(r->fuse, 0);
		break;
	}
	free(r);
}

static void *work(void *argument)
{
	struct canfs_queue *q = argument;
	struct canfs_request *r;

	/* Sleep exactly. No real-time priority: a mistake in a spinning real-time thread would freeze
	 * the machine, and the model makes up for late wake-ups anyway. */
	prctl(PR_SET_TIMERSLACK, 1);
	pthread_mutex_lock(&q->lock);
	while ((r = next_request(q))) {
		if (q->mode == CANFS_DISK_HDD) {
			double done = serve(&q->drive, r), late;
			struct canfs_clock clock = q->clock;

			pthread_mutex_unlock(&q->lock);
			late = canfs_clock_sleep_until(&clock, done);
			answer(q, r);
			pthread_mutex_lock(&q->lock);
			q->stats.late_sum_usec += late;
			if (late > q->stats.late_max_usec)
				q->stats.late_max_usec = late;
		} else {
			pthread_mutex_unlock(&q->lock);
			answer(q, r);
			pthread_mutex_lock(&q->lock);
		}
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

int canfs_queue_start(struct canfs_queue *q, uint64_t capacity_bytes)
{
	int err;

	memset(q, 0, sizeof(*q));
	q->tail = &q->head;
	err = canfs_store_init(&q->store, capacity_bytes);
	if (err)
		return err;
	canfs_drive_init(&q->drive, capacity_bytes);
	canfs_clock_init(&q->clock);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->arrived, NULL);
	err = pthread_create(&q->thread, NULL, work, q);
	if (err)
		canfs_store_fini(&q->store);
	return -err;
}

void canfs_queue_stop(struct canfs_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	q->mode = CANFS_DISK_FREE;
	pthread_cond_signal(&q->arrived);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	canfs_store_fini(&q->store);
}
