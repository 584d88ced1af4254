/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A few threads that do what comes to their queue, in its order. A job may wait, for a disk or for a lock: if all
 * threads do, and another job has waited for CANFS_POOL_LATE_USEC, there are twice as many, which stay.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_WORKER_POOL_H
#define CANFS_GANESHA_FSAL_PREFETCH_WORKER_POOL_H

#include <stdint.h>
#include <sys/queue.h>

#define CANFS_POOL_THREADS_MAX 256 /* about as many as Ganesha has workers */
#define CANFS_POOL_LATE_USEC   100000

struct canfs_job {
	void (*run)(struct canfs_job *job); /* may free it */
	STAILQ_ENTRY(canfs_job) next;       /* the pool's, as what follows */
	uint64_t queued_usec;
};

struct canfs_worker_pool;

/*
 * threads at first, and at most `most`: 1 <= threads <= most <= CANFS_POOL_THREADS_MAX; thread_begins (or NULL) is
 * called first in each, with name. 0, -EINVAL, or -errno.
 */
int canfs_worker_pool_new(struct canfs_worker_pool **pool, unsigned int threads, unsigned int most,
	const char *name, void (*thread_begins)(const char *name));

/* When all that was submitted has been done; nobody submits any more. NULL allowed. */
void canfs_worker_pool_free(struct canfs_worker_pool *pool);

/* Never waits for a job. */
void canfs_worker_pool_submit(struct canfs_worker_pool *pool, struct canfs_job *job);

/* Grows the pool if a job is late, as submit() does: for when nothing is submitted any more. */
void canfs_worker_pool_tick(struct canfs_worker_pool *pool, uint64_t now_usec);

#endif
