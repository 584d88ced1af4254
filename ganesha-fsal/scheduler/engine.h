/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One block device's queue of what shall become resident (Ellard & Seltzer 2003, §5.3): prefetch, and the demand
 * reads that need a part of it. It orders prefetch by the policy's choice and gives at most `depth` at a time to the
 * kernel through io_uring, demand reads before it and in order of arrival; and says when the pages are there. It moves
 * no data: the caller reads the file as always, and finds it in the page cache.
 *
 *	canfs_engine_add() --> prefetch waits --policy--> in the kernel, at most depth --> done()
 *	                   `-> a demand waits ----------> in the kernel, at most CANFS_ENGINE_DEMANDS --'
 *
 * What is asked for twice is fetched once: a fetch whose bytes wait already, or are in the kernel, joins that one
 * and is done with it, in that one's place in the order. So a demand read needs not know what is prefetched.
 *
 * Any thread may call these; none ever waits for the disk but canfs_engine_free().
 */
#ifndef CANFS_GANESHA_FSAL_SCHEDULER_ENGINE_H
#define CANFS_GANESHA_FSAL_SCHEDULER_ENGINE_H

#include <sys/types.h>

#include "ganesha-fsal/scheduler/fetch.h"

struct canfs_engine;

#define CANFS_ENGINE_DEPTH_MAX 64
#define CANFS_ENGINE_DEMANDS   32 /* handed to the kernel at a time, besides */

/* io_uring, else threads (backend.h). */
struct canfs_backend;
extern const struct canfs_backend *const canfs_backends[];

struct canfs_engine_config {
	dev_t device; /* of the files, as stat() says: how much its kernel reads ahead at a time */
	const char *policy; /* a name of canfs_policies */
	unsigned int
		depth; /* 1 ... CANFS_ENGINE_DEPTH_MAX of prefetch handed to the kernel at a time */
	/* No more while it has as many bytes to prefetch: the next demand read would wait for all of them. 0: no bound */
	uint64_t depth_bytes;
	unsigned int waiting_max; /* more prefetch is refused */
	/* Ends with NULL; the first that the kernel allows. canfs_backends, but for tests. */
	const struct canfs_backend *const *backends;
};

struct canfs_engine_stats {
	const char *policy;
	unsigned int depth;
	uint64_t depth_bytes; /* 0: no bound */
	unsigned int waiting; /* those that wait for another's fetch, too */
	unsigned int in_kernel;
	uint64_t done[CANFS_FETCH_KINDS];
	uint64_t bytes[CANFS_FETCH_KINDS]; /* fetched for these; what joined another costs none */
	uint64_t refused, cancelled, failed, joined;
	/* from add() to done(), of those in done[] */
	uint64_t wait_nsec_sum[CANFS_FETCH_KINDS], wait_nsec_max[CANFS_FETCH_KINDS];
	const char *backend; /* its name: "io_uring"; or "threads", as many as depth, at most 32 */
	int backend_error;   /* why there is no io_uring: -errno */
};

/* Starts its threads. 0, -EINVAL (config), or what pthreads or malloc() say. */
int canfs_engine_new(struct canfs_engine **engine, const struct canfs_engine_config *config);

/*
 * What waits is cancelled, what is in the kernel awaited, each with its done(); ends the threads. No other thread may
 * have begun a call by then; a done() may (its add() returns false). NULL allowed.
 */
void canfs_engine_free(struct canfs_engine *engine);

/*
 * Takes over the fetch. False: not taken, done() will not be called: the queue is full (a demand read is taken
 * always), or the engine ends. Done() may have been called before it returns.
 */
bool canfs_engine_add(struct canfs_engine *engine, struct canfs_fetch *fetch);

/*
 * The file is truncated or overwritten from there on, or nobody reads it any more: waiting prefetch that begins
 * there is cancelled, unless a demand read has joined it, and its addresses on the device are asked for again.
 */
void canfs_engine_cancel(struct canfs_engine *engine, uint64_t file, uint64_t from_offset);

/* Nobody waits for anything of the file any more (its export goes): what waits is cancelled, demand reads too. */
void canfs_engine_drop(struct canfs_engine *engine, uint64_t file);

/* Another policy from now on, for what waits, too; nothing is lost. 0, -EINVAL: no such policy. */
int canfs_engine_set_policy(struct canfs_engine *engine, const char *policy);

struct canfs_engine_stats canfs_engine_stats(struct canfs_engine *engine);

#endif
