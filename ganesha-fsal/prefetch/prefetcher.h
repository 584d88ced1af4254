/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The prefetcher of a server (Ellard & Seltzer 2003, §6, §7): what a read of a client makes of the table of active
 * files and of the device's queue.
 *
 *	read --> in the page cache? --yes------------------------> AT_ONCE
 *	  |            |--no, and nothing fetches it-------------> INLINE: the worker reads it itself
 *	  |            `--no, but it is being fetched; or those have no place left
 *	  |                                                      > DELAYED: engine --> answered by the worker pool
 *	  `--> table of active files: what comes next? --> fetched ahead: engine
 *
 * One engine, table and two worker pools for each device, made when the first export on it comes. It moves no data: a delayed read is read as always. If any part of it fails, reads go on as without it.
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

/*
 * How long a worker that deletes a file waits for the kernel's reads of it, so that the space is free before the reply. A working disk needs
 * less for the 32 MiB that may be in flight. unlink(2) itself also waits for pages that are being read. At most CANFS_CLOSERS_MAX workers wait
 * at a time; files that others delete are closed when their last fetch ends.
 */
#define CANFS_CLOSE_TIMEOUT_MSEC 2000u
#define CANFS_CLOSERS_MAX        16u

struct canfs_prefetcher_config {
	uint32_t files;                  /* active ones, of each device: canfs_files_config */
	unsigned int open_max;           /* descriptors of our own */
	char policy[16];                 /* "": by the type of the device */
	unsigned int depth;              /* of the engines; 0: by the device */
	uint32_t lag_bytes;              /* of the throttle */
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
 * drain that was given up is none. READs of streams that have not ended count, too.
 */
unsigned int canfs_prefetcher_open_count(struct canfs_prefetcher *prefetcher);

/* Of exports without a disk here (remote.h). */
struct canfs_remotes *canfs_prefetcher_remotes(struct canfs_prefetcher *prefetcher);

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

/*
 * A read of a client. submit(): a worker comes with it; true: it is delayed, and answer() follows, maybe before submit()
 * returns. Else the caller reads now, as without us; that may wait for the disk:
 *
 *	AT_ONCE   its pages are there; or too many reads wait, or the export drains: then the caller may wait for the disk
 *	INLINE    nothing of it is being fetched: our order and our hand-over could only make it later than without us. At
 *	          most CANFS_INLINE_MAX at a time from one device
 *	STREAM    it goes on with a sequential stream that is left to the kernel (kernel_stream.h). As many at a time as INLINE
 *	HELD      of a stream, too, while another read waits for the disk (throttle.h)
 *	DELAYED   the rest; in the kernel there is only so much as keeps the disk busy
 *
 * complete(): it has been read. Until then export_fs is not drained, but by a read AT_ONCE, which is not counted; and the
 * read stays where it is. What comes next of the file is fetched ahead.
 */
enum canfs_read_way {
	CANFS_READ_AT_ONCE,
	CANFS_READ_INLINE,
	CANFS_READ_STREAM,
	CANFS_READ_DELAYED,
	CANFS_READ_HELD,
	CANFS_READ_WAYS
};
struct canfs_read {
	struct canfs_job job; /* the first: of the worker pool, or held by the throttle */
	/* Of the caller. */
	struct canfs_open_file *file; /* with a user, until submit() returns */
	uint64_t offset, bytes;       /* bytes > 0, and within INT64_MAX */
	double scale;                 /* how far to read ahead, [0, 1] */
	uint32_t client;              /* whose it is (kernel_stream.h); 0: not known */
	bool (*steps_aside)(void); /* is no stream to be held for it? Asked in submit(). NULL: no */
	/* It is to be delayed: copies it to where it may stay. In submit(), once at most. */
	struct canfs_read *(*delay)(struct canfs_read *read);
	/* Its pages are there, or not to be had: reads it, completes it and frees it. In a thread of the device's. */
	void (*answer)(struct canfs_read *read);

	/* The prefetcher's own. */
	void (*arrived)(struct canfs_read *read);
	struct canfs_export_fs *export_fs;
	struct canfs_device *device;
	enum canfs_read_way way;
	struct canfs_kernel_stream *stream; /* its client's, of the file */
	bool in_order;                      /* in it */
	bool throttles;                     /* streams are held for it */
	uint64_t
		ahead_bytes; /* fetched ahead as it came; of a stream that is left to the kernel, its own, which that has */
	struct canfs_fetch *fetch; /* of one that is read inline */
	atomic_uint left;          /* of a delayed one: fetches that it waits for */
};
bool canfs_prefetch_submit(struct canfs_read *read);
void canfs_prefetch_complete(struct canfs_read *read);

/*
 * [offset, offset + bytes) of the object's file has been written; bytes UINT64_MAX: from there on it has changed, or its
 * size has. What lies within the file changes nothing that we know of it, and readers of the rest of a database or of a disk image
 * go on.
 */
void canfs_prefetch_invalidate(
	struct canfs_export_fs *export_fs, const void *object, uint64_t offset, uint64_t bytes);

/*
 * The object is released, or (deletes) its file is about to be deleted. If the file is or was deleted, it is closed on return. Otherwise, or
 * if its fetches take longer than CANFS_CLOSE_TIMEOUT_MSEC, it stays open until they end.
 */
void canfs_prefetch_forget(struct canfs_prefetcher *prefetcher, const void *object, bool deletes);

/* A client closes the file: does the same if the file was deleted meanwhile. */
void canfs_prefetch_closed(struct canfs_export_fs *export_fs, const void *object);

/* Of all engines. 0, -EINVAL: no such policy. "auto": each by its device's type. */
int canfs_prefetcher_set_policy(struct canfs_prefetcher *prefetcher, const char *policy);

/* Everything that it does, by the time it is called. */
struct canfs_prefetcher_stats {
	uint64_t reads[CANFS_READ_WAYS];
	uint64_t reads_let_through; /* at once, and not counted there: too many waited */
	unsigned int waiting;
	uint64_t evicted_bytes; /* fetched ahead, and gone before they were read */
	double headroom;        /* [0, 1], of memory: scales the distance */
	struct canfs_fd_cache_stats fd_cache;
};
struct canfs_device_view {
	const char *name;    /* of the kernel: sda, md0 */
	const char *type;    /* disk_types.h */
	bool orders_streams; /* streams.h */
	struct canfs_engine_stats engine;
	struct canfs_files_stats files;
};
void canfs_prefetcher_stats(
	struct canfs_prefetcher *prefetcher, struct canfs_prefetcher_stats *stats);
void canfs_prefetcher_visit(struct canfs_prefetcher *prefetcher,
	void (*visit)(const struct canfs_device_view *view, void *arg), void *arg);

#endif
