/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Keeps sequential streams from starving random reads of a spinning disk. A drive that orders its
 * commands prefers nearby ones, and the kernel reads ahead nearby all the time. A random read then
 * waits for up to 0.7 s.
 *
 *	random  |      waits ------------------------> served
 *	streams | read | read | read | held            | read ...
 *	               |<-- lag -->|
 *
 * While a worker waits for a random read (INLINE, prefetcher.h), streams may read lag_bytes more for
 * each of them, counting at most CANFS_THROTTLE_STREAMS. Then their READs are held until that read is
 * served. The drive finishes the commands that it has, and serves that read. lag_bytes trades the
 * throughput of the streams against the latency of random reads. A random read takes a drive as long
 * as 2 MiB in sequence, so a random reader has the same share of the disk as a stream.
 *
 * When the read is served, what was held does not flood the disk: READs proceed in order, while
 * those in flight are below the same bound. So a random read that comes next waits for little more.
 * When no random read has come for a tick, all proceed.
 *
 * A random read may wait for something other than the disk, such as a lock of the sub-FSAL. Because
 * of such a read, READs are held for at most two ticks.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_THROTTLE_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_THROTTLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "ganesha-fsal/read/prefetch/worker_pool.h"

/* More streams do not make the others wait longer. */
#define CANFS_THROTTLE_STREAMS 8

STAILQ_HEAD(canfs_held, canfs_job);

struct canfs_throttle {
	uint64_t lag_bytes;  /* for each stream; 0: no READ is ever held */
	atomic_uint streams; /* 1 ... CANFS_THROTTLE_STREAMS */
	atomic_uint waiting; /* random reads */
	atomic_uint count;   /* READs that are held */
	_Atomic uint64_t
		passed;      /* stream bytes since a random read was served, or the first came */
	atomic_bool gave_up; /* no READ is held until a random read is served, or the next comes */
	pthread_mutex_t mutex;
	struct canfs_held held;
	uint64_t in_flight; /* bytes of READs that were held, or were to be */
	bool came;          /* a random read came since the last tick */
	bool moved;         /* a READ was released since the last tick */
	bool late;          /* a READ was held at the last tick */
};

void canfs_throttle_init(struct canfs_throttle *throttle, uint64_t lag_bytes);
void canfs_throttle_destroy(struct canfs_throttle *throttle); /* no READ may be held */

/* Returns what streams may read while a random read waits. */
static inline uint64_t canfs_throttle_bound(const struct canfs_throttle *throttle)
{
	return throttle->lag_bytes * atomic_load_explicit(&throttle->streams, memory_order_relaxed);
}

/*
 * Returns whether a READ of a stream may proceed at once. If not, canfs_throttle_hold() may be
 * called. If that returns false, the READ may proceed, too. After canfs_throttle_hold(),
 * canfs_throttle_done() follows in both cases when the READ is answered.
 */
static inline bool canfs_throttle_passes(struct canfs_throttle *throttle, uint64_t bytes)
{
	unsigned int held = atomic_load_explicit(&throttle->count, memory_order_relaxed);
	uint64_t passed;

	if ((held == 0 && atomic_load_explicit(&throttle->waiting, memory_order_relaxed) == 0) ||
		throttle->lag_bytes == 0 ||
		atomic_load_explicit(&throttle->gave_up, memory_order_relaxed))
		return true;
	/* Threads that get here at the same time may pass together. */
	passed = atomic_load_explicit(&throttle->passed, memory_order_relaxed);
	if (held != 0 || (passed != 0 && passed + bytes > canfs_throttle_bound(throttle)))
		return false;
	atomic_fetch_add_explicit(&throttle->passed, bytes, memory_order_relaxed);
	return true;
}
bool canfs_throttle_hold(struct canfs_throttle *throttle, struct canfs_job *job);

/* The caller must let `released` proceed. */
void canfs_throttle_done(
	struct canfs_throttle *throttle, uint64_t bytes, struct canfs_held *released);

/*
 * begin(): a random read waits for the disk. end(): the read was served, and the caller must let
 * `released` proceed.
 */
void canfs_throttle_begin(struct canfs_throttle *throttle);
void canfs_throttle_end(struct canfs_throttle *throttle, struct canfs_held *released);

/*
 * Call periodically, with the number of streams that read. Releases all READs if no random read
 * came since the last tick, or if none of them was released for more than a tick.
 */
void canfs_throttle_tick(
	struct canfs_throttle *throttle, unsigned int streams, struct canfs_held *released);

#endif
