/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Keeps sequential streams from starving other reads of a spinning disk. A drive that orders its commands stays with what is near,
 * and the kernel reads ahead near it all the time: a random read waits for up to 0.7 s.
 *
 *	others  |      waits ------------------------> served
 *	streams | read | read | read | held            | read ...
 *	               |<-- lag -->|
 *
 * While a read of no stream waits for the disk, streams may read lag_bytes more, all of them together. Then their READs are held
 * until that read is served; the drive finishes what it has, and comes to it. lag_bytes is the knob between the streams' throughput
 * and the others' latency.
 *
 * A read may wait for something else than the disk, such as a lock of the sub-FSAL. Nothing is held for it for more than two ticks.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_THROTTLE_H
#define CANFS_GANESHA_FSAL_PREFETCH_THROTTLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "ganesha-fsal/prefetch/worker_pool.h"

STAILQ_HEAD(canfs_held, canfs_job);

struct canfs_throttle {
	uint64_t lag_bytes;  /* 0: nothing is ever held */
	atomic_uint waiting; /* reads of no stream */
	_Atomic uint64_t
		passed; /* bytes of streams, since one of these was served, or the first came */
	atomic_bool gave_up; /* nothing is held until a read is served */
	pthread_mutex_t mutex;
	struct canfs_held held;
	bool late; /* something was held at the last tick, and is still */
};

void canfs_throttle_init(struct canfs_throttle *throttle, uint64_t lag_bytes);
void canfs_throttle_destroy(struct canfs_throttle *throttle); /* nothing is held */

/* A read of a stream comes. May it go on at once? If not, hold(), which may still say no: then it goes on, too. */
static inline bool canfs_throttle_passes(struct canfs_throttle *throttle, uint64_t bytes)
{
	if (atomic_load_explicit(&throttle->waiting, memory_order_relaxed) == 0 ||
		throttle->lag_bytes == 0 ||
		atomic_load_explicit(&throttle->gave_up, memory_order_relaxed))
		return true;
	return atomic_fetch_add_explicit(&throttle->passed, bytes, memory_order_relaxed) + bytes <=
	       throttle->lag_bytes;
}
bool canfs_throttle_hold(struct canfs_throttle *throttle, struct canfs_job *job);

/* A read of no stream waits for the disk; it is served. What was held until then is to go on. */
void canfs_throttle_begin(struct canfs_throttle *throttle);
void canfs_throttle_end(struct canfs_throttle *throttle, struct canfs_held *released);

/* Now and then. What has been held for more than a tick goes on. */
void canfs_throttle_tick(struct canfs_throttle *throttle, struct canfs_held *released);

#endif
