/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The prefetcher of a server (Ellard & Seltzer 2003, §6, §7): what a read of a client makes of the table of active
 * files and of the device's queue.
 *
 *	read --> in the page cache? --yes--> answered at once
 *	  |            |--no, nor being read ahead--> read inline by the caller
 *	  |            `--no, but being read ahead--> waits for that in the engine --> ready --> answered by the pool
 *	  `--> table of active files: what comes next? --> prefetch --> engine
 *
 * One engine, table and two worker pools for each device, made when the first export on it comes. It moves no data: who was made to
 * wait reads the file as always. If any part of it fails, reads go on as without it.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_PREFETCHER_H
#define CANFS_GANESHA_FSAL_PREFETCH_PREFETCHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "ganesha-fsal/prefetch/worker_pool.h"
#include "ganesha-fsal/prefetch/files.h"
#include "ganesha-fsal/prefetch/fd_cache.h"
#include "ganesha-fsal/scheduler/engine.h"

/* More are not made to wait: each has its buffer already, of up to 64 MiB. */
#define CANFS_READS_WAITING_MAX       16384
#define CANFS_READS_WAITING_BYTES_MAX ((uint64_t)512 << 20)
#define CANFS_DEVICES_MAX             256 /* exports on further ones are served without prefetch */

/*
 * Of Ganesha's workers (200), so many may wait for one device. It is what the kernel's scheduler holds for a disk
 * (nr_requests): more would wait there without being sorted.
 */
#define CANFS_INLINE_MAX 64u

/*
 * How long the end of an export waits for what the kernel has of it: longer than a disk takes that works (32 MiB and
 * a retry of each), and than one with a limited time for recovery (7 s) takes for an error; and far shorter than the service
 * manager's timeout for the whole server (90 s).
 */
#define CANFS_DRAIN_TIMEOUT_MSEC 10000u

struct canfs_prefetcher_config {
	uint32_t files;                  /* active ones, of each device: canfs_files_config */
	unsigned int open_max;           /* descriptors of our own */
	char policy[16];                 /* "": by the type of the device */
	unsigned int depth;              /* of the engines; 0: by the device */
	uint32_t lag_bytes;              /* of the engines */
	unsigned int drain_timeout_msec; /* of drain(); 0: CANFS_DRAIN_TIMEOUT_MSEC */
	const char *root; /* put before /proc and /sys; "" but for tests, never NULL */
	void (*thread_begins)(
		const char *name); /* called first in each thread; NULL: nothing to do */
};

struct canfs_prefetcher;

/* 0 or -errno. Starts one thread; those of devices come with their exports. */
int canfs_prefetcher_new(
	struct canfs_prefetcher **prefetcher, const struct canfs_prefetcher_config *config);

/* All exported file systems are drained or closed; of the drained nothing but close() may be called any more. NULL allowed. */
void canfs_prefetcher_free(struct canfs_prefetcher *prefetcher);

/*
 * The exported file systems, and exports of remote.h, that are neither drained nor closed: while there are any, it may not be freed. A
 * drain that was given up is none.
 */
unsigned int canfs_prefetcher_open_count(struct canfs_prefetcher *prefetcher);

/*
 * For an export on the directory path. 0; -ENODATA: no block device is below it; or another -errno. To be ended
 * by canfs_prefetcher_drain(), which cancels what waits and returns when nothing of it is in flight, and
 * canfs_prefetcher_close(), which waits for nobody.
 *
 * Drain: false: its disk does not answer (drain_timeout_msec). What is in flight is left behind and may end at any time, for
 * which all of the prefetcher, and its code, must stay. Until that disk answers again, further drains on it do not wait.
 */
int canfs_prefetcher_open(
	struct canfs_export_fs **export_fs, struct canfs_prefetcher *prefetcher, const char *path);
bool canfs_prefetcher_drain(struct canfs_export_fs *export_fs);
void canfs_prefetcher_close(struct canfs_export_fs *export_fs); /* NULL allowed */

/* A read that waits for its pages. ready() may be called before canfs_prefetch_wait() returns, and in any thread. */
struct canfs_waiting_read {
	void (*ready)(struct canfs_waiting_read *read); /* must neither block nor take long */
	atomic_uint left;
};

/*
 * A client reads [offset, offset + bytes) of the file. True: so many reads have found all of theirs in the page cache
 * (residency.h) that this one is to be answered at once, with no further call.
 */
bool canfs_prefetch_is_resident(struct canfs_open_file *file, uint64_t offset, uint64_t bytes);

/*
 * Otherwise: must it wait for pages? False: it is to be answered at once.
 * True: canfs_prefetch_wait() is to follow, and canfs_prefetch_answered() with the same bytes when it is answered:
 * until then export_fs is not drained.
 */
bool canfs_prefetch_must_wait(struct canfs_open_file *file, uint64_t offset, uint64_t bytes);

/*
 * Instead: may the caller read inline, and wait for the disk itself? So it is where nothing of it is being fetched: our order
 * and our hand-over could only make it later than without us. Also where the disk is reading just this, as far as
 * cachestat(2) tells (Linux 6.5). True: the caller is to read now, and to call canfs_prefetch_end_inline() when it has.
 * At most CANFS_INLINE_MAX of the first kind read at a time from one device, and eight of the second.
 */
struct canfs_inline_read {
	struct canfs_waiting_read read;
	struct canfs_fetch *fetch; /* NULL: the disk was reading it */
	uint64_t begin_usec;
	bool left; /* set by the caller: what canfs_prefetch_ahead() returned */
};
bool canfs_prefetch_begin_inline(struct canfs_open_file *file, uint64_t offset, uint64_t bytes,
	struct canfs_inline_read *inline_read);
void canfs_prefetch_end_inline(
	struct canfs_export_fs *export_fs, uint64_t bytes, struct canfs_inline_read *inline_read);

/* read->ready() will be called, or was, when they are there or not to be had. */
void canfs_prefetch_wait(struct canfs_open_file *file, uint64_t offset, uint64_t bytes,
	struct canfs_waiting_read *read);
void canfs_prefetch_answered(struct canfs_export_fs *export_fs, uint64_t bytes);

/*
 * Of the same read, after that: what comes next? Has it fetched. scale in [0, 1]: how far. True: that was left to the
 * kernel's own read-ahead (yield.h).
 */
bool canfs_prefetch_ahead(
	struct canfs_open_file *file, uint64_t offset, uint64_t bytes, double scale);

/* The size or contents of the object's file have changed from there on. */
void canfs_prefetch_changed(
	struct canfs_export_fs *export_fs, const void *object, uint64_t from_offset);

/*
 * Some of it is written: what lies within the file changes nothing that we know of it, and whoever reads the rest of a
 * database or of a disk image goes on.
 */
void canfs_prefetch_written(
	struct canfs_export_fs *export_fs, const void *object, uint64_t offset, uint64_t bytes);

/* The object goes, or its file is deleted: we have it open no longer than its last read takes. */
void canfs_prefetch_forget(struct canfs_prefetcher *prefetcher, const void *object);

/*
 * What is to be answered once it is ready, by run(), in a thread of the device's. If its pages are not there after all
 * (evicted since, or the disk cannot read them), whoever answers will wait for the disk: other threads do that, so that
 * no answer whose pages are there waits for one whose are not.
 */
struct canfs_answer {
	struct canfs_job job; /* of answer.c */
	void (*run)(struct canfs_answer *answer);
	struct canfs_open_file *file; /* with a user, which goes before run() */
	uint64_t offset, bytes;
};
void canfs_prefetch_submit(struct canfs_answer *answer);

/* Of all engines. 0, -EINVAL: no such policy. "auto": each by its device's type. */
int canfs_prefetcher_set_policy(struct canfs_prefetcher *prefetcher, const char *policy);

/* Everything that it does, by the time it is called. */
struct canfs_prefetcher_stats {
	uint64_t reads_at_once, reads_inline, reads_made_to_wait,
		reads_let_through; /* let through: too many waited */
	unsigned int waiting;
	uint64_t evicted_bytes; /* fetched ahead, and gone before they were read */
	double headroom;        /* [0, 1], of memory: scales the distance */
	struct canfs_fd_cache_stats fd_cache;
};
struct canfs_device_view {
	const char *name; /* of the kernel: sda, md0 */
	const char *type; /* disk_types.h */
	bool yields;      /* yield.h */
	struct canfs_engine_stats engine;
	struct canfs_files_stats files;
};
void canfs_prefetcher_stats(
	struct canfs_prefetcher *prefetcher, struct canfs_prefetcher_stats *stats);
void canfs_prefetcher_visit(struct canfs_prefetcher *prefetcher,
	void (*visit)(const struct canfs_device_view *view, void *arg), void *arg);

#endif
