/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What of the engine a backend sees, which passes its fetches to the kernel: ring.c by io_uring, workers.c by threads. */
#ifndef CANFS_GANESHA_FSAL_SCHEDULER_BACKEND_H
#define CANFS_GANESHA_FSAL_SCHEDULER_BACKEND_H

#include <pthread.h>

#include "ganesha-fsal/scheduler/engine.h"
#include "ganesha-fsal/scheduler/queue.h"

#define CANFS_WORKERS_MAX 32 /* as deep as a device without a head wants it */
#define CANFS_SLOTS_MAX   (CANFS_ENGINE_DEPTH_MAX + CANFS_ENGINE_DEMANDS) /* fetches in the kernel */

struct canfs_backend {
	const char *name;
	/* Starts the threads. 0, -errno: nothing is started. */
	int (*begin)(void **backend, struct canfs_engine *engine, unsigned int slots);
	void (*wake)(void *backend); /* one thread: there may be something to do; never waits */
	void (*end)(
		void *backend); /* awaits the threads, which end when canfs_engine_turn() says so */
};

extern const struct canfs_backend canfs_ring, canfs_workers;

/*
 * What a thread of the backend calls again and again. It says what became of the last turn's fetches, tells those
 * that wait for them, and takes up to `max` new ones into `taken`. Returns how many, -1: all is done, the thread is
 * to end.
 */
struct canfs_outcome {
	struct canfs_fetch *fetch;
	int error;
};
int canfs_engine_turn(struct canfs_engine *engine, const struct canfs_outcome *outcomes,
	unsigned int n, struct canfs_fetch **taken, unsigned int max);

/* Likewise, but waits until there is something to do. For threads that share `awake`. */
int canfs_engine_wait_turn(
	struct canfs_engine *engine, pthread_cond_t *awake, struct canfs_fetch **taken);

/* Bytes that the kernel reads ahead at a time, of what it is asked for. */
uint64_t canfs_engine_piece_bytes(const struct canfs_engine *engine);

/*
 * What is left of [from, to) before the end of the file: its end, or 0: nothing is to be read, or it cannot be
 * told (*error, -errno).
 */
uint64_t canfs_fetch_end(const struct canfs_fetch *fetch, int *error);

#endif
