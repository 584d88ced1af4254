/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ghost caches: what is the read cache worth? (CA-NFS §3.3 "Client and Server Memory"; the two ghost
 * caches are those of AWOL, FAST 2008.)
 *
 * A list of what was read, latest first, without the data. Where in it a read finds its page tells how
 * large an LRU cache would have had to be to hold it:
 *
 *	latest                                      oldest
 *	|------ front ------|-- last --|-- beyond --|  not there: missed
 *	0                 C/2          C          3C/2       C: size of the real cache
 *
 *	last    hits that a smaller cache would lose
 *	beyond  misses that a larger cache would have spared
 *
 * "A large fraction of read requests falling in these regions" means that memory is worth its price.
 *
 * Only a sample of the pages is in the list (SHARDS, FAST 2015), and its segments are as much shorter. A
 * file is cut into units of 64 pages; the hash of a unit says which page stands for it, and whether it is
 * sampled: it must be below a threshold. So a large read is hashed a few times only, and what is in the
 * list is a page, as in the real cache, not a unit of which the real cache may hold a part. When the
 * sample outgrows the memory, or what is quick to search, the threshold is lowered: memory and time are
 * bounded whatever is read.
 *
 * This is for one thread at a time; server/monitors/ghosts.h is for many.
 */
#ifndef CANFS_PRICING_GHOST_H
#define CANFS_PRICING_GHOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/hash.h"

#define CANFS_GHOST_PAGE_BYTES 4096
#define CANFS_GHOST_UNIT_PAGES 64

/* What lies behind that much of one read is ignored; no NFS server answers a larger one. */
#define CANFS_GHOST_READ_MAX_BYTES (64u << 20)

#define CANFS_GHOST_MEMORY_MIN_BYTES 4096u
#define CANFS_GHOST_MEMORY_MAX_BYTES (1u << 30)

/* Parts of the real cache's size: its last part, and the ghost beyond its end. */
#define CANFS_GHOST_LAST_SHARE   0.5
#define CANFS_GHOST_BEYOND_SHARE 0.5

struct canfs_ghost;

/*
 * memory_bytes: all that it will ever use, allocated now (and touched as the sample grows);
 * CANFS_GHOST_MEMORY_MIN_BYTES ... MAX. seed: of the hash; no reader may know it, or it could
 * choose what is sampled. 0, -EINVAL, -ENOMEM.
 */
int canfs_ghost_new(struct canfs_ghost **ghost, size_t memory_bytes, uint64_t seed);
void canfs_ghost_free(struct canfs_ghost *ghost); /* NULL allowed */

/* The real cache has this size now (at first 0: everything is missed). O(size of the sample). */
void canfs_ghost_resize(struct canfs_ghost *ghost, uint64_t cache_bytes);

/* A read of length bytes at offset. file: any number that identifies it. */
void canfs_ghost_read(struct canfs_ghost *ghost, uint64_t file, uint64_t offset, uint64_t length);

/* Reads in pages, by where they found them; estimates for all that was read, not only the sample. */
struct canfs_ghost_tally {
	double seen; /* all reads; those not in the other three are in front */
	double last;
	double beyond;
	double missed;
};

/* Adds to *tally what was counted since it was last asked. */
void canfs_ghost_take(struct canfs_ghost *ghost, struct canfs_ghost_tally *tally);

/* The window: multiplies all counts with factor, in [0, 1]. */
void canfs_ghost_fade(struct canfs_ghost_tally *tally, double factor);

struct canfs_ghost_forecast {
	double hit_less; /* hit rate, in [0, 1], of a cache without its last part */
	double hit;      /* ... of the cache as it is */
	double hit_more; /* ... of a cache that reaches to the end of the ghost beyond */
	double utilization;
};

/*
 * utilization, in [0, 1], is the effective memory utilization of CA-NFS §3.3, as a price needs it: what
 * are the bytes at the end of the cache worth, those that write-back would take or leave?
 *
 *	loss = hit rate lost with the last part   / its share of the cache
 *	gain = hit rate won with the ghost beyond / its share of the cache
 *	utilization = the larger of the two, at most 1
 *
 * If each byte of the cache earns as much, this is the hit rate; if half the cache earns all hits, it is
 * 0: there is memory to spare. Reads count only against CANFS_GHOST_EVIDENCE_PAGES more that missed, so
 * that a cache that nobody reads is worth nothing.
 */
#define CANFS_GHOST_EVIDENCE_PAGES 1024.0

struct canfs_ghost_forecast canfs_ghost_forecast(const struct canfs_ghost_tally *tally);

/* How much of memory_bytes has been used so far. */
size_t canfs_ghost_used_bytes(const struct canfs_ghost *ghost);

/*
 * For callers that look before they lock: a page is sampled if its key is below the threshold, and an
 * access with another key does nothing. Only canfs_ghost_read() counts what is seen.
 */
uint64_t canfs_ghost_threshold(const struct canfs_ghost *ghost);
void canfs_ghost_access(struct canfs_ghost *ghost, uint64_t key);

/* A read, by those of its pages that stand for a unit. */
struct canfs_ghost_walk {
	uint64_t file; /* mixed with the seed */
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

/* The next page's key. False: there is none. */
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
