/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One block device's queue of what shall become resident (Ellard & Seltzer 2003, §5.3): prefetch, and the demand
 * reads of pages that are not in the page cache. It orders them by the policy's choice, hands at most `depth` at
 * a time to the kernel through io_uring, and says when the pages are there. It moves no data to anybody: who asked
 * reads the file as always, and finds it in the page cache.
 *
 *	canfs_engine_add() --> waiting --policy--> in the kernel, at most depth --> done()
 *
 * Any thread may call these; none ever waits for the disk but canfs_engine_free().
 */
#ifndef CANFS_GANESHA_FSAL_SCHEDULER_ENGINE_H
#define CANFS_GANESHA_FSAL_SCHEDULER_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CANFS_FETCH_BYTES_MAX ((uint32_t)1 << 20) /* one read-ahead of the kernel, without being cut */

enum canfs_fetch_kind {
	CANFS_FETCH_DEMAND, /* a client waits for it */
	CANFS_FETCH_PREFETCH
};

/* The caller's, and left alone by him from add() until done(). */
struct canfs_fetch {
	enum canfs_fetch_kind kind;
	int fd;          /* a regular file, for reading; stays open until done() */
	uint64_t file;   /* names the file, as for the table of active files */
	uint64_t offset; /* bytes */
	uint32_t bytes;  /* 1 ... CANFS_FETCH_BYTES_MAX */
	uint32_t stream; /* whose progress `lag` compares: a cursor's number, or the client's */
	/*
	 * The pages are there (0), the device failed (-errno), or it was given up (-ECANCELED): a demand read is
	 * then to go on without us. In the engine's thread: must neither block nor take long.
	 */
	void (*done)(struct canfs_fetch *fetch, int error);
	/* the engine's own */
	struct canfs_fetch *next;
	uint64_t address, added_nsec;
};

struct canfs_engine;

struct canfs_engine_config {
	dev_t device;         /* the block device, for its name in what is shown */
	const char *policy;   /* a name of canfs_policies */
	unsigned int depth;   /* 1 ... 64 handed to the kernel at a time */
	uint32_t lag_bytes;   /* K of `lag` */
	uint32_t demand_msec; /* L: a demand read that is older goes first; 0: at once */
	unsigned int waiting_max; /* more prefetch is refused */
};

struct canfs_engine_stats {
	unsigned int waiting, in_kernel;
	uint64_t done[2], bytes[2];   /* by kind */
	uint64_t refused, cancelled, failed;
	uint64_t wait_nsec_sum[2], wait_nsec_max[2]; /* from add() to done(), of those in done[] */
};

/* Starts its thread. 0, -EINVAL (config), or what io_uring or pthreads say. */
int canfs_engine_new(struct canfs_engine **engine, const struct canfs_engine_config *config);

/* Everything is cancelled or awaited, each with its done(); ends the thread. NULL allowed. */
void canfs_engine_free(struct canfs_engine *engine);

/*
 * Takes over the fetch. False: not taken, done() will not be called: the queue is full (a demand read is taken
 * always), or the engine ends.
 */
bool canfs_engine_add(struct canfs_engine *engine, struct canfs_fetch *fetch);

/* What waits of the file's prefetch from there on is cancelled (truncated, overwritten, or nobody reads it any more). */
void canfs_engine_cancel(struct canfs_engine *engine, uint64_t file, uint64_t from_offset);

/* Waiting prefetch of these bytes is wanted now: becomes a demand read in its place. */
void canfs_engine_hurry(struct canfs_engine *engine, uint64_t file, uint64_t offset, uint64_t bytes);

/* Another policy from now on, for what waits, too; nothing is lost. 0, -EINVAL: no such policy. */
int canfs_engine_set_policy(struct canfs_engine *engine, const char *policy);

struct canfs_engine_stats canfs_engine_stats(struct canfs_engine *engine);

#endif
