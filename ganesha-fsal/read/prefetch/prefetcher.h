/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The prefetcher of a server (Ellard & Seltzer 2003, §6, §7): how a client's READ uses the table of
 * active files and the device's queue.
 *
 *	read --> of a stream that is left to the kernel? --yes---> STREAM, or HELD for a random read
 *	  `----> in the page cache? --yes------------------------> AT_ONCE
 *	  |            |--no, and nothing fetches it-------------> INLINE: the worker reads it itself
 *	  |            `--no, but it is being fetched; or there is no place for an inline read
 *	  |                                                      > DELAYED: engine --> answered by the worker pool
 *	  `--> table of active files: what comes next? --> fetched ahead: engine
 *
 * Each device has one engine, one table and two worker pools, made with the first export on it. The
 * prefetcher moves no data: a delayed READ is performed like any other. If any part of the
 * prefetcher fails, READs proceed as without it.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_PREFETCHER_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_PREFETCHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "ganesha-fsal/read/prefetch/worker_pool.h"
#include "ganesha-fsal/read/prefetch/files.h"
#include "ganesha-fsal/read/prefetch/fd_cache.h"
#include "ganesha-fsal/read/scheduler/engine.h"

/* At most so many READs wait: each has its buffer already, of up to 64 MiB. */
#define CANFS_READS_WAITING_MAX       16384
#define CANFS_READS_WAITING_BYTES_MAX ((uint64_t)512 << 20)
#define CANFS_DEVICES_MAX             256 /* exports on further devices have no prefetch */

/*
 * How many of Ganesha's workers (200) may wait for one device. The kernel's scheduler holds as many
 * requests for a disk (nr_requests). More would wait there unsorted.
 */
#define CANFS_INLINE_MAX 64u

/*
 * How long the end of an export waits for its I/O in the kernel. This is longer than a working disk
 * needs for 32 MiB and a retry of each request. It is also longer than a disk with limited error
 * recovery (7 s) needs to report an error. It is far shorter than the service manager's timeout for
 * the whole server (90 s).
 */
#define CANFS_DRAIN_TIMEOUT_MSEC 10000u

/*
 * How long a worker that deletes a file waits for the kernel's reads of it, and for READs that are
 * held, so that the space is free before the reply. A working disk needs less for the 32 MiB that may be in flight. unlink(2)
 * itself also waits for pages that are being read. At most CANFS_CLOSERS_MAX workers wait at a
 * time. Files that further workers delete are closed when their last fetch ends.
 */
#define CANFS_CLOSE_TIMEOUT_MSEC 2000u
#define CANFS_CLOSERS_MAX        16u

/*
 * How many files the plugin holds open. These are more files than a disk can serve readers at a
 * time; further ones would only take descriptors from Ganesha. A file that is displaced is opened
 * again by its next READ. The process's limit of descriptors bounds them further (fd_cache.h).
 */
#define CANFS_OPEN_FILES_MAX 1024u

struct canfs_prefetcher_config {
	uint32_t files;                  /* active files per device: canfs_files_config */
	unsigned int open_max;           /* files in the fd cache: CANFS_OPEN_FILES_MAX */
	char policy[16];                 /* "": by the type of the device */
	uint32_t lag_bytes;              /* of the throttle, for each stream */
	unsigned int drain_timeout_msec; /* of drain(); 0: CANFS_DRAIN_TIMEOUT_MSEC */
	const char *root; /* prefix of /proc and /sys: "" except in tests; never NULL */
	void (*thread_begins)(
		const char *name); /* called first in each thread; NULL: nothing to do */
};

struct canfs_prefetcher;

/* Returns 0 or -errno. Starts one thread. The threads of a device start with its first export. */
int canfs_prefetcher_new(
	struct canfs_prefetcher **prefetcher, const struct canfs_prefetcher_config *config);

/*
 * All exported file systems must be drained or closed. After that, only close() may be called for a
 * drained one. NULL allowed.
 */
void canfs_prefetcher_free(struct canfs_prefetcher *prefetcher);

/*
 * Returns how many exported file systems, and exports of remote.h, are neither drained nor closed.
 * A drain that timed out does not count as drained. READs of streams that have not ended are added.
 * The prefetcher must not be freed while this is not 0.
 */
unsigned int canfs_prefetcher_open_count(struct canfs_prefetcher *prefetcher);

/* The exports without a local disk (remote.h). */
struct canfs_remotes *canfs_prefetcher_remotes(struct canfs_prefetcher *prefetcher);

/*
 * canfs_prefetcher_open() is for an export of the directory `path`. It returns 0, -ENODATA if no
 * block device is below it, or another -errno. canfs_prefetcher_drain() and then
 * canfs_prefetcher_close() end it. drain() cancels waiting fetches and returns when nothing of
 * export_fs is in flight. close() waits for no read.
 *
 * drain() returns false if the disk does not answer (drain_timeout_msec). I/O in flight is then
 * left behind and may end at any time, so the whole prefetcher and its code must stay. Until that
 * disk answers again, further drains on it do not wait.
 */
int canfs_prefetcher_open(
	struct canfs_export_fs **export_fs, struct canfs_prefetcher *prefetcher, const char *path);
bool canfs_prefetcher_drain(struct canfs_export_fs *export_fs);
void canfs_prefetcher_close(struct canfs_export_fs *export_fs); /* NULL allowed */

/*
 * A client's READ. Its worker calls submit(), which also fetches ahead what comes next in the file.
 * submit() returns true for HELD and DELAYED: answer() follows, perhaps before submit() returns.
 * Otherwise the caller reads now, as without canfs, and may block on the disk:
 *
 *	AT_ONCE   its pages are there. Or too many READs wait, or the export drains: then the caller may block on the disk
 *	INLINE    nothing of it is being fetched, so our order and our hand-over could only make it later. At most
 *	          CANFS_INLINE_MAX at a time from one device
 *	STREAM    it continues a sequential stream that is left to the kernel (kernel_stream.h). As many at a time as INLINE
 *	HELD      as STREAM, while or just after a random read waits for the disk (throttle.h)
 *	DELAYED   all others. The kernel has only as many of these as keep the disk busy
 *
 * complete() tells that the READ was performed. Until then, the canfs_read must stay where it is,
 * and export_fs does not finish draining. READs AT_ONCE and STREAM do not delay a drain.
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
	struct canfs_job job; /* first member; in the worker pool, or held by the throttle */
	/* Set by the caller. */
	struct canfs_open_file *file; /* with a user, at least until submit() returns */
	uint64_t offset, bytes;       /* bytes > 0; offset + bytes <= INT64_MAX */
	double scale;                 /* read-ahead scale, [0, 1] */
	uint32_t client;              /* the client (kernel_stream.h); 0: unknown */
	bool (*steps_aside)(void); /* true: hold no stream for it; called in submit(). NULL: no */
	/*
	 * Copies a read that is delayed to memory where it may stay. Called in submit(), at most
	 * once.
	 */
	struct canfs_read *(*delay)(struct canfs_read *read);
	/*
	 * Performs, completes and frees a delayed read. Its pages are there, or cannot be fetched.
	 * Runs in a thread of the device.
	 */
	void (*answer)(struct canfs_read *read);

	/* Private to the prefetcher. */
	struct canfs_export_fs *export_fs;
	struct canfs_device *device;
	enum canfs_read_way way;
	struct canfs_kernel_stream *stream; /* of its client in the file */
	bool in_order;                      /* in its stream */
	bool throttles;                     /* streams are held for it */
	uint64_t
		ahead_bytes; /* fetched ahead when it came; if its stream is left to the kernel, its own bytes */
	struct canfs_fetch *fetch; /* of an inline read */
	atomic_uint left;          /* fetches that a delayed read waits for */
};
bool canfs_prefetch_submit(struct canfs_read *read);
void canfs_prefetch_complete(struct canfs_read *read);

/*
 * [offset, offset + bytes) of the object's file was written. bytes UINT64_MAX: the file changed
 * from offset on, or its size did. A write within the file invalidates nothing, so that readers of
 * the rest of a database or disk image go on.
 */
void canfs_prefetch_invalidate(
	struct canfs_export_fs *export_fs, const void *object, uint64_t offset, uint64_t bytes);

/*
 * The object is released, or (deletes) a name of its file is about to be deleted. If the file then
 * has no name left, it is closed on return. Otherwise, or if its fetches do not end before `until`
 * (CLOCK_MONOTONIC, CANFS_CLOSE_TIMEOUT_MSEC from now), it stays open until they end.
 */
void canfs_prefetch_forget(struct canfs_prefetcher *prefetcher, const void *object, bool deletes,
	const struct timespec *until);

/*
 * A client closes the file. If the file was deleted meanwhile, does the same as
 * canfs_prefetch_forget().
 */
void canfs_prefetch_closed(struct canfs_export_fs *export_fs, const void *object);

/*
 * Sets the policy of all engines. "auto": each by its device's type. Returns 0, or -EINVAL if there
 * is no such policy.
 */
int canfs_prefetcher_set_policy(struct canfs_prefetcher *prefetcher, const char *policy);

/* The counters of a prefetcher, as of the call. */
struct canfs_prefetcher_stats {
	uint64_t reads[CANFS_READ_WAYS];
	uint64_t reads_let_through; /* read at once because too many waited; not in reads[] */
	unsigned int waiting;
	uint64_t evicted_bytes; /* fetched ahead, and evicted before they were read */
	double headroom;        /* [0, 1], of memory: scales the read-ahead distance */
	struct canfs_fd_cache_stats fd_cache;
};
struct canfs_device_view {
	const char *name;    /* as the kernel names it: sda, md0 */
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
