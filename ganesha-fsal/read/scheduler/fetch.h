/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A fetch: bytes of a file to bring into the page cache. Fetches wait in a device's queue
 * (engine.h).
 */
#ifndef CANFS_GANESHA_FSAL_READ_SCHEDULER_FETCH_H
#define CANFS_GANESHA_FSAL_READ_SCHEDULER_FETCH_H

#include <stdbool.h>
#include <stdint.h>
#include <bsd/sys/tree.h>

#define CANFS_FETCH_BYTES_MAX ((uint32_t)1 << 20)

enum canfs_fetch_kind {
	CANFS_FETCH_DEMAND, /* a client waits for it */
	CANFS_FETCH_PREFETCH,
	CANFS_FETCH_KINDS
};

struct canfs_fetch;

/* One fetch waits for another, which brings some of its bytes. */
struct canfs_join {
	struct canfs_join *next; /* of the fetches that wait for the same one */
	struct canfs_fetch *waiter;
};

/*
 * Owned by the caller, which fills in the first part and does not touch it from add() until done().
 */
struct canfs_fetch {
	enum canfs_fetch_kind kind;
	/*
	 * A regular file open for reading, without O_DIRECT. It must stay open until done(). Use
	 * the descriptor for nothing else, if possible. The engine reads the last byte of each
	 * fetch through it, and the kernel's read-ahead guesses at readers by descriptor.
	 */
	int fd;
	uint64_t file;     /* key of the file, as in the table of active files */
	uint64_t fs_start; /* bytes: where its file system (its partition) begins on the disk */
	uint64_t offset;   /* bytes */
	/* 1 ... CANFS_FETCH_BYTES_MAX; bytes past the end of the file are not waited for */
	uint32_t bytes;
	uint32_t stream; /* of prefetch: number of its cursor */
	/*
	 * error 0: the pages are there. -ECANCELED: the fetch was given up. Another -errno: the
	 * device failed. On an error, a demand read must proceed without the engine. Called in a
	 * thread of the engine that holds no lock. done() may add() and may free the fetch, but
	 * must neither block nor take long.
	 */
	void (*done)(struct canfs_fetch *fetch, int error);

	/* Private to the queue from here on. */
	uint64_t from, to;        /* what it fetches itself; other fetches bring the rest */
	uint64_t address, serial; /* its place on the device, and in the order of arrival */
	uint64_t added_nsec;
	struct canfs_join join[2]; /* to the fetches that bring its front and its end */
	struct canfs_join *joined; /* of the fetches that wait for it */
	unsigned int pending;      /* joins, and its own part, that are not done */
	int error;
	enum { CANFS_FETCH_ENTERED, CANFS_FETCH_WAITING, CANFS_FETCH_IN_KERNEL } state;
	bool hurried;             /* a demand read has joined it */
	void *owner;              /* private to the policy */
	struct canfs_fetch *next; /* in a list of fetches whose done() is due */
	RB_ENTRY(canfs_fetch) by_place, by_file, by_age;
};

#endif
