/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bytes of a file that shall become resident: what waits in a device's queue (engine.h). */
#ifndef CANFS_GANESHA_FSAL_SCHEDULER_FETCH_H
#define CANFS_GANESHA_FSAL_SCHEDULER_FETCH_H

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
	struct canfs_join *next; /* of those that wait for the same */
	struct canfs_fetch *waiter;
};

/* The caller's, which fills in the first part, and leaves it alone from add() until done(). */
struct canfs_fetch {
	enum canfs_fetch_kind kind;
	/*
	 * A regular file, for reading, not O_DIRECT; stays open until done(). Best one of its own: the last byte of
	 * each fetch is read of it, which a kernel that guesses at readers by descriptor takes for a reader.
	 */
	int fd;
	uint64_t file;     /* names the file, as for the table of active files */
	uint64_t fs_start; /* of its file system on the disk, bytes: that of its partition */
	uint64_t offset;   /* bytes */
	/* 1 ... CANFS_FETCH_BYTES_MAX; what lies past the end of the file is not waited for */
	uint32_t bytes;
	uint32_t stream; /* of prefetch: its cursor's number */
	/*
	 * The pages are there (0), the device failed (-errno), or it was given up (-ECANCELED): a demand read is
	 * then to go on without us. In a thread of the engine, which holds no lock then: it may add(), and free
	 * the fetch, but must neither block nor take long.
	 */
	void (*done)(struct canfs_fetch *fetch, int error);

	/* The queue's own from here on. */
	uint64_t from, to;        /* what it fetches itself; the rest others fetch anyway */
	uint64_t address, serial; /* its place on the device, and in the order of arrival */
	uint64_t added_nsec;
	struct canfs_join join[2]; /* with the fetches of its front and its end */
	struct canfs_join *joined; /* which wait for it */
	unsigned int pending;      /* joins, and the part of its own, that are not done */
	int error;
	enum { CANFS_FETCH_ENTERED, CANFS_FETCH_WAITING, CANFS_FETCH_IN_KERNEL } state;
	bool hurried;             /* a demand read has joined it */
	void *owner;              /* of a policy */
	struct canfs_fetch *next; /* in a list of those to be told */
	RB_ENTRY(canfs_fetch) by_place, by_file, by_age;
};

#endif
