/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The files `control` (written) and `stat` (read) beside the disk. */
#ifndef CANFS_BENCH_DISK_CONTROL_H
#define CANFS_BENCH_DISK_CONTROL_H

#include <stddef.h>

#include "bench/disk/queue.h"

/*
 * Words separated by white space, obeyed in order:
 *	mode=free | mode=hdd | mode=hdd-ncq | mode=ssd
 *	scale=N		model seconds per wall second, 0 < N <= 1000
 *	reset		counters to 0
 *	flushcache	forget the drive's buffers
 *	powercut=SEED	lose part of what no FLUSH has covered (volatile.h), and fail every command
 *	poweron		until then
 *	recut=SEED	as if the last powercut had been with SEED: whatever was written since is undone
 *	fail=WHAT	EIO, as faults.h says it; fail=none: no more
 * 0, or -EINVAL for the first word that is none of these (those before it were obeyed).
 */
int canfs_disk_control(struct canfs_disk_threads *queue, const char *text, size_t bytes);

/* One JSON object; returns its length, < size. busy_seconds: with a command outstanding; head_busy_seconds:
 * seeks and transfers; late_*: by how much answers were late, wall time; the drive's own counters
 * (hits, seeks, slices, cached, flush) are those of a spinning disk; cut_sectors and lost_sectors: that were
 * volatile at the last power cut, and that it took; errors: commands that were failed. */
size_t canfs_disk_stat(struct canfs_disk_threads *queue, char *text, size_t size);

#endif
