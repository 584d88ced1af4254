/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A spinning disk as the host sees it: a single head serves one command at a time, in the order of
 * the calls. device.h chooses the order: by arrival, or by tags.h.
 *
 *	commands --------> interface --read--> look-ahead buffer --miss--> head
 *	                       |                                            ^
 *	                       +--write--> volatile cache (16 MB) --drain---+
 *
 * - A write completes when it is in the cache, at bus speed. If the cache is full, the write and
 *   all later commands wait until the head has made room.
 * - The head drains the cache in ascending slices (C-SCAN) when no command has arrived for a
 *   moment. Above the high-water mark, it also drains one slice between any two commands. Writes
 *   therefore compete with reads even after they have completed.
 * - FLUSH completes when the cache is clean. Later commands wait; on a real drive, too, FLUSH is
 *   not a queued command.
 *
 * Time is model time and a parameter: each call takes the arrival time of a command and returns its
 * completion time. Draining is computed when the next command arrives, so that no thread has to
 * wake up for it. Calls must be in queue order.
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
		lookahead_hits; /* thereof served by look-ahead; the write cache has served all others */
	uint64_t seeks;         /* accesses that moved the head, for reads and draining */
	uint64_t slices;        /* slices drained from the write cache */
	double head_busy_usec;
	double flush_max_usec;
};

struct canfs_drive {
	struct canfs_geometry geometry;
	struct canfs_lookahead lookahead;
	struct canfs_wcache wcache;
	double head_position;
	double head_free_usec; /* the head is busy until then */
	double bus_free_usec;  /* end of the last command */
	uint64_t sweep_bytes;  /* end of the last drained slice */
	struct canfs_drive_stats stats;
};

void canfs_drive_init(struct canfs_drive *drive, uint64_t capacity_bytes);

/* Empties the buffers, for use between two runs of an experiment. */
void canfs_drive_drop_buffers(struct canfs_drive *drive);

/*
 * Return the completion time of a command on [offset, offset + bytes), which must be within the
 * disk; bytes > 0.
 */
double canfs_drive_read(
	struct canfs_drive *drive, uint64_t offset, uint64_t bytes, double arrival_usec);
double canfs_drive_write(
	struct canfs_drive *drive, uint64_t offset, uint64_t bytes, double arrival_usec);
double canfs_drive_flush(struct canfs_drive *drive, double arrival_usec);

/* Computes what the head has drained by itself before a command starts at now_usec. */
void canfs_drive_catch_up(struct canfs_drive *drive, double now_usec);

/*
 * Return the completion time of a command that would start at start_usec, without changing
 * anything. Needs canfs_drive_catch_up(). A write without room in the cache: INFINITY.
 */
double canfs_drive_read_estimate(
	const struct canfs_drive *drive, uint64_t offset, uint64_t bytes, double start_usec);
double canfs_drive_write_estimate(
	const struct canfs_drive *drive, uint64_t offset, uint64_t bytes, double start_usec);

#endif
