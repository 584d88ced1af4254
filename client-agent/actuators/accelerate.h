/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ACCELERATE (CA-NFS §3.3): sends dirty data now, at the pace that the caller asks for.
 *
 *	agent's loop --request(BDI, chunk)--> helper thread of the BDI --> sync_file_range(WRITE)
 *	             <------- status --------    (open, scan: may block)
 *
 * The method is paced sync_file_range without WAIT on an O_RDONLY re-open. Of six methods tried, it
 * is the only one that stalls the writer for a few ms at most and leaves the writer's errors to it.
 * Chunks go round robin over the open files of the BDI. Appended data goes first. If data must
 * leave, the rest is walked cyclically, because data may be overwritten anywhere.
 *
 * With cachestat(2) (Linux 6.5), clean ranges are skipped and asked_bytes is exact. Without it, a
 * clean range counts as asked but flushes nothing. Watch the WRITE bytes in mountstats instead.
 *
 * Each BDI has its own helper. The first request starts the helper, and the helper exits when
 * nothing more is asked for. A dead server therefore blocks only the helpers of its own BDIs, for
 * as long as it is dead.
 */
#ifndef CANFS_CLIENT_AGENT_ACTUATORS_ACCELERATE_H
#define CANFS_CLIENT_AGENT_ACTUATORS_ACCELERATE_H

#include "client-agent/kernel/mounts.h"

/*
 * Helpers, each with its BDI's writers: one per bidder (bidders.h), and spare ones for helpers that
 * a dead server blocks.
 */
#define CANFS_ACCELERATE_BDIS_MAX  96
#define CANFS_ACCELERATE_IDLE_MSEC 1000 /* period of scans for writers, and of rechecks when idle */

struct canfs_accelerator;

struct canfs_accelerate_status {
	bool busy;            /* a request for this BDI waits or is being served */
	uint64_t requests;    /* requests served so far */
	uint64_t asked_bytes; /* bytes passed to sync_file_range so far */
	bool sends; /* the last request, at most a second old, found dirty data that it was allowed to send */
	bool rewrites; /* all known files were looked at twice, and none has grown */
	bool grows; /* the last request, at most a second old, knew a file that has grown since it was found */
	unsigned int files;       /* open for writing, as of the last scan */
	unsigned int errors;      /* failed opens, scans and syncs so far */
	uint64_t busy_since_usec; /* CLOCK_MONOTONIC, start of the helper's present work; 0: the
				     helper is idle. An old value means a dead server. */
};

/* root is as in procfs.h. Returns 0 or -ENOMEM. */
int canfs_accelerator_new(struct canfs_accelerator **accelerator, const char *root);

/*
 * Stops the helpers. A helper that a dead server blocks for more than a second is left behind. When
 * it returns, it frees what is left. accelerator may be NULL.
 */
void canfs_accelerator_free(struct canfs_accelerator *accelerator);

/*
 * Asks to send the next chunk_bytes of the BDI's dirty data. 0: only checks which files grow.
 * hurries: see flush.h. Never blocks.
 *
 * Returns 0, or
 * - -EBUSY if the previous request of this BDI is not done: the server or the disk is slower than
 *   the pace, so ask for less,
 * - -ENOBUFS if CANFS_ACCELERATE_BDIS_MAX other BDIs were asked for in the last second, or are
 *   blocked,
 * - -EAGAIN if no thread can be started.
 */
int canfs_accelerate(struct canfs_accelerator *accelerator, struct canfs_bdi bdi,
	uint64_t chunk_bytes, bool hurries);

/* If drop, large files are dropped from the page cache as they are sent (writers.h). */
void canfs_accelerate_drop_behind(struct canfs_accelerator *accelerator, bool drop);

/* All 0 for a BDI that was never asked for, or whose slot was given to another. Never blocks. */
void canfs_accelerate_status(struct canfs_accelerator *accelerator, struct canfs_bdi bdi,
	struct canfs_accelerate_status *status);

#endif
