/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A spinning disk as its host sees it: one command at a time over one head, in the order in which they are
 * given here (which that is, is device.h's business: by arrival, or tags.h's choice).
 *
 *	commands --------> interface --read--> look-ahead buffer --miss--> head
 *	                       |                                            ^
 *	                       +--write--> volatile cache (16 MB) --drain---+
 *
 * - A write is done when it is in the cache, at the speed of the bus; without room it waits for
 *   the head to make some, and so does all that comes after it.
 * - The head drains the cache in ascending slices (C-SCAN): when no command has come for a moment,
 *   and, above the high-water mark, one slice between any two commands. So writes contend with
 *   reads even though they are "done".
 * - FLUSH is done when the cache is clean; the commands after it wait (it is not a queued command
 *   on a real drive either).
 *
 * Time is model time and a parameter: every call takes the arrival of a command and returns its
 * completion. Draining is worked out when the next command comes, so that nobody has to be woken
 * for it and no wake-up can be lost. Calls must come in the order of the queue.
 */
#ifndef CANFS_BENCH_DISK_DRIVE_H
#define CANFS_BENCH_DISK_DRIVE_H

#include <stdint.h>

#include "bench/disk/geometry.h"
#include "bench/disk/lookahead.h"
#include "bench/disk/wcache.h"

struct canfs_drive_stats {
	uint64_t buffer_hits; /* reads that did not move the head */
	uint64_t
		lookahead_hits; /* those of them that look-ahead served, the others the write cache */
	uint64_t seeks;         /* accesses that did, for reads and for draining */
	uint64_t slices;        /* of the write cache drained */
	double head_busy_usec;
	double flush_max_usec;
};

struct canfs_drive {
	struct canfs_geometry geometry;
	struct canfs_lookahead lookahead;
	struct canfs_wcache wcache;
	double head_position;
	double head_free_usec; /* the head is in use until then */
	double bus_free_usec;  /* the last command ends then */
	uint64_t sweep_bytes;  /* where the last drained slice ended */
	struct canfs_drive_stats stats;
};

void canfs_drive_init(struct canfs_drive *drive, uint64_t capacity_bytes);

/* Forget what the buffers hold (between two runs of an experiment). */
void canfs_drive_drop_buffers(struct canfs_drive *drive);

/* Completion time of a command on [offset, offset + bytes), which lies within the disk; bytes > 0. */
double canfs_drive_read(
	struct canfs_drive *drive, uint64_t offset, uint64_t bytes, double arrival_usec);
double canfs_drive_write(
	struct canfs_drive *drive, uint64_t offset, uint64_t bytes, double arrival_usec);
double canfs_drive_flush(struct canfs_drive *drive, double arrival_usec);

/* Work out what the head has drained by itself before a command starts at now_usec. */
void canfs_drive_catch_up(struct canfs_drive *drive, double now_usec);

/* Completion time of a command that starts at start_usec, to which the drive has caught up. Nothing is
 * changed. A write without room in the cache: INFINITY. */
double canfs_drive_read_estimate(
	const struct canfs_drive *drive, uint64_t offset, uint64_t bytes, double start_usec);
double canfs_drive_write_estimate(
	const struct canfs_drive *drive, uint64_t offset, uint64_t bytes, double start_usec);

#endif
