/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A few threads that run the jobs of a queue in order. A job may block on a disk or a lock. If all
 * threads are busy and another job has waited for CANFS_POOL_LATE_USEC, the number of threads
 * doubles. The new threads stay.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_WORKER_POOL_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_WORKER_POOL_H

#include <stdint.h>
#include <sys/queue.h>

#define CANFS_POOL_THREADS_MAX 256 /* about as many as Ganesha has workers */
#define CANFS_POOL_LATE_USEC   100000

struct canfs_job {
	void (*run)(struct canfs_job *job); /* may free the job */
	STAILQ_ENTRY(canfs_job) next;       /* private to the pool, or to the throttle */
	uint64_t queued_usec;
	uint64_t bytes; /* of a READ that is held: throttle.h */
};

struct canfs_worker_pool;

/*
 * Starts `threads` threads. The pool grows to `most` threads: 1 <= threads <= most <=
 * CANFS_POOL_THREADS_MAX. thread_begins (or NULL) is called first in each thread, with name.
 * Returns 0, -EINVAL, or another -errno.
 */
int canfs_worker_pool_new(struct canfs_worker_pool **pool, unsigned int threads, unsigned int most,
	const char *name, void (*thread_begins)(const char *name));

/* Returns when all submitted jobs have run. No thread may submit any more. NULL allowed. */
void canfs_worker_pool_free(struct canfs_worker_pool *pool);

/* Never waits for a job. */
void canfs_worker_pool_submit(struct canfs_worker_pool *pool, struct canfs_job *job);

/* Grows the pool if a job is late, as submit() does. Needed when no more jobs are submitted. */
void canfs_worker_pool_tick(struct canfs_worker_pool *pool, uint64_t now_usec);

#endif
