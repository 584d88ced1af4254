/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A device's queue at work on real files, through io_uring or threads: the fetches of a test, and their end. */
#ifndef CANFS_TESTS_ENGINE_SCENE_H
#define CANFS_TESTS_ENGINE_SCENE_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "ganesha-fsal/read/scheduler/engine.h"

#define MIB        ((uint64_t)1 << 20)
#define FILES      4
#define FILE_BYTES (8 * MIB)
#define PAGE       4096u

static char directory[] = "/tmp/canfs-engine-XXXXXX";
static int file[FILES];
static dev_t device;
static bool without_ring;

/* The thread that adds waits here until all are done. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_done;
static unsigned int in_flight;
static unsigned int successes, cancellations, failures;
static int last_error;

struct item {
	struct canfs_fetch fetch;
	unsigned int done;
};

static inline void done(struct canfs_fetch *fetch, int error)
{
	struct item *item = (struct item *)fetch;

	pthread_mutex_lock(&mutex);
	item->done++;
	successes += error == 0;
	cancellations += error == -ECANCELED;
	failures += error != 0 && error != -ECANCELED;
	last_error = error;
	if (--in_flight == 0)
		pthread_cond_broadcast(&all_done);
	pthread_mutex_unlock(&mutex);
}

static inline void wait_for_all(void)
{
	pthread_mutex_lock(&mutex);
	while (in_flight > 0)
		pthread_cond_wait(&all_done, &mutex);
	pthread_mutex_unlock(&mutex);
}

static inline bool add(struct canfs_engine *engine, struct item *item)
{
	bool taken;

	pthread_mutex_lock(&mutex);
	in_flight++;
	pthread_mutex_unlock(&mutex);
	item->fetch.done = done;
	taken = canfs_engine_add(engine, &item->fetch);
	if (!taken) {
		pthread_mutex_lock(&mutex);
		in_flight--;
		pthread_mutex_unlock(&mutex);
	}
	return taken;
}

static inline struct canfs_engine *start(const char *policy, unsigned int waiting_max)
{
	const struct canfs_engine_config config = { .device = device,
		.policy = policy,
		.depth = 4,
		.depth_bytes = 2 * MIB,
		.waiting_max = waiting_max,
		.backends = canfs_backends + without_ring };
	struct canfs_engine *engine = NULL;

	successes = cancellations = failures = 0;
	assert_int_equal(canfs_engine_new(&engine, &config), 0);
	return engine;
}

static inline struct item fetch_of(unsigned int number, uint64_t offset, uint32_t bytes)
{
	return (struct item) { .fetch = { .kind = CANFS_FETCH_DEMAND,
				       .fd = file[number],
				       .file = number,
				       .offset = offset,
				       .bytes = bytes,
				       .stream = number } };
}

static inline int with_ring(void **state)
{
	(void)state;
	without_ring = false;
	return 0;
}

static inline int with_threads(void **state)
{
	(void)state;
	without_ring = true;
	return 0;
}

static inline int make_files(void **state)
{
	unsigned char *bytes = malloc(FILE_BYTES);
	struct stat stat;
	char path[64];

	(void)state;
	canfs_steady_cond_init(&all_done);
	if (!bytes || !mkdtemp(directory))
		return -1;
	memset(bytes, 'x', FILE_BYTES);
	for (unsigned int i = 0; i < FILES; i++) {
		(void)snprintf(path, sizeof(path), "%s/%u", directory, i);
		file[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (file[i] < 0 || write(file[i], bytes, FILE_BYTES) != (ssize_t)FILE_BYTES ||
			fsync(file[i]) != 0 || fstat(file[i], &stat) != 0)
			return -1;
		device = stat.st_dev;
	}
	free(bytes);
	return 0;
}

static inline int remove_files(void **state)
{
	char path[64];

	(void)state;
	for (unsigned int i = 0; i < FILES; i++) {
		(void)snprintf(path, sizeof(path), "%s/%u", directory, i);
		close(file[i]);
		unlink(path);
	}
	return rmdir(directory);
}

#define BOTH(name)                                                                                 \
	cmocka_unit_test_setup(name, with_ring), cmocka_unit_test_setup(name, with_threads)

#endif
