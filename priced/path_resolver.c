// SPDX-License-Identifier: LGPL-3.0-or-later
#include "priced/path_resolver.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/clock.h"
#include "common/thread.h"
#include "server/price-service/export_path.h"
#include "server/monitors/source.h"

#define MOUNTINFO_BYTES (1 << 20) /* text beyond this is ignored; unused pages take no memory */
#define STOP_MSEC       2000

struct canfs_path_resolver {
	const char *fs_root;
	char *mountinfo; /* used by the thread only */
	pthread_t thread;
	pthread_mutex_t mutex; /* protects the members below */
	pthread_cond_t wake;
	enum { IDLE, ASKED, ANSWERED, ENDED } state;
	bool stop;
	char nfs_root[PATH_MAX], name[PATH_MAX], resolved[PATH_MAX];
	int ret;
};

static int resolve(struct canfs_path_resolver *resolver, const char *nfs_root, const char *name,
	char resolved[PATH_MAX])
{
	if (canfs_read_source(resolver->fs_root, "/proc/self/mountinfo", resolver->mountinfo,
		    MOUNTINFO_BYTES) < 0)
		return -EIO;
	return canfs_export_path_resolve(
		resolver->fs_root, resolver->mountinfo, nfs_root, name, resolved);
}

/* Releases the mutex while it resolves. */
static void answer(struct canfs_path_resolver *resolver)
{
	char nfs_root[PATH_MAX], name[PATH_MAX], resolved[PATH_MAX] = "";
	int ret;

	strcpy(nfs_root, resolver->nfs_root);
	strcpy(name, resolver->name);
	pthread_mutex_unlock(&resolver->mutex);
	ret = resolve(resolver, nfs_root, name, resolved);
	pthread_mutex_lock(&resolver->mutex);
	resolver->ret = ret;
	strcpy(resolver->resolved, resolved);
	resolver->state = ANSWERED;
}

static void *run(void *arg)
{
	struct canfs_path_resolver *resolver = arg;

	pthread_setname_np(pthread_self(), "canfs_paths");
	pthread_mutex_lock(&resolver->mutex);
	while (!resolver->stop) {
		if (resolver->state == ASKED) {
			answer(resolver);
			pthread_cond_broadcast(&resolver->wake);
		} else {
			pthread_cond_wait(&resolver->wake, &resolver->mutex);
		}
	}
	resolver->state = ENDED;
	pthread_cond_broadcast(&resolver->wake);
	pthread_mutex_unlock(&resolver->mutex);
	return NULL;
}

static void free_resolver(struct canfs_path_resolver *resolver)
{
	pthread_cond_destroy(&resolver->wake);
	pthread_mutex_destroy(&resolver->mutex);
	free(resolver->mountinfo);
	free(resolver);
}

int canfs_path_resolver_start(struct canfs_path_resolver **resolver, const char *fs_root)
{
	struct canfs_path_resolver *new = calloc(1, sizeof(*new));
	int ret = -ENOMEM;

	if (!new)
		return -ENOMEM;
	new->fs_root = fs_root;
	pthread_mutex_init(&new->mutex, NULL);
	canfs_steady_cond_init(&new->wake);
	new->mountinfo = calloc(1, MOUNTINFO_BYTES);
	if (new->mountinfo)
		ret = canfs_thread_start(&new->thread, 0, run, new);
	if (ret != 0) {
		free_resolver(new);
		return ret;
	}
	*resolver = new;
	return 0;
}

/*
 * Waits until the resolver is in this state. Returns false on a timeout. Call it with the mutex
 * held.
 */
static bool await_state(struct canfs_path_resolver *resolver, int state, unsigned int msec)
{
	struct timespec until = canfs_in_msec(msec);

	while ((int)resolver->state != state &&
		pthread_cond_timedwait(&resolver->wake, &resolver->mutex, &until) != ETIMEDOUT)
		continue;
	return (int)resolver->state == state;
}

void canfs_path_resolver_stop(struct canfs_path_resolver *resolver)
{
	bool ended;

	if (!resolver)
		return;
	pthread_mutex_lock(&resolver->mutex);
	resolver->stop = true;
	pthread_cond_broadcast(&resolver->wake);
	ended = await_state(resolver, ENDED, STOP_MSEC);
	pthread_mutex_unlock(&resolver->mutex);
	if (!ended)
		return;
	pthread_join(resolver->thread, NULL);
	free_resolver(resolver);
}

int canfs_path_resolver_ask(struct canfs_path_resolver *resolver, const char *nfs_root,
	const char *name, char resolved[PATH_MAX])
{
	int ret = -ETIME;

	if (!resolver)
		return -ETIME;
	if (strlen(nfs_root) >= PATH_MAX || strlen(name) >= PATH_MAX)
		return -ENAMETOOLONG;
	pthread_mutex_lock(&resolver->mutex);
	if (resolver->state != ASKED) {
		strcpy(resolver->nfs_root, nfs_root);
		strcpy(resolver->name, name);
		resolver->state = ASKED;
		pthread_cond_broadcast(&resolver->wake);
		if (await_state(resolver, ANSWERED, CANFS_RESOLVE_WAIT_MSEC)) {
			ret = resolver->ret;
			strcpy(resolved, resolver->resolved);
		}
	}
	pthread_mutex_unlock(&resolver->mutex);
	return ret;
}
