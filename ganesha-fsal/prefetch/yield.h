/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When are plain sequential streams better left to the kernel's own read-ahead?
 *
 * Our order makes them fast and fair as long as the drive has little else to do. But of a drive that takes many commands and
 * orders them itself, the few that we give it are a small share beside others' (write-back, fsyncs, many readers of small
 * files); many of ours instead would undo the order and make everybody wait for them. The kernel's read-ahead is neither:
 * many small requests, which its scheduler prefers to writes, and the drive goes on where it is.
 *
 * And such a drive needs no help with streams that are alone, as long as it has room for all that the kernel reads ahead for
 * them: it stays with one for as long as that has a command there. With more streams (or fewer commands) it loses half of
 * its time to seeks, and a random reader beside them waits for most of a second; so these have our order.
 *
 *	takes     commands at once: as the kernel says; else, if MORE were seen than we give a disk, as many as a SATA disk
 *	crowded   a drive that takes MANY, and others do WRITES writes and flushes a second; or so many reads at a time, on average,
 *	          that are none of a stream's, that they are a load of their own (READS); until QUIET_SEC without
 *	alone     for QUIET_SEC: nothing but plain streams that KERNEL_COMMANDS each suffice for, or nothing at all: a stream
 *	          that comes to an idle disk is left at once
 *	yields    either
 *
 * What the kernel does not read ahead (strides, backward and shuffled reads, several streams of a file) is not concerned.
 * Pure: no clock, no I/O.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_YIELD_H
#define CANFS_GANESHA_FSAL_PREFETCH_YIELD_H

#include <stdbool.h>
#include <stdint.h>

#define CANFS_YIELD_MANY        8u
#define CANFS_YIELD_MORE        5u
#define CANFS_YIELD_SATA        32u
#define CANFS_YIELD_WRITES      8.0
#define CANFS_YIELD_READS       4.0
#define CANFS_YIELD_READS_ALONE 0.1 /* at a time: the first reads of a file are no stream's yet */
#define CANFS_YIELD_KERNEL_COMMANDS                                                                \
	2u /* of a stream: the window that is being read, and the next */
#define CANFS_YIELD_QUIET_SEC 3.0
#define CANFS_YIELD_TURN_SEC  1.0 /* of which the means are */

/* What is known of a device, since its beginning. */
struct canfs_disk_use {
	uint64_t writes;     /* flushes, too */
	uint64_t in_driver;  /* commands, now */
	uint64_t reads_usec; /* the sum of what reads took that are none of a stream's */
	uint64_t fetches;    /* ours, of what the kernel does not read ahead */
	uint64_t plain;      /* streams that have read in this turn */
};

/* All zero at first, but for `takes` if the kernel says it. */
struct canfs_yield {
	struct canfs_disk_use last;
	uint64_t takes;
	bool primed, crowded, yields;
	double turn_sec; /* 0: a turn begins */
	double quiet_sec, alone_sec;
};

/* elapsed_sec > 0: since the last step, several of which are a turn. Returns whether it yields from now on. */
bool canfs_yield_step(
	struct canfs_yield *yield, const struct canfs_disk_use *now, double elapsed_sec);

/*
 * Of the files `stat` and `inflight` of a block device in /sys: writes and in_driver. A kernel before 5.5 counts no flushes.
 * 0; -EPROTO: torn, *use is unchanged.
 */
int canfs_parse_disk_use(const char *stat, const char *inflight, struct canfs_disk_use *use);

#endif
