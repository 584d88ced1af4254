// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/prefetch/worker_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include "common/thread.h"

struct canfs_worker_pool {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	STAILQ_HEAD(, canfs_job) jobs;
	bool ends;
	const char *name;
	void (*thread_begins)(const char *name);
	unsigned int threads;
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
			pthread_cond_wait(&pool->wake, &pool->mutex);
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

int canfs_worker_pool_new(struct canfs_worker_pool **pool, unsigned int threads, const char *name,
	void (*thread_begins)(const char *name))
{
	struct canfs_worker_pool *new;
	int error = 0;

	if (threads == 0 || threads > CANFS_POOL_THREADS_MAX)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	pthread_mutex_init(&new->mutex, NULL);
	pthread_cond_init(&new->wake, NULL);
	STAILQ_INIT(&new->jobs);
	new->name = name;
	new->thread_begins = thread_begins;
	while (error == 0 && new->threads < threads) {
		error = canfs_thread_start(&new->thread[new->threads], 0, run, new);
		new->threads += error == 0;
	}
	if (error != 0) {
		canfs_worker_pool_free(new);
		return error;
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

void canfs_worker_pool_submit(struct canfs_worker_pool *pool, struct canfs_job *job)
{
	pthread_mutex_lock(&pool->mutex);
	STAILQ_INSERT_TAIL(&pool->jobs, job, next);
	pthread_cond_signal(&pool->wake);
	pthread_mutex_unlock(&pool->mutex);
}
