// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/prefetch/crew.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

struct canfs_crew {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	STAILQ_HEAD(, canfs_job) jobs;
	bool ends;
	const char *name;
	void (*thread_begins)(const char *name);
	unsigned int threads;
	pthread_t thread[CANFS_CREW_THREADS_MAX];
};

static void *run(void *arg)
{
	struct canfs_crew *crew = arg;
	struct canfs_job *job;

	if (crew->thread_begins != NULL)
		crew->thread_begins(crew->name);
	pthread_mutex_lock(&crew->mutex);
	for (;;) {
		job = STAILQ_FIRST(&crew->jobs);
		if (job == NULL && crew->ends)
			break;
		if (job == NULL) {
			pthread_cond_wait(&crew->wake, &crew->mutex);
			continue;
		}
		STAILQ_REMOVE_HEAD(&crew->jobs, next);
		pthread_mutex_unlock(&crew->mutex);
		job->run(job);
		pthread_mutex_lock(&crew->mutex);
	}
	pthread_mutex_unlock(&crew->mutex);
	return NULL;
}

int canfs_crew_new(struct canfs_crew **crew, unsigned int threads, const char *name,
	void (*thread_begins)(const char *name))
{
	struct canfs_crew *new;
	sigset_t all, before;
	int error = 0;

	if (threads == 0 || threads > CANFS_CREW_THREADS_MAX)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (new == NULL)
		return -ENOMEM;
	pthread_mutex_init(&new->mutex, NULL);
	pthread_cond_init(&new->wake, NULL);
	STAILQ_INIT(&new->jobs);
	new->name = name;
	new->thread_begins = thread_begins;
	/* The server's signals are for the server's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (error == 0 && new->threads < threads) {
		error = pthread_create(&new->thread[new->threads], NULL, run, new);
		if (error == 0)
			new->threads++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0) {
		canfs_crew_free(new);
		return -error;
	}
	*crew = new;
	return 0;
}

void canfs_crew_free(struct canfs_crew *crew)
{
	if (crew == NULL)
		return;
	pthread_mutex_lock(&crew->mutex);
	crew->ends = true;
	pthread_cond_broadcast(&crew->wake);
	pthread_mutex_unlock(&crew->mutex);
	for (unsigned int i = 0; i < crew->threads; i++)
		pthread_join(crew->thread[i], NULL);
	pthread_mutex_destroy(&crew->mutex);
	pthread_cond_destroy(&crew->wake);
	free(crew);
}

void canfs_crew_submit(struct canfs_crew *crew, struct canfs_job *job)
{
	pthread_mutex_lock(&crew->mutex);
	STAILQ_INSERT_TAIL(&crew->jobs, job, next);
	pthread_cond_signal(&crew->wake);
	pthread_mutex_unlock(&crew->mutex);
}
