/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the drive's volatile write cache holds: dirty extents in ascending order, merged where they
 * touch. Only the bookkeeping; when it is drained is the drive's business. Pure and bounded.
 */
#ifndef CANFS_BENCH_DISK_WCACHE_H
#define CANFS_BENCH_DISK_WCACHE_H

#include <stdbool.h>
#include <stdint.h>

#define CANFS_WCACHE_EXTENTS 4096

struct canfs_extent {
	uint64_t lo, hi; /* bytes, lo < hi */
};

struct canfs_wcache {
	uint64_t capacity_bytes;
	uint64_t bytes;
	unsigned int extents;
	struct canfs_extent extent[CANFS_WCACHE_EXTENTS];
};

void canfs_wcache_init(struct canfs_wcache *cache, uint64_t capacity_bytes);

/* Would [lo, hi) find room? Counts it as new data, as a drive does. An empty cache takes anything. */
bool canfs_wcache_has_room(const struct canfs_wcache *cache, uint64_t lo, uint64_t hi);

/* Only with room; lo < hi. */
void canfs_wcache_insert(struct canfs_wcache *cache, uint64_t lo, uint64_t hi);

/* Is all of [lo, hi) in the cache? */
bool canfs_wcache_covers(const struct canfs_wcache *cache, uint64_t lo, uint64_t hi);

/* Take the first dirty bytes at or after `from`, wrapping round to the lowest (C-SCAN), at most
 * max_bytes of one extent. False: the cache is clean. */
bool canfs_wcache_take(
	struct canfs_wcache *cache, uint64_t from, uint64_t max_bytes, struct canfs_extent *taken);

#endif
