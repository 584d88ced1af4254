/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Tagged queueing: the drive takes the command that it can complete first, among the oldest 32.
 * This order is shortest positioning time first, with seek, rotation and buffers.
 *
 *	oldest ->  r  r  w  r | F  r  r          F: a FLUSH is taken alone, when it is the oldest
 *	           `--------' candidates, if they had arrived when the drive became free
 *
 * - A command older than 0.7 s goes first, since others might pass it forever.
 * - A write goes at once if the drive's cache has room. Otherwise reads pass it: the drive makes
 *   room between any two reads.
 *
 * Ellard & Seltzer §5.2: tagged queueing undoes the host's order and its fairness.
 */
#ifndef CANFS_BENCH_DISK_TAGS_H
#define CANFS_BENCH_DISK_TAGS_H

#include "bench/disk/command.h"
#include "bench/disk/drive.h"

#define CANFS_DISK_TAGS 32

/*
 * Returns the link to the next command in the non-empty list `waiting`, oldest first. Lets the
 * drive drain what it had time for until then.
 */
struct canfs_command **canfs_tags_pick(struct canfs_drive *drive, struct canfs_command **waiting);

#endif
