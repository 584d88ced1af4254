// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/worker_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include "common/clock.h"
#include "common/thread.h"

struct canfs_worker_pool {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	STAILQ_HEAD(, canfs_job) jobs;
	bool ends;
	unsigned int idle;   /* threads */
	uint64_t grown_usec; /* time of the last growth */
	const char *name;
	void (*thread_begins)(const char *name);
	unsigned int threads, most;
	pthread_t thread[CANFS_POOL_THREADS_MAX];
};

static void *run(void *arg)
{
	struct canfs_worker_pool *pool = arg;
	struct canfs_job *job;

	if (pool->thread_begins)
		pool->thread_begins(pool->name);
	pthread_mutex_lock(&pool->mutex);
	for (;;) {
		job = STAILQ_FIRST(&pool->jobs);
		if (!job && pool->ends)
			break;
		if (!job) {
			pool->idle++;
			pthread_cond_wait(&pool->wake, &pool->mutex);
			pool->idle--;
			continue;
		}
		STAILQ_REMOVE_HEAD(&pool->jobs, next);
		pthread_mutex_unlock(&pool->mutex);
		job->run(job);
		pthread_mutex_lock(&pool->mutex);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

/* Call with the mutex held, if there are other threads. */
static int start_threads(struct canfs_worker_pool *pool, unsigned int threads)
{
	int ret = 0;

	while (ret == 0 && pool->threads < threads && pool->threads < pool->most) {
		ret = canfs_thread_start(&pool->thread[pool->threads], 0, run, pool);
		pool->threads += ret == 0;
	}
	return ret;
}

int canfs_worker_pool_new(struct canfs_worker_pool **pool, unsigned int threads, unsigned int most,
	const char *name, void (*thread_begins)(const char *name))
{
	struct canfs_worker_pool *new;
	int ret;

	if (threads == 0 || threads > most || most > CANFS_POOL_THREADS_MAX)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	pthread_mutex_init(&new->mutex, NULL);
	pthread_cond_init(&new->wake, NULL);
	STAILQ_INIT(&new->jobs);
	new->name = name;
	new->most = most;
	new->thread_begins = thread_begins;
	ret = start_threads(new, threads);
	if (ret != 0) {
		canfs_worker_pool_free(new);
		return ret;
	}
	*pool = new;
	return 0;
}

void canfs_worker_pool_free(struct canfs_worker_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->mutex);
	pool->ends = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->mutex);
	for (unsigned int i = 0; i < pool->threads; i++)
		pthread_join(pool->thread[i], NULL);
	pthread_mutex_destroy(&pool->mutex);
	pthread_cond_destroy(&pool->wake);
	free(pool);
}

/* Call with the mutex held. If there is no memory for more threads, a later call tries again. */
static void grow_if_late(struct canfs_worker_pool *pool, uint64_t now_usec)
{
	const struct canfs_job *first = STAILQ_FIRST(&pool->jobs);

	if (!first || pool->idle > 0 || now_usec < first->queued_usec + CANFS_POOL_LATE_USEC ||
		now_usec < pool->grown_usec + CANFS_POOL_LATE_USEC)
		return;
	(void)start_threads(pool, 2 * pool->threads);
	pool->grown_usec = now_usec;
}

void canfs_worker_pool_submit(struct canfs_worker_pool *pool, struct canfs_job *job)
{
	job->queued_usec = canfs_now_usec();
	pthread_mutex_lock(&pool->mutex);
	STAILQ_INSERT_TAIL(&pool->jobs, job, next);
	grow_if_late(pool, job->queued_usec);
	pthread_cond_signal(&pool->wake);
	pthread_mutex_unlock(&pool->mutex);
}

void canfs_worker_pool_tick(struct canfs_worker_pool *pool, uint64_t now_usec)
{
	pthread_mutex_lock(&pool->mutex);
	grow_if_late(pool, now_usec);
	pthread_mutex_unlock(&pool->mutex);
}
