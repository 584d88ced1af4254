/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Finds the files that are open for writing on a mount, without touching the server.
 * /proc/PID/fdinfo shows flags, mnt_id and inode of every open file. A stat of the NFS file would
 * flush the file.
 *
 * Each file is re-opened O_RDONLY through /proc/PID/fd/N. Closing a duplicate of a writable NFS
 * descriptor flushes and waits; closing an O_RDONLY descriptor does not. Our descriptor is kept
 * only while the writer has the file open. If the server squashes root and refuses the open, the
 * file is opened with the writer's credentials. Opening and closing may block on a dead server, so
 * only the accelerator's helper threads call these functions.
 *
 * A mount has a different ID in each mount namespace (containers, hardened services). The mountinfo
 * of each process therefore tells which of its mount IDs are on the BDI.
 *
 * A process that has not run since its last scan has opened no files. Reading its CPU clock costs a
 * hundredth of scanning its files. So a scan costs only as much as the processes that ran.
 *
 * Limitation: a file that is written only through mmap after its descriptor was closed is not
 * found.
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_WRITERS_H
#define CANFS_CLIENT_AGENT_KERNEL_WRITERS_H

#include "client-agent/kernel/mounts.h"

#define CANFS_WRITERS_MAX        64   /* files per BDI; more files wait for a free place */
#define CANFS_WRITERS_IDS_MAX    512  /* mounts (bind mounts) of the BDI per mount namespace */
#define CANFS_WRITERS_SCAN_FILES 4096 /* processes and files per scan; the next continues there */
#define CANFS_WRITERS_SEEN_MAX   4096 /* processes remembered; more processes take turns */

struct canfs_writer {
	int pid;
	int writer_fd; /* descriptor number in that process */
	int mount_id;  /* in that process's mount namespace */
	uint64_t inode;
	int fd;              /* our descriptor, O_RDONLY */
	bool write_only;     /* opened O_WRONLY: the writer does not read the file */
	uint64_t size_bytes; /* as of the last canfs_flush(), if there was one (sized) */
	bool sized;
	bool grows;             /* since the previous size */
	uint8_t looks;          /* at its size; 2 stands for more, too */
	bool has_grown;         /* since it was found */
	uint64_t tail_bytes;    /* appended data is sent from here ... */
	uint64_t walk_bytes;    /* ... and overwritten data, cyclically, from here to tail, ... */
	unsigned int rests;     /* ... but not during the next so many calls */
	uint64_t dropped_bytes; /* dropped from the page cache up to here ... */
	unsigned int drops;     /* ... in so many calls, as not all of it was safe at first */
};

/* The writers on one BDI. */
struct canfs_writers {
	struct canfs_bdi bdi;
	size_t n;
	struct canfs_writer writer[CANFS_WRITERS_MAX];
	size_t next;         /* the writer that is served next */
	int next_pid;        /* the first process of the next scan */
	bool swept;          /* all processes have been scanned once */
	unsigned int errors; /* files that could not be opened */
	bool drop_behind;    /* see canfs_writer_drop_behind() */

	/* Indexed by PID modulo the size: the scanned process and its CPU time at the scan. */
	uint64_t seen[CANFS_WRITERS_SEEN_MAX];
};

/* Makes *writers an empty table for files on bdi. */
void canfs_writers_init(struct canfs_writers *writers, struct canfs_bdi bdi);

/* Closes our descriptors of files that their writers have closed. */
void canfs_writers_recheck(struct canfs_writers *writers, const char *root);

/*
 * Calls canfs_writers_recheck(), then looks for new writers. Returns 0, or -errno if /proc cannot
 * be read.
 */
int canfs_writers_scan(struct canfs_writers *writers, const char *root);

/*
 * How long to wait after a scan that took cost_usec of CPU time.
 *
 * Until all processes have been scanned once, scans may take 1/10 of a CPU, because data is waiting
 * to be sent. Afterwards they may take 1/2000, because most writers continue to write. If sends is
 * false, the data to send belongs to none of the known writers. Scans may then take 1/250, to find
 * writers that started while all data was held.
 */
uint64_t canfs_writers_rest_usec(
	const struct canfs_writers *writers, uint64_t cost_usec, bool sends);

void canfs_writers_close(struct canfs_writers *writers);

/*
 * Drops the sent part of a large write-only file from the page cache, as far as the data is safe on
 * the server. Otherwise the file fills the page cache with data that nobody reads, and evicts data
 * that others read. Does nothing unless the file was opened O_WRONLY and at least
 * CANFS_DROP_MIN_BYTES of it were sent. Call this only while readers miss the cache.
 *
 * Does nothing after CANFS_DROP_TRIES calls in which no more data was sent. That is long enough for
 * a COMMIT. Each try makes the kernel search all CPUs for pages that are not safe. Data that is in
 * the cache again after that has a reader.
 */
#define CANFS_DROP_MIN_BYTES (UINT64_C(16) << 20)
#define CANFS_DROP_TRIES     40
void canfs_writer_drop_behind(struct canfs_writer *writer);

/* Fields of an fdinfo file (Linux 5.14 and later). */
struct canfs_fdinfo {
	unsigned int flags; /* of open(2) */
	int mount_id;
	uint64_t inode;
};

/* Returns 0, or -EPROTO if a field is missing or torn. */
int canfs_fdinfo_parse(const char *text, struct canfs_fdinfo *fdinfo);

#endif
