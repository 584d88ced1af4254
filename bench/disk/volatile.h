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
 */
#ifndef CANFS_BENCH_DISK_VOLATILE_H
#define CANFS_BENCH_DISK_VOLATILE_H

#include <stddef.h>
#include <stdint.h>

#include "bench/disk/store.h"

#define CANFS_VOLATILE_BYTES_MAX                                                                   \
	((uint64_t)16 << 20)                /* the drive's cache; older writes are durable */
#define CANFS_SECTOR_BYTES ((uint64_t)4096) /* physical, of a disk of today: never torn */

struct canfs_volatile_write;

struct canfs_volatile {
	struct canfs_volatile_write *oldest, *newest;
	uint64_t bytes;
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

#endif
