/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ghost caches estimate what the read cache is worth (CA-NFS §3.3 "Client and Server Memory"). The
 * two ghost caches are those of AWOL (FAST 2008).
 *
 * The ghost cache is an LRU list of the pages that were read, newest first, without their data. The
 * position at which a read finds its page tells how large an LRU cache must be to hold the page:
 *
 *	newest                                      oldest
 *	|------ front ------|-- last --|-- beyond --|  not in the list: missed
 *	0                 C/2          C          3C/2       C: size of the real cache
 *
 *	last    hits that a smaller cache would lose
 *	beyond  misses that a larger cache would avoid
 *
 * "A large fraction of read requests falling in these regions" means that memory is worth its
 * price.
 *
 * The list holds only a sample of the pages (SHARDS, FAST 2015), and its segments are shortened in
 * proportion. A file is divided into units of 64 pages. The hash of a unit selects the page that
 * represents the unit. The unit is sampled if the hash is below a threshold. Therefore a large read
 * takes only a few hashes. The list holds pages, as the real cache does. It does not hold units,
 * because the real cache may hold a part of a unit. If the sample outgrows the memory, or the size
 * that is quick to search, the threshold is lowered. Memory and time are bounded for any load.
 *
 * Not thread-safe. server/monitors/ghosts.h serves many threads.
 */
#ifndef CANFS_PRICING_GHOST_H
#define CANFS_PRICING_GHOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/hash.h"

#define CANFS_GHOST_PAGE_BYTES 4096
#define CANFS_GHOST_UNIT_PAGES 64

/* Only this many bytes of one read are counted. No NFS server answers a larger read. */
#define CANFS_GHOST_READ_MAX_BYTES (64u << 20)

#define CANFS_GHOST_MEMORY_MIN_BYTES 4096u
#define CANFS_GHOST_MEMORY_MAX_BYTES (1u << 30)

/* Shares of the real cache's size: its last part, and the ghost cache beyond its end. */
#define CANFS_GHOST_LAST_SHARE   0.5
#define CANFS_GHOST_BEYOND_SHARE 0.5

struct canfs_ghost;

/*
 * memory_bytes: upper bound of all memory, CANFS_GHOST_MEMORY_MIN_BYTES ... MAX. All of it is
 * allocated now, but it is touched only as the sample grows. seed: of the hash. It must be secret,
 * or a reader could choose which pages are sampled. Returns 0, -ENOMEM, or -EINVAL if memory_bytes
 * is out of range.
 */
int canfs_ghost_new(struct canfs_ghost **ghost, size_t memory_bytes, uint64_t seed);
void canfs_ghost_free(struct canfs_ghost *ghost); /* NULL allowed */

/* Sets the size of the real cache. It is 0 at first, so every read misses. O(size of the sample). */
void canfs_ghost_resize(struct canfs_ghost *ghost, uint64_t cache_bytes);

/* Records a read of length bytes at offset. file: any number that identifies the file. */
void canfs_ghost_read(struct canfs_ghost *ghost, uint64_t file, uint64_t offset, uint64_t length);

/*
 * Pages read, by the segment that held them. These are estimates for all reads, not only the
 * sample.
 */
struct canfs_ghost_tally {
	double seen; /* all reads; those not in the other three hit the front */
	double last;
	double beyond;
	double missed;
};

/* Adds the counts since the last call to *tally. */
void canfs_ghost_take(struct canfs_ghost *ghost, struct canfs_ghost_tally *tally);

/* Ages the counts: multiplies all of them by factor, in [0, 1]. */
void canfs_ghost_fade(struct canfs_ghost_tally *tally, double factor);

struct canfs_ghost_forecast {
	double hit_less; /* hit rate, in [0, 1], of a cache without its last part */
	double hit;      /* hit rate of the cache as it is */
	double hit_more; /* hit rate of a cache that extends to the end of `beyond` */
	double utilization;
};

/*
 * utilization, in [0, 1], is the effective memory utilization of CA-NFS §3.3, from which the price
 * follows. It is the value of the bytes at the end of the cache, which write-back would take or
 * leave:
 *
 *	loss = hit rate lost without the last part / its share of the cache
 *	gain = hit rate gained with `beyond`       / its share of the cache
 *	utilization = the larger of the two, at most 1
 *
 * If each byte of the cache contributes equally, utilization is the hit rate. If half the cache
 * serves all hits, utilization is 0 and there is memory to spare. CANFS_GHOST_EVIDENCE_PAGES misses
 * are added to the reads, so that a cache that nobody reads is worth nothing.
 */
#define CANFS_GHOST_EVIDENCE_PAGES 1024.0

struct canfs_ghost_forecast canfs_ghost_forecast(const struct canfs_ghost_tally *tally);

/* Returns how much of memory_bytes has been used so far. */
size_t canfs_ghost_used_bytes(const struct canfs_ghost *ghost);

/*
 * These two functions let a caller test a key before it takes a lock. A page is sampled if its key
 * is below the threshold. canfs_ghost_access() ignores any other key. Only canfs_ghost_read()
 * counts tally.seen.
 */
uint64_t canfs_ghost_threshold(const struct canfs_ghost *ghost);
void canfs_ghost_access(struct canfs_ghost *ghost, uint64_t key);

/* Iterates over the pages of a read that represent a unit. */
struct canfs_ghost_walk {
	uint64_t file; /* hashed with the seed */
	uint64_t page, end_page;
};

static inline void canfs_ghost_walk_init(struct canfs_ghost_walk *walk, uint64_t seed,
	uint64_t file, uint64_t offset, uint64_t length)
{
	uint64_t end;

	if (length > CANFS_GHOST_READ_MAX_BYTES)
		length = CANFS_GHOST_READ_MAX_BYTES;
	if (__builtin_add_overflow(offset, length, &end))
		end = UINT64_MAX;
	walk->file = canfs_hash(file ^ seed);
	walk->page = offset / CANFS_GHOST_PAGE_BYTES;
	walk->end_page = end / CANFS_GHOST_PAGE_BYTES + (end % CANFS_GHOST_PAGE_BYTES != 0);
	if (length == 0)
		walk->end_page = walk->page;
}

/* Sets *key to the key of the next page. Returns false if there is none. */
static inline bool canfs_ghost_walk_next(struct canfs_ghost_walk *walk, uint64_t *key)
{
	while (walk->page < walk->end_page) {
		uint64_t unit = walk->page / CANFS_GHOST_UNIT_PAGES, page;

		*key = canfs_hash(walk->file + unit);
		page = unit * CANFS_GHOST_UNIT_PAGES + *key % CANFS_GHOST_UNIT_PAGES;
		if (page >= walk->page && page < walk->end_page) {
			walk->page = (unit + 1) * CANFS_GHOST_UNIT_PAGES;
			return true;
		}
		walk->page = (unit + 1) * CANFS_GHOST_UNIT_PAGES;
	}
	return false;
}

#endif
