// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Fetches by a few threads that block, for kernels without io_uring and containers that forbid it.
 * The steps are those of ring.c.
 */
#include "ganesha-fsal/read/scheduler/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/thread.h"

struct workers {
	struct canfs_engine *engine;
	uint64_t piece_bytes;
	pthread_cond_t awake;
	unsigned int count;
	pthread_t thread[CANFS_WORKERS_MAX];
};

static int read_last_byte(int fd, uint64_t offset)
{
	unsigned char scratch;
	ssize_t n;

	do
		n = pread(fd, &scratch, 1, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int fetch_now(const struct workers *workers, const struct canfs_fetch *fetch)
{
	int ret = 0;
	uint64_t end = canfs_fetch_end(fetch, &ret), bytes;

	if (end == 0)
		return ret;
	for (uint64_t at = fetch->from; at < end; at += bytes) {
		bytes = end - at < workers->piece_bytes ? end - at : workers->piece_bytes;
		ret = -posix_fadvise(fetch->fd, (off_t)at, (off_t)bytes, POSIX_FADV_WILLNEED);
		if (ret != 0)
			return ret;
	}
	return read_last_byte(fetch->fd, end - 1);
}

static void *run(void *arg)
{
	struct workers *workers = arg;
	struct canfs_outcome outcome;
	struct canfs_fetch *fetch;
	unsigned int outcomes = 0;
	int n;

	for (;;) {
		n = canfs_engine_turn(workers->engine, &outcome, outcomes, &fetch, 1);
		outcomes = 0;
		if (n == 0)
			n = canfs_engine_wait_turn(workers->engine, &workers->awake, &fetch);
		if (n < 0)
			return NULL;
		if (n > 0) {
			outcome = (struct canfs_outcome) { fetch, fetch_now(workers, fetch) };
			outcomes = 1;
		}
	}
}

static void wake(void *backend)
{
	struct workers *workers = backend;

	pthread_cond_signal(&workers->awake);
}

static void end(void *backend)
{
	struct workers *workers = backend;

	for (unsigned int i = 0; i < workers->count; i++)
		pthread_join(workers->thread[i], NULL);
	pthread_cond_destroy(&workers->awake);
	free(workers);
}

/* One thread is enough; more are better. */
static int begin(void **backend, struct canfs_engine *engine, unsigned int slots)
{
	struct workers *workers = calloc(1, sizeof(*workers));
	int ret = 0;

	if (!workers)
		return -ENOMEM;
	workers->engine = engine;
	workers->piece_bytes = canfs_engine_piece_bytes(engine);
	pthread_cond_init(&workers->awake, NULL);
	while (workers->count < slots && workers->count < CANFS_WORKERS_MAX && ret == 0) {
		ret = canfs_thread_start(&workers->thread[workers->count], 0, run, workers);
		workers->count += ret == 0;
	}
	if (workers->count == 0) {
		pthread_cond_destroy(&workers->awake);
		free(workers);
		return ret;
	}
	*backend = workers;
	return 0;
}

const struct canfs_backend canfs_workers = {
	.name = "threads", .begin = begin, .wake = wake, .end = end
};
