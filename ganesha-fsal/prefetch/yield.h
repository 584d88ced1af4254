/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When are plain sequential streams better left to the kernel's own read-ahead? Our order makes them fast and fair as
 * long as the drive has little else to do. But of a drive that takes many commands and orders them itself, the few that we
 * give it are a small share beside others' (write-back, fsyncs, many readers of small files); many of ours instead would
 * undo the order and make everybody wait for them. The kernel's read-ahead is neither: many small requests, which its
 * scheduler prefers to writes, and the drive goes on where it is.
 *
 *	takes many:  MANY or more commands were in the drive at once, or the kernel says that it takes them (a drive without
 *	             tagged queueing never has so many)
 *	others:      of writes and flushes WRITES or more a second; or so many reads at a time, on average, that are none of a
 *	             stream's, that they are a load of their own (READS)
 *	yields:      both; until there have been no others for QUIET_SEC
 *
 * What the kernel does not read ahead (strides, backward and shuffled reads, several streams of a file) is not concerned.
 * Pure: no clock, no I/O.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_YIELD_H
#define CANFS_GANESHA_FSAL_PREFETCH_YIELD_H

#include <stdbool.h>
#include <stdint.h>

#define CANFS_YIELD_MANY      8u
#define CANFS_YIELD_WRITES    8.0
#define CANFS_YIELD_READS     4.0
#define CANFS_YIELD_QUIET_SEC 3.0
#define CANFS_YIELD_TURN_SEC  1.0 /* of which the means are */

/* What is known of a device, since its beginning. */
struct canfs_disk_use {
	uint64_t writes;     /* flushes, too */
	uint64_t in_driver;  /* commands, now */
	uint64_t reads_usec; /* the sum of what reads took that are none of a stream's */
};

/* All zero at first. */
struct canfs_yield {
	struct canfs_disk_use last;
	bool primed, takes_many, yields;
	double turn_sec, quiet_sec;
};

/* elapsed_sec > 0: since the last step, several of which are a turn. Returns whether it yields from now on. */
bool canfs_yield_step(
	struct canfs_yield *yield, const struct canfs_disk_use *now, double elapsed_sec);

/*
 * Of the files `stat` and `inflight` of a block device in /sys: all but reads_usec. A kernel before 5.5 counts no flushes.
 * 0; -EPROTO: torn, *use is unchanged.
 */
int canfs_parse_disk_use(const char *stat, const char *inflight, struct canfs_disk_use *use);

#endif
