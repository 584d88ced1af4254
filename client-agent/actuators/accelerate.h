/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ACCELERATE (CA-NFS §3.3): send dirty data now, at the pace that the caller asks for.
 *
 *	agent's loop --request(BDI, chunk)--> helper thread of the BDI --> sync_file_range(WRITE)
 *	             <------- status --------    (open, scan: may block)
 *
 * Paced sync_file_range without WAIT on an O_RDONLY re-open is the one method of six that neither
 * stalls the writer (a few ms at most) nor consumes its write errors. Chunks go round robin over the
 * open files of the BDI: what was appended first, then cyclically over the rest, since data may be
 * overwritten anywhere. Where cachestat(2) exists (Linux 6.5) clean ranges are skipped and
 * asked_bytes is exact; else a clean range counts as asked but flushes nothing: watch WRITE bytes in
 * mountstats.
 *
 * Each BDI has a helper of its own, started by its first request and ended when nothing more is asked
 * for: a dead server blocks the helpers of its own BDIs for as long as it is dead, and nothing else.
 */
#ifndef CANFS_CLIENT_AGENT_ACTUATORS_ACCELERATE_H
#define CANFS_CLIENT_AGENT_ACTUATORS_ACCELERATE_H

#include "client-agent/kernel/mounts.h"

/* Helpers, each with its BDI's writers: as many as bidders.h has, and some that hang on a dead server. */
#define CANFS_ACCELERATE_BDIS_MAX  96
#define CANFS_ACCELERATE_IDLE_MSEC 1000 /* how often writers are looked for, and let go when idle */

struct canfs_accelerator;

struct canfs_accelerate_status {
	bool busy;            /* a request for this BDI waits or is being served */
	uint64_t requests;    /* served so far */
	uint64_t asked_bytes; /* handed to sync_file_range so far */
	bool sends; /* the last request, of a second ago at most, found something that it may send */
	bool grows;               /* likewise: a file that is longer than when it was found */
	unsigned int files;       /* open for writing, as of the last scan */
	unsigned int errors;      /* failed opens, scans and syncs so far */
	unsigned int truncated;   /* scans that met a bound so far: not all writers are known */
	uint64_t busy_since_usec; /* CLOCK_MONOTONIC, when the helper began what it is at now; 0: it
				     is idle. An old one means a server that does not answer. */
};

/* 0, -ENOMEM. root as in procfs.h. */
int canfs_accelerator_new(struct canfs_accelerator **accelerator, const char *root);

/*
 * Stops the helpers. One that hangs on a dead server is left behind after a second; when it comes back it
 * frees what is left. NULL allowed.
 */
void canfs_accelerator_free(struct canfs_accelerator *accelerator);

/*
 * Asks for the next chunk_bytes of the BDI's dirty data to be sent; 0: only looks which files grow. hurries: as in flush.h. Never
 * blocks. Returns 0; -EBUSY: the previous request of this BDI is not done yet (the server or the disk is slower than the pace: ask for
 * less); -ENOBUFS: CANFS_ACCELERATE_BDIS_MAX others were asked for in the last second, or hang; or -EAGAIN: no thread can be started.
 */
int canfs_accelerate(struct canfs_accelerator *accelerator, struct canfs_bdi bdi,
	uint64_t chunk_bytes, bool hurries);

/* From now on large files are dropped from the page cache as they are sent (writers.h), or no more. */
void canfs_accelerate_drop_behind(struct canfs_accelerator *accelerator, bool drop);

/* All 0 for a BDI that was never asked for or has given way. Never blocks. */
void canfs_accelerate_status(struct canfs_accelerator *accelerator, struct canfs_bdi bdi,
	struct canfs_accelerate_status *status);

#endif
