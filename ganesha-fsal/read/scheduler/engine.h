/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One block device's queue of fetches into the page cache (Ellard & Seltzer 2003, §5.3): prefetch,
 * and the demand reads that need a part of it. The policy orders prefetch, and at most `depth` of
 * it is in the kernel at a time, through io_uring. Demand reads precede prefetch, in order of
 * arrival. The engine tells when the pages are there. The engine moves no data: the caller reads
 * the file as always, and finds the data in the page cache.
 *
 *	canfs_engine_add() --> prefetch waits --policy--> in the kernel, at most depth --> done()
 *	                   `-> a demand waits ----------> in the kernel, at most CANFS_ENGINE_DEMANDS --'
 *
 * Bytes that are asked for twice are fetched once. If a fetch wants bytes of another fetch, which
 * waits or is in the kernel, it joins the other one. It then takes the other's place in the order
 * and is done with it. A demand read thus need not know what is prefetched.
 *
 * Any thread may call these functions. Only canfs_engine_free() waits for the disk.
 */
#ifndef CANFS_GANESHA_FSAL_READ_SCHEDULER_ENGINE_H
#define CANFS_GANESHA_FSAL_READ_SCHEDULER_ENGINE_H

#include <sys/types.h>

#include "ganesha-fsal/read/scheduler/fetch.h"

struct canfs_engine;

#define CANFS_ENGINE_DEPTH_MAX 64
#define CANFS_ENGINE_DEMANDS   32 /* demand reads in the kernel at a time, besides prefetch */

/* io_uring, else threads (backend.h). */
struct canfs_backend;
extern const struct canfs_backend *const canfs_backends[];

struct canfs_engine_config {
	dev_t device; /* st_dev of the files; tells how much the kernel reads ahead at a time */
	const char *policy; /* a name of canfs_policies */
	unsigned int
		depth; /* 1 ... CANFS_ENGINE_DEPTH_MAX prefetch fetches in the kernel at a time */
	/*
	 * While the kernel has this many bytes to prefetch, it gets no more: the next demand read
	 * would wait for all of them. 0: no bound.
	 */
	uint64_t depth_bytes;
	unsigned int waiting_max; /* further prefetch is refused */
	/*
	 * Ends with NULL. The first one that the kernel allows is used. canfs_backends, except in
	 * tests.
	 */
	const struct canfs_backend *const *backends;
};

struct canfs_engine_stats {
	const char *policy;
	unsigned int depth;
	uint64_t depth_bytes; /* 0: no bound */
	unsigned int waiting; /* with those that wait for another's fetch */
	unsigned int in_kernel;
	uint64_t done[CANFS_FETCH_KINDS];
	uint64_t bytes[CANFS_FETCH_KINDS]; /* fetched for these; joined bytes cost none */
	uint64_t refused, cancelled, failed, joined;
	/* From add() to done(), for those in done[]. */
	uint64_t wait_nsec_sum[CANFS_FETCH_KINDS], wait_nsec_max[CANFS_FETCH_KINDS];
	const char *backend; /* "io_uring" or "threads" (CANFS_WORKERS_MAX of them) */
	int backend_error;   /* -errno: why io_uring is not used */
};

/* Starts the threads of the engine. Returns 0, -EINVAL if config is invalid, or another -errno. */
int canfs_engine_new(struct canfs_engine **engine, const struct canfs_engine_config *config);

/*
 * Cancels the fetches that wait, awaits those in the kernel, calls done() of each, and ends the
 * threads. No other thread may be in a call any more. A done() may still call add(), which returns
 * false. NULL allowed.
 */
void canfs_engine_free(struct canfs_engine *engine);

/*
 * Takes over the fetch. done() may be called before add() returns. False: the queue is full, or the
 * engine ends. The fetch is then not taken, and done() is not called. A full queue still takes
 * demand reads.
 */
bool canfs_engine_add(struct canfs_engine *engine, struct canfs_fetch *fetch);

/*
 * Cancels waiting prefetch of the file that begins at from_offset or beyond, unless a demand read
 * has joined it. Also drops the cached device addresses of these bytes. For a file that was
 * truncated or overwritten, or that no client reads any more.
 */
void canfs_engine_cancel(struct canfs_engine *engine, uint64_t file, uint64_t from_offset);

/*
 * Cancels all waiting fetches of the file, demand reads too. For a file whose fetches nobody
 * awaits, because its export ends or it is deleted.
 */
void canfs_engine_drop(struct canfs_engine *engine, uint64_t file);

/*
 * Changes the policy, also for waiting fetches. No fetch is lost. Returns 0, or -EINVAL if there is
 * no such policy.
 */
int canfs_engine_set_policy(struct canfs_engine *engine, const char *policy);

struct canfs_engine_stats canfs_engine_stats(struct canfs_engine *engine);

#endif
