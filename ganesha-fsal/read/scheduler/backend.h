/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The engine as seen by its I/O backends, which pass its fetches to the kernel: ring.c by io_uring,
 * workers.c by threads.
 */
#ifndef CANFS_GANESHA_FSAL_READ_SCHEDULER_BACKEND_H
#define CANFS_GANESHA_FSAL_READ_SCHEDULER_BACKEND_H

#include <pthread.h>

#include "ganesha-fsal/read/scheduler/engine.h"
#include "ganesha-fsal/read/scheduler/queue.h"

#define CANFS_WORKERS_MAX 32 /* the depth that a device without a head needs */
#define CANFS_SLOTS_MAX   (CANFS_ENGINE_DEPTH_MAX + CANFS_ENGINE_DEMANDS) /* fetches in the kernel */

struct canfs_backend {
	const char *name;
	/* Starts the threads. Returns 0, or -errno with no thread started. */
	int (*begin)(void **backend, struct canfs_engine *engine, unsigned int slots);
	void (*wake)(void *backend); /* wakes one thread: there may be work; never blocks */
	void (*end)(
		void *backend); /* joins the threads, which end when canfs_engine_turn() returns -1 */
};

extern const struct canfs_backend canfs_ring, canfs_workers;

/*
 * A thread of the backend calls canfs_engine_turn() in a loop. The call reports the outcomes of the
 * last turn's fetches, and tells the fetches that wait for them. It takes up to `max` new fetches
 * into `taken`. Returns how many it took, or -1: all is done, and the thread must end.
 */
struct canfs_outcome {
	struct canfs_fetch *fetch;
	int error;
};
int canfs_engine_turn(struct canfs_engine *engine, const struct canfs_outcome *outcomes,
	unsigned int n, struct canfs_fetch **taken, unsigned int max);

/*
 * Likewise, but takes at most one fetch and blocks until there is something to do. For threads that
 * share `awake`.
 */
int canfs_engine_wait_turn(
	struct canfs_engine *engine, pthread_cond_t *awake, struct canfs_fetch **taken);

/* Returns how many bytes of one request the kernel reads ahead. */
uint64_t canfs_engine_piece_bytes(const struct canfs_engine *engine);

/*
 * Returns where [from, to) ends, clipped to the end of the file. 0: there is nothing to read, or
 * the end is unknown and *error is -errno.
 */
uint64_t canfs_fetch_end(const struct canfs_fetch *fetch, int *error);

#endif
