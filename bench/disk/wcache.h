/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The contents of the drive's volatile write cache: dirty extents in ascending order, merged where
 * they touch. drive.h decides when to drain them. Pure and bounded.
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

/*
 * Is there room for [lo, hi)? Counts the extent as new data, as a drive does. An empty cache takes
 * any extent.
 */
bool canfs_wcache_has_room(const struct canfs_wcache *cache, uint64_t lo, uint64_t hi);

/* Needs room; lo < hi. */
void canfs_wcache_insert(struct canfs_wcache *cache, uint64_t lo, uint64_t hi);

/* Is all of [lo, hi) in the cache? */
bool canfs_wcache_covers(const struct canfs_wcache *cache, uint64_t lo, uint64_t hi);

/*
 * Takes the first dirty bytes at or after `from`, wrapping around to the lowest (C-SCAN): at most
 * max_bytes of one extent. Returns false if the cache is clean.
 */
bool canfs_wcache_take(
	struct canfs_wcache *cache, uint64_t from, uint64_t max_bytes, struct canfs_extent *taken);

#endif
