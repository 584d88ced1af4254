/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Tagged queueing: which of the commands that wait does the drive take next? The one that it can
 * complete first (shortest positioning time first: seek, rotation, buffers), among the oldest 32.
 *
 *	oldest ->  r  r  w  r | F  r  r          F: a FLUSH goes alone, when it is the oldest
 *	           `--------' candidates, if they had arrived when the drive became free
 *
 * - A command older than 0.7 s goes first: the others would pass it for ever.
 * - A write goes at once if the drive's cache takes it. If there is no room it lets the reads pass: the
 *   drive makes room between any two of them.
 *
 * Ellard & Seltzer §5.2: this undoes the host's order, and the fairness that was in it.
 */
#ifndef CANFS_BENCH_DISK_TAGS_H
#define CANFS_BENCH_DISK_TAGS_H

#include "bench/disk/command.h"
#include "bench/disk/drive.h"

#define CANFS_DISK_TAGS 32

/* Where in the list of `waiting` commands, oldest first and not empty, the next one hangs. The drive drains
 * what it had time to drain until then. */
struct canfs_command **canfs_tags_pick(struct canfs_drive *drive, struct canfs_command **waiting);

#endif
