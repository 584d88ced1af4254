/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Keeps sequential streams from starving other reads of a spinning disk. A drive that orders its
 * commands prefers nearby ones, and the kernel reads ahead nearby all the time. A random read then
 * waits for up to 0.7 s.
 *
 *	others  |      waits ------------------------> served
 *	streams | read | read | read | held            | read ...
 *	               |<-- lag -->|
 *
 * While a read of no stream waits for the disk, all streams together may read lag_bytes more. Then
 * their READs are held until that read is served. The drive finishes the commands that it has, and
 * serves that read. lag_bytes trades the throughput of the streams against the latency of the
 * others.
 *
 * A read may wait for something other than the disk, such as a lock of the sub-FSAL. Because of
 * such a read, READs are held for at most two ticks.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_THROTTLE_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_THROTTLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "ganesha-fsal/read/prefetch/worker_pool.h"

STAILQ_HEAD(canfs_held, canfs_job);

struct canfs_throttle {
	uint64_t lag_bytes;  /* 0: no READ is ever held */
	atomic_uint waiting; /* reads of no stream */
	_Atomic uint64_t
		passed; /* stream bytes since a read of no stream was served, or the first came */
	atomic_bool gave_up; /* no READ is held until a read of no stream is served */
	pthread_mutex_t mutex;
	struct canfs_held held;
	bool late; /* a READ was held at the last tick, and still is */
};

void canfs_throttle_init(struct canfs_throttle *throttle, uint64_t lag_bytes);
void canfs_throttle_destroy(struct canfs_throttle *throttle); /* no READ may be held */

/*
 * Returns whether a READ of a stream may proceed at once. If not, call canfs_throttle_hold(). If
 * that returns false, the READ may proceed, too.
 */
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

/*
 * begin(): a read of no stream waits for the disk. end(): the read was served, and the caller must
 * let `released` proceed.
 */
void canfs_throttle_begin(struct canfs_throttle *throttle);
void canfs_throttle_end(struct canfs_throttle *throttle, struct canfs_held *released);

/* Call periodically. Releases the READs if one has been held for more than a tick. */
void canfs_throttle_tick(struct canfs_throttle *throttle, struct canfs_held *released);

#endif
