/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The data that a power cut may take: writes that were answered but are not yet covered by a FLUSH.
 * They are kept in order, each with the previous contents of the store.
 *
 *	write --> [newest ... oldest] --FLUSH, or more than the drive's cache holds--> durable
 *
 * A drive drains its cache in any order and may stop between any two sectors. A cut therefore
 * undoes all these writes and then repeats them in order, but loses some sectors. The probability
 * of a loss is drawn once per cut, between 0 and 1. (Only contents are modelled here. drive.h and
 * wcache.h model which extents are in the cache, and when they drain.)
 *
 * The same cut can be repeated with another seed, after undoing all later writes. Repeated cuts
 * show many of the states that a drive may be in after a power cut at one moment.
 */
#ifndef CANFS_BENCH_DISK_VOLATILE_H
#define CANFS_BENCH_DISK_VOLATILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/disk/store.h"

#define CANFS_VOLATILE_BYTES_MAX                                                                   \
	((uint64_t)16 << 20)                /* the drive's cache; older writes are durable */
#define CANFS_SECTOR_BYTES ((uint64_t)4096) /* physical sectors of current disks; never torn */

#define CANFS_SINCE_CUT_BYTES_MAX                                                                  \
	((uint64_t)256 << 20) /* with more writes, the cut cannot be repeated */

struct canfs_volatile_write;

struct canfs_writes {
	struct canfs_volatile_write *oldest, *newest;
	uint64_t bytes;
};

struct canfs_volatile {
	struct canfs_writes unflushed;
	struct canfs_writes of_cut;    /* unflushed at the last cut, with the new contents */
	struct canfs_writes since_cut; /* all writes since the last cut, with the old contents */
	bool can_recut;
};

struct canfs_cut {
	uint64_t sectors, lost_sectors;
};

void canfs_volatile_init(struct canfs_volatile *v);
void canfs_volatile_fini(struct canfs_volatile *v);

/*
 * Writes to the store and saves the old contents. done_usec: when the write is answered, not
 * earlier than for previous writes. Returns 0, or -ENOMEM without writing.
 */
int canfs_volatile_write(struct canfs_volatile *v, struct canfs_store *store, uint64_t offset,
	const char *data, size_t bytes, double done_usec);

/* A FLUSH that arrived at arrival_usec is done: writes answered by then are durable. */
void canfs_volatile_flush(struct canfs_volatile *v, double arrival_usec);

/*
 * Cuts the power. The same writes and seed lose the same sectors. Afterwards nothing is volatile.
 */
struct canfs_cut canfs_volatile_cut(
	struct canfs_volatile *v, struct canfs_store *store, uint32_t seed);

/*
 * Repeats the last cut with this seed. Returns 0, or -EINVAL if there was no cut, or too much to
 * undo since.
 */
int canfs_volatile_recut(
	struct canfs_volatile *v, struct canfs_store *store, uint32_t seed, struct canfs_cut *cut);

#endif
