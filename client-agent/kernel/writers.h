/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which files are open for writing on a mount, found without touching the server: /proc/PID/fdinfo
 * tells flags, mnt_id and inode of every open file. (A stat of the NFS file would flush it.)
 *
 * Each is re-opened O_RDONLY through /proc/PID/fd/N: a duplicate of a writable NFS descriptor would
 * flush and wait when closed, an O_RDONLY one does not. The descriptor is kept only while the
 * writer has the file open. Where the server squashes root and refuses, the file is opened in the
 * writer's name. Opening and closing may block on a dead server: only the accelerator's helper
 * thread calls this.
 *
 * A mount has another ID in each mount namespace (containers, hardened services), so each process's
 * own mountinfo tells which of its IDs lie on the BDI.
 *
 * A process that has not run since its files were looked at has opened none, and its CPU clock tells so for a
 * hundredth of the price: a sweep costs what those cost that run.
 *
 * Limitations: a file that is written only through mmap after its descriptor was closed is not
 * found.
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_WRITERS_H
#define CANFS_CLIENT_AGENT_KERNEL_WRITERS_H

#include "client-agent/kernel/mounts.h"

#define CANFS_WRITERS_MAX        64   /* files per BDI; further ones wait for a free place */
#define CANFS_WRITERS_IDS_MAX    512  /* mounts (bind mounts) of the BDI per mount namespace */
#define CANFS_WRITERS_SCAN_FILES 4096 /* processes and files per scan; the next one goes on there */
#define CANFS_WRITERS_SEEN_MAX   4096 /* processes remembered; further ones take turns */

struct canfs_writer {
	int pid;
	int writer_fd; /* its number in that process */
	int mount_id;  /* likewise */
	uint64_t inode;
	int fd;              /* ours, O_RDONLY */
	bool write_only;     /* opened so: its writer does not read it */
	uint64_t size_bytes; /* when flush.c looked last, if it has (sized) */
	bool sized;
	bool grows;          /* since the look before */
	bool has_grown;      /* since it was found */
	uint64_t tail_bytes; /* appended data is asked for from here ... */
	uint64_t walk_bytes; /* ... and overwritten data, cyclically, from here below tail, ... */
	unsigned int rests;  /* ... but not in so many calls to come */
	uint64_t dropped_bytes; /* dropped up to here ... */
	unsigned int drops;     /* ... so many times: not all was safe the first time */
};

/* The writers on one BDI. */
struct canfs_writers {
	struct canfs_bdi bdi;
	size_t n;
	struct canfs_writer writer[CANFS_WRITERS_MAX];
	size_t next;            /* whose turn it is */
	int next_pid;           /* where the next scan begins */
	bool swept;             /* all processes have been looked at once */
	unsigned int truncated; /* scans that ended at a bound */
	unsigned int errors;    /* files that could not be opened */
	bool drop_behind;       /* see canfs_writer_drop_behind() */

	/* At PID modulo the size: the process looked at, and its CPU time then. */
	uint64_t seen[CANFS_WRITERS_SEEN_MAX];
};

/* Makes it an empty table for files on bdi. */
void canfs_writers_init(struct canfs_writers *writers, struct canfs_bdi bdi);

/* Closes the files of writers that are gone. */
void canfs_writers_recheck(struct canfs_writers *writers, const char *root);

/* canfs_writers_recheck(), then looks for new ones. 0, or -errno if /proc cannot be read. */
int canfs_writers_scan(struct canfs_writers *writers, const char *root);

/*
 * How long to rest after a scan that took cost_usec of a processor. Until all processes have been looked at once it
 * may take 1/10: data is to be sent now. Then 1/2000, since most that write go on writing; but 1/250 if what is
 * to be sent is none of the known writers' (sends false): one that began while all was held is to be found as well.
 */
uint64_t canfs_writers_rest_usec(
	const struct canfs_writers *writers, uint64_t cost_usec, bool sends);

void canfs_writers_close(struct canfs_writers *writers);

/*
 * A large file that is only written fills the page cache with what nobody will look at, and pushes out what
 * others read. Drops as much of it as is safe on the server, if it is such a file: one of
 * CANFS_DROP_MIN_BYTES at least, opened O_WRONLY. Call it only where readers miss their cache. CANFS_DROP_TRIES
 * calls after more was sent it does nothing: that is long enough for a COMMIT, each time it makes the kernel look on
 * all processors for pages that are not safe, and what comes back into the cache is read by somebody.
 */
#define CANFS_DROP_MIN_BYTES (UINT64_C(16) << 20)
#define CANFS_DROP_TRIES     40
void canfs_writer_drop_behind(struct canfs_writer *writer);

/* What we use of one fdinfo file (Linux 5.14 and later). */
struct canfs_fdinfo {
	unsigned int flags; /* of open(2) */
	int mount_id;
	uint64_t inode;
};

/* 0; -EPROTO if a field is missing or torn. */
int canfs_fdinfo_parse(const char *text, struct canfs_fdinfo *fdinfo);

#endif
