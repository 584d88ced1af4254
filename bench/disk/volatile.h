/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a power cut may take: the writes that were answered but that no FLUSH has covered yet, in the
 * order in which they were made, each with what stood in the store before it.
 *
 *	write --> [newest ... oldest] --FLUSH, or more than the drive's cache holds--> durable
 *
 * A drive drains its cache in any order, and stops between any two sectors. So a cut takes everything
 * back and then makes the writes again, in order, but each sector of each only with a probability that is
 * drawn once per cut: from next to all that is lost to next to nothing.
 * (Contents only: drive.h knows which extents are in the cache and when they are drained, wcache.h.)
 *
 * The same cut can be had again with another seed: what was written since is then undone first. So one moment shows many of the states that
 * a drive may be in after it.
 */
#ifndef CANFS_BENCH_DISK_VOLATILE_H
#define CANFS_BENCH_DISK_VOLATILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/disk/store.h"

#define CANFS_VOLATILE_BYTES_MAX                                                                   \
	((uint64_t)16 << 20)                /* the drive's cache; older writes are durable */
#define CANFS_SECTOR_BYTES ((uint64_t)4096) /* physical, of a disk of today: never torn */

#define CANFS_SINCE_CUT_BYTES_MAX                                                                  \
	((uint64_t)256 << 20) /* when more was written, the cut cannot be had again */

struct canfs_volatile_write;

struct canfs_writes {
	struct canfs_volatile_write *oldest, *newest;
	uint64_t bytes;
};

struct canfs_volatile {
	struct canfs_writes unflushed;
	struct canfs_writes of_cut; /* what was unflushed at the last cut, with the new contents */
	struct canfs_writes since_cut; /* whatever was written since, with the old contents */
	bool can_recut;
};

struct canfs_cut {
	uint64_t sectors, lost_sectors;
};

void canfs_volatile_init(struct canfs_volatile *v);
void canfs_volatile_fini(struct canfs_volatile *v);

/* Writes to the store and remembers what was there; done_usec: when it is answered, not before those before
 * it. 0 or -ENOMEM, and then nothing is written. */
int canfs_volatile_write(struct canfs_volatile *v, struct canfs_store *store, uint64_t offset,
	const char *data, size_t bytes, double done_usec);

/* A FLUSH that arrived at arrival_usec is done: what was answered by then is durable. */
void canfs_volatile_flush(struct canfs_volatile *v, double arrival_usec);

/* Same writes and same seed: same sectors are lost. Nothing is volatile afterwards. */
struct canfs_cut canfs_volatile_cut(
	struct canfs_volatile *v, struct canfs_store *store, uint32_t seed);

/* As if the last cut had had this seed. 0, or -EINVAL: there was none, or it is too much that would have to be undone. */
int canfs_volatile_recut(
	struct canfs_volatile *v, struct canfs_store *store, uint32_t seed, struct canfs_cut *cut);

#endif
