/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The files beside the disk: `control` is written, `stat` is read. */
#ifndef CANFS_BENCH_DISK_CONTROL_H
#define CANFS_BENCH_DISK_CONTROL_H

#include <stddef.h>

#include "bench/disk/queue.h"

/*
 * Executes words separated by white space, in order:
 *
 *	mode=free | mode=hdd | mode=hdd-ncq | mode=ssd
 *	scale=N		model seconds per wall second, 0 < N <= 1000
 *	reset		set counters to 0
 *	flushcache	empty the drive's buffers
 *	powercut=SEED	lose part of the data not covered by a FLUSH (volatile.h), fail all commands
 *	poweron		end the power cut
 *	recut=SEED	as if the last powercut had SEED; undoes all writes since then
 *	fail=WHAT	fail with EIO as described in faults.h; fail=none: end this
 *
 * Returns 0, or -EINVAL at the first unknown word, after executing those before it.
 */
int canfs_disk_control(struct canfs_disk_threads *queue, const char *text, size_t bytes);

/*
 * Prints a JSON object. Returns its length, which is < size.
 *
 *	busy_seconds        with a command outstanding
 *	head_busy_seconds   seeks and transfers
 *	late_*              how late answers were, wall time
 *	buffer_hits, lookahead_hits, seeks, slices, cached_bytes, flush_max_ms
 *	                    counters of a spinning drive
 *	cut_sectors         sectors that were volatile at the last power cut
 *	lost_sectors        sectors that the last power cut took
 *	errors              failed commands
 */
size_t canfs_disk_stat(struct canfs_disk_threads *queue, char *text, size_t size);

#endif
