/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A few threads that do what comes to their queue, in its order. A job may wait, for a disk or for a lock: when all
 * threads do, more are started, and stay.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_WORKER_POOL_H
#define CANFS_GANESHA_FSAL_PREFETCH_WORKER_POOL_H

#include <sys/queue.h>

#define CANFS_POOL_THREADS_MAX 256 /* about as many as Ganesha has workers */

struct canfs_job {
	void (*run)(struct canfs_job *job); /* may free it */
	STAILQ_ENTRY(canfs_job) next;
};

struct canfs_worker_pool;

/*
 * threads: 1 ... CANFS_POOL_THREADS_MAX; thread_begins (or NULL) is called first in each, with name. 0, -EINVAL, or
 * -errno.
 */
int canfs_worker_pool_new(struct canfs_worker_pool **pool, unsigned int threads, const char *name,
	void (*thread_begins)(const char *name));

/* When all that was submitted has been done; nobody submits any more. NULL allowed. */
void canfs_worker_pool_free(struct canfs_worker_pool *pool);

/* Never waits for a job. */
void canfs_worker_pool_submit(struct canfs_worker_pool *pool, struct canfs_job *job);

/*
 * Called now and then, by one thread at a time: if jobs wait, and none was begun since the call before, there are twice
 * as many threads.
 */
void canfs_worker_pool_tick(struct canfs_worker_pool *pool);

#endif
