/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An export whose sub-FSAL has no descriptor to fetch through (PROXY_V4, CEPH, GLUSTER): what the table of active files
 * advises is read through the sub-FSAL and thrown away. What is filled then is the cache of the sub-FSAL, or of the
 * server behind it; here nothing is kept, and no read of a client ever waits.
 *
 *	read --> table of active files: what comes next? --> piece --> a few threads --> config.read, into a buffer
 *	  `--> sub-FSAL, at once
 *
 * Bounded: CANFS_REMOTE_THREADS pieces of at most CANFS_REMOTE_PIECE_BYTES are read at a time and CANFS_REMOTE_WAITING_MAX
 * wait. More are refused; what a client asks for meanwhile is dropped, as it is late.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_REMOTE_H
#define CANFS_GANESHA_FSAL_PREFETCH_REMOTE_H

#include <sys/queue.h>
#include "ganesha-fsal/prefetch/prefetcher.h"

#define CANFS_REMOTE_THREADS     4
#define CANFS_REMOTE_PIECE_BYTES ((uint32_t)1 << 20)
#define CANFS_REMOTE_WAITING_MAX 64

struct canfs_remote;

/* What is to be read. To be freed by config.end(). */
struct canfs_remote_piece {
	struct canfs_job job; /* of remote.c, as the last ones */
	const void *object;   /* any pointer that names it while it exists */
	uint64_t file;        /* for the table of active files */
	uint64_t offset;
	uint32_t bytes;  /* 1 ... CANFS_REMOTE_PIECE_BYTES */
	uint32_t cursor; /* as advised */
	bool at_end;     /* set by config.read(): the file ends with what it read */

	struct canfs_remote *remote;
	uint64_t added_usec;
	bool reading, dropped, object_left;
	TAILQ_ENTRY(canfs_remote_piece) next;
};

struct canfs_remotes;

struct canfs_remote_config {
	uint32_t files;   /* active ones */
	const char *name; /* for the administrator; copied */
	/* In one of its threads, as long as it takes: how many bytes, or -errno. */
	int64_t (*read)(struct canfs_remote_piece *piece, void *buffer);
	/* Always, and last. keeps_object: canfs_remote_forget() left the object to the piece. */
	void (*end)(struct canfs_remote_piece *piece, bool keeps_object);
	void (*thread_begins)(const char *name); /* NULL: nothing to do */
};

/* 0 or -errno. Starts its threads. */
int canfs_remote_open(struct canfs_remote **remote, struct canfs_remotes *remotes,
	const struct canfs_remote_config *config);

/*
 * From now on nothing is read ahead; what waits is dropped. Returns when nothing is being read, and its threads have
 * ended. Then close() needs the prefetcher no more; without that it drains. False: as canfs_prefetcher_drain().
 */
bool canfs_remote_drain(struct canfs_remote *remote);
void canfs_remote_close(struct canfs_remote *remote); /* NULL allowed */

/* A client reads this: what to read ahead. As canfs_files_read(); the file's size is found out. */
size_t canfs_remote_advise(struct canfs_remote *remote, uint64_t file, uint64_t offset,
	uint32_t bytes, double scale, struct canfs_advice advice[CANFS_ADVICE_MAX]);

/* Takes over the piece. False: not taken, end() will not be called: too many wait, or it drains. */
bool canfs_remote_add(struct canfs_remote *remote, struct canfs_remote_piece *piece);

/* The size or contents of the file have changed from there on. */
void canfs_remote_changed(struct canfs_remote *remote, uint64_t file, uint64_t from_offset);

/* The object is about to be released: stops reading it, in every export. True: a read is in progress, and its config.end() must release the object. */
bool canfs_remote_forget(struct canfs_remotes *remotes, const void *object);

/* The file is about to be deleted: does the same, and waits until no read is in progress, or until `until` (CLOCK_MONOTONIC). */
void canfs_remote_let_go(
	struct canfs_remotes *remotes, uint64_t file, const struct timespec *until);

/* All of a server: part of its prefetcher. */
struct canfs_remotes {
	pthread_mutex_t mutex;
	pthread_cond_t settled;         /* a piece of one of them */
	LIST_HEAD(, canfs_remote) list; /* that are not drained */
	unsigned int count;
	unsigned int waiters; /* callers of let_go() that wait; at most CANFS_CLOSERS_MAX */
	unsigned int drain_timeout_msec; /* as canfs_prefetcher_drain() */
	atomic_uint pieces;              /* of all: while there is none, no object is looked for */
};

/* As canfs_prefetcher_visit(). */
void canfs_remotes_visit(struct canfs_remotes *remotes,
	void (*visit)(const struct canfs_device_view *view, void *arg), void *arg);

#endif
