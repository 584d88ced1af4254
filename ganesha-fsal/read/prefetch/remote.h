/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An export whose sub-FSAL has no descriptor to fetch through (PROXY_V4, CEPH, GLUSTER). The bytes
 * that the table of active files advises are read through the sub-FSAL and thrown away. This fills
 * the cache of the sub-FSAL, or of the server behind it. Nothing is kept here, and no client's READ
 * ever waits.
 *
 *	read --> table of active files: what comes next? --> piece --> a few threads --> config.read, into a buffer
 *	  `--> sub-FSAL, at once
 *
 * Bounded: CANFS_REMOTE_THREADS pieces of at most CANFS_REMOTE_PIECE_BYTES are read at a time, and
 * CANFS_REMOTE_WAITING_MAX wait. Further pieces are refused. A waiting piece that a client reads
 * meanwhile is dropped, because it is too late.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_REMOTE_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_REMOTE_H

#include <sys/queue.h>
#include "ganesha-fsal/read/prefetch/prefetcher.h"

#define CANFS_REMOTE_THREADS     4
#define CANFS_REMOTE_PIECE_BYTES ((uint32_t)1 << 20)
#define CANFS_REMOTE_WAITING_MAX 64

struct canfs_remote;

/* A range to read. config.end() frees it. */
struct canfs_remote_piece {
	struct canfs_job job; /* private to remote.c, like the last members */
	const void *object;   /* any pointer that identifies the object while it exists */
	uint64_t file;        /* key in the table of active files */
	uint64_t offset;
	uint32_t bytes;  /* 1 ... CANFS_REMOTE_PIECE_BYTES */
	uint32_t cursor; /* as advised */
	bool at_end;     /* set by config.read(): the read came to the end of the file */

	struct canfs_remote *remote;
	uint64_t added_usec;
	bool reading, dropped, object_left;
	TAILQ_ENTRY(canfs_remote_piece) next;
};

struct canfs_remotes;

struct canfs_remote_config {
	uint32_t files;   /* active files */
	const char *name; /* shown to the administrator; copied */
	/*
	 * Reads the piece into buffer. Runs in a thread of the remote and may block. Returns the
	 * bytes read, or -errno.
	 */
	int64_t (*read)(struct canfs_remote_piece *piece, void *buffer);
	/*
	 * Always called, and last. keeps_object: canfs_remote_forget() left the object to this
	 * piece.
	 */
	void (*end)(struct canfs_remote_piece *piece, bool keeps_object);
	void (*thread_begins)(const char *name); /* NULL: nothing to do */
};

/* Returns 0 or -errno. Starts the threads of the remote. */
int canfs_remote_open(struct canfs_remote **remote, struct canfs_remotes *remotes,
	const struct canfs_remote_config *config);

/*
 * canfs_remote_drain() stops reading ahead and drops waiting pieces. It returns when no piece is
 * being read and the threads have ended. After a drain, canfs_remote_close() does not use the
 * prefetcher. Without a drain, close() drains first. False: as canfs_prefetcher_drain().
 */
bool canfs_remote_drain(struct canfs_remote *remote);
void canfs_remote_close(struct canfs_remote *remote); /* NULL allowed */

/*
 * A client reads these bytes. Returns what to read ahead, as canfs_files_read(). The file's size is
 * learned from reads.
 */
size_t canfs_remote_advise(struct canfs_remote *remote, uint64_t file, uint64_t offset,
	uint32_t bytes, double scale, struct canfs_advice advice[CANFS_ADVICE_MAX]);

/*
 * Takes over the piece. False: too many pieces wait, or the remote drains. The piece is then not
 * taken, and end() is not called for it.
 */
bool canfs_remote_add(struct canfs_remote *remote, struct canfs_remote_piece *piece);

/* The size or contents of the file have changed from from_offset on. */
void canfs_remote_changed(struct canfs_remote *remote, uint64_t file, uint64_t from_offset);

/*
 * The object is about to be released: drops its waiting pieces, in every export. True: a piece is
 * being read, and its config.end() must release the object.
 */
bool canfs_remote_forget(struct canfs_remotes *remotes, const void *object);

/*
 * The file is about to be deleted: drops its waiting pieces, in every export. Then waits until none
 * of its pieces is being read, at most until `until` (CLOCK_MONOTONIC).
 */
void canfs_remote_let_go(
	struct canfs_remotes *remotes, uint64_t file, const struct timespec *until);

/* All remotes of a server. Part of its prefetcher. */
struct canfs_remotes {
	pthread_mutex_t mutex;
	pthread_cond_t settled;         /* a piece of one of them ended */
	LIST_HEAD(, canfs_remote) list; /* those not drained */
	unsigned int count;
	unsigned int waiters; /* callers of let_go() that wait; at most CANFS_CLOSERS_MAX */
	unsigned int drain_timeout_msec; /* of canfs_remote_drain() */
	atomic_uint pieces;              /* of all; while it is 0, no object is searched for */
};

/* Like canfs_prefetcher_visit(). */
void canfs_remotes_visit(struct canfs_remotes *remotes,
	void (*visit)(const struct canfs_device_view *view, void *arg), void *arg);

#endif
