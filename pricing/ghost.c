// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/ghost.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Ten thousand pages give a hit rate within 0.01 (SHARDS §4), and they stay in the processor's
 * cache. The sample grows larger only if it covers at most 1 unit in 64. A READ of 1 MiB has four
 * units, so it seldom waits for main memory.
 */
#define QUICK_THRESHOLD (UINT64_MAX / 64)
#define QUICK_PAGES     8192u

/*
 * Minimum number of pages per bucket when all memory is used. With QUICK_PAGES, few pages share a
 * bucket and all buckets stay in the processor's cache.
 */
#define BUCKET_PAGES 8u

/*
 * The threshold is lowered in small steps. Each step walks over the whole sample, and this cost is
 * spread over the pages that the step removes.
 */
#define LOWER_PART    16
#define THRESHOLD_MIN ((uint64_t)1 << 32)

enum segment { FRONT, LAST, BEYOND, SEGMENTS };

/* A sampled page. Index 0 is no page: it is the head and the end of the list. */
struct page {
	uint64_t key;
	uint32_t newer, older;
	uint32_t next; /* in the same bucket or in the free list */
	uint32_t segment;
};
#define FREE SEGMENTS /* the segment of an unused entry */

/* A segment. Its pages are adjacent in the list. */
struct part {
	uint32_t pages, limit;
	uint32_t oldest; /* 0: empty */
};

struct canfs_ghost {
	uint64_t seed;
	uint64_t threshold;
	double scale; /* pages that one page of the sample stands for */
	uint64_t cache_pages;
	struct part parts[SEGMENTS];
	struct canfs_ghost_tally tally;
	uint32_t capacity, used;
	uint32_t touched; /* the highest index ever used; memory beyond it was never written */
	uint32_t free;    /* head of the free list; 0: empty */
	uint32_t bucket_mask;
	uint32_t *buckets;
	struct page *pages; /* capacity + 1 */
};

static uint32_t *bucket_of(const struct canfs_ghost *ghost, uint64_t key)
{
	/* The lowest bits select the page in its unit, the highest bits decide about sampling. */
	return &ghost->buckets[key >> 9 & ghost->bucket_mask];
}

static uint32_t find(const struct canfs_ghost *ghost, uint64_t key)
{
	uint32_t i = *bucket_of(ghost, key);

	while (i != 0 && ghost->pages[i].key != key)
		i = ghost->pages[i].next;
	return i;
}

/* Returns the next newer page if it is in the same segment, else 0. */
static uint32_t neighbour(const struct canfs_ghost *ghost, uint32_t i)
{
	uint32_t newer = ghost->pages[i].newer;

	return newer != 0 && ghost->pages[newer].segment == ghost->pages[i].segment ? newer : 0;
}

static void unlink_page(struct canfs_ghost *ghost, uint32_t i)
{
	struct page *page = &ghost->pages[i];
	struct part *part = &ghost->parts[page->segment];

	if (part->oldest == i)
		part->oldest = neighbour(ghost, i);
	part->pages--;
	ghost->pages[page->newer].older = page->older;
	ghost->pages[page->older].newer = page->newer;
}

static void link_front(struct canfs_ghost *ghost, uint32_t i)
{
	struct page *page = &ghost->pages[i];
	struct part *front = &ghost->parts[FRONT];

	page->segment = FRONT;
	page->newer = 0;
	page->older = ghost->pages[0].older;
	ghost->pages[page->older].newer = i;
	ghost->pages[0].older = i;
	if (front->oldest == 0)
		front->oldest = i;
	front->pages++;
}

static void forget(struct canfs_ghost *ghost, uint32_t i)
{
	struct page *page = &ghost->pages[i];
	uint32_t *link = bucket_of(ghost, page->key);

	unlink_page(ghost, i);
	if (*link == i) {
		*link = page->next;
	} else {
		uint32_t before = *link;

		while (ghost->pages[before].next != i)
			before = ghost->pages[before].next;
		ghost->pages[before].next = page->next;
	}
	page->segment = FREE;
	page->next = ghost->free;
	ghost->free = i;
	ghost->used--;
}

/*
 * Moves the oldest page of a segment to the next segment, as its newest. Drops it from the last
 * one.
 */
static void push_down(struct canfs_ghost *ghost, enum segment s)
{
	struct part *part = &ghost->parts[s];
	uint32_t i = part->oldest;

	if (s == BEYOND) {
		forget(ghost, i);
		return;
	}
	part->oldest = neighbour(ghost, i);
	part->pages--;
	ghost->pages[i].segment = s + 1;
	if (part[1].oldest == 0)
		part[1].oldest = i;
	part[1].pages++;
}

/* Moves page i, which follows segment s, to the end of s. */
static void pull_up(struct canfs_ghost *ghost, enum segment s, uint32_t i)
{
	struct part *from = &ghost->parts[ghost->pages[i].segment];

	if (from->oldest == i)
		from->oldest = 0;
	from->pages--;
	ghost->pages[i].segment = s;
	ghost->parts[s].oldest = i;
	ghost->parts[s].pages++;
}

/*
 * Returns the page that follows a segment, or 0. An empty segment begins where the one before it
 * ends.
 */
static uint32_t behind(const struct canfs_ghost *ghost, enum segment s)
{
	uint32_t i = 0;

	for (int before = (int)s; before >= FRONT && i == 0; before--)
		i = ghost->parts[before].oldest;
	return ghost->pages[i].older;
}

/*
 * Moves the borders until each segment has its size. An access moves each border by at most one
 * page, so this is O(1) after an access.
 */
static void settle(struct canfs_ghost *ghost)
{
	for (enum segment s = FRONT; s < SEGMENTS; s++) {
		struct part *part = &ghost->parts[s];
		uint32_t i;

		while (part->pages > part->limit)
			push_down(ghost, s);
		while (part->pages < part->limit && (i = behind(ghost, s)) != 0)
			pull_up(ghost, s, i);
	}
}

static void set_limits(struct canfs_ghost *ghost)
{
	static const double shares[SEGMENTS] = { [FRONT] = 1 - CANFS_GHOST_LAST_SHARE,
		[LAST] = CANFS_GHOST_LAST_SHARE,
		[BEYOND] = CANFS_GHOST_BEYOND_SHARE };

	ghost->scale = CANFS_GHOST_UNIT_PAGES * 0x1p64 / (double)ghost->threshold;
	for (int s = FRONT; s < SEGMENTS; s++)
		ghost->parts[s].limit = (uint32_t)fmin(
			UINT32_MAX, shares[s] * (double)ghost->cache_pages / ghost->scale + 0.5);
}

/* Returns the maximum size of a sample with this threshold, in pages. */
static uint32_t limit_of(const struct canfs_ghost *ghost, uint64_t threshold)
{
	return threshold > QUICK_THRESHOLD && QUICK_PAGES < ghost->capacity ? QUICK_PAGES
									    : ghost->capacity;
}

static void lower_threshold(struct canfs_ghost *ghost)
{
	ghost->threshold -= ghost->threshold / LOWER_PART;
	for (uint32_t i = 1; i <= ghost->touched; i++) {
		if (ghost->pages[i].segment != FREE && ghost->pages[i].key >= ghost->threshold)
			forget(ghost, i);
	}
	set_limits(ghost);
	settle(ghost);
}

/*
 * Doubles the threshold if the list covers the whole cache with so few pages that twice as many are
 * affordable. Until the sample has grown, pages that are new in it count as missed.
 */
static void raise_threshold(struct canfs_ghost *ghost)
{
	const struct part *end = &ghost->parts[BEYOND];
	uint64_t twice;

	if (__builtin_mul_overflow(ghost->threshold, 2, &twice))
		twice = UINT64_MAX;
	if (end->pages == end->limit && ghost->used <= limit_of(ghost, twice) / 4)
		ghost->threshold = twice;
}

/* Returns a free entry. Shrinks the sample if there is none. */
static uint32_t allocate(struct canfs_ghost *ghost)
{
	uint32_t i;

	while (ghost->used >= limit_of(ghost, ghost->threshold) && ghost->threshold > THRESHOLD_MIN)
		lower_threshold(ghost);
	if (ghost->used == ghost->capacity)
		forget(ghost, ghost->pages[0].newer);
	ghost->used++;
	if (ghost->free == 0)
		return ++ghost->touched;
	i = ghost->free;
	ghost->free = ghost->pages[i].next;
	return i;
}

static void insert(struct canfs_ghost *ghost, uint64_t key)
{
	uint32_t i = allocate(ghost);
	uint32_t *bucket = bucket_of(ghost, key);

	ghost->pages[i].key = key;
	ghost->pages[i].next = *bucket;
	*bucket = i;
	link_front(ghost, i);
}

void canfs_ghost_access(struct canfs_ghost *ghost, uint64_t key)
{
	uint32_t i;

	if (key >= ghost->threshold)
		return;
	i = find(ghost, key);
	if (i == 0) {
		ghost->tally.missed += ghost->scale;
		insert(ghost, key);
	} else {
		if (ghost->pages[i].segment == LAST)
			ghost->tally.last += ghost->scale;
		else if (ghost->pages[i].segment == BEYOND)
			ghost->tally.beyond += ghost->scale;
		unlink_page(ghost, i);
		link_front(ghost, i);
	}
	settle(ghost);
}

void canfs_ghost_read(struct canfs_ghost *ghost, uint64_t file, uint64_t offset, uint64_t length)
{
	struct canfs_ghost_walk walk;
	uint64_t key;

	canfs_ghost_walk_init(&walk, ghost->seed, file, offset, length);
	ghost->tally.seen += (double)(walk.end_page - walk.page);
	while (canfs_ghost_walk_next(&walk, &key))
		canfs_ghost_access(ghost, key);
}

void canfs_ghost_resize(struct canfs_ghost *ghost, uint64_t cache_bytes)
{
	raise_threshold(ghost);
	ghost->cache_pages = cache_bytes / CANFS_GHOST_PAGE_BYTES;
	set_limits(ghost);
	settle(ghost);
}

int canfs_ghost_new(struct canfs_ghost **ghost, size_t memory_bytes, uint64_t seed)
{
	struct canfs_ghost *new;
	size_t buckets = 1, capacity;

	if (memory_bytes < CANFS_GHOST_MEMORY_MIN_BYTES ||
		memory_bytes > CANFS_GHOST_MEMORY_MAX_BYTES)
		return -EINVAL;
	memory_bytes -= sizeof(*new) + sizeof(struct page);
	while (2 * BUCKET_PAGES * buckets * sizeof(struct page) <= memory_bytes)
		buckets *= 2;
	capacity = (memory_bytes - buckets * sizeof(uint32_t)) / sizeof(struct page);

	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->buckets = calloc(buckets, sizeof(new->buckets[0]));
	new->pages = calloc(capacity + 1, sizeof(new->pages[0]));
	if (!new->buckets || !new->pages) {
		canfs_ghost_free(new);
		return -ENOMEM;
	}
	new->bucket_mask = (uint32_t)(buckets - 1);
	new->capacity = (uint32_t)capacity;
	new->seed = seed;
	new->threshold = UINT64_MAX;
	set_limits(new);
	*ghost = new;
	return 0;
}

void canfs_ghost_free(struct canfs_ghost *ghost)
{
	if (!ghost)
		return;
	free(ghost->pages);
	free(ghost->buckets);
	free(ghost);
}

uint64_t canfs_ghost_threshold(const struct canfs_ghost *ghost)
{
	return ghost->threshold;
}

size_t canfs_ghost_used_bytes(const struct canfs_ghost *ghost)
{
	return sizeof(*ghost) + (ghost->bucket_mask + 1) * sizeof(ghost->buckets[0]) +
	       (ghost->touched + 1) * sizeof(ghost->pages[0]);
}

void canfs_ghost_take(struct canfs_ghost *ghost, struct canfs_ghost_tally *tally)
{
	tally->seen += ghost->tally.seen;
	tally->last += ghost->tally.last;
	tally->beyond += ghost->tally.beyond;
	tally->missed += ghost->tally.missed;
	ghost->tally = (struct canfs_ghost_tally) { 0 };
}

void canfs_ghost_fade(struct canfs_ghost_tally *tally, double factor)
{
	tally->seen *= factor;
	tally->last *= factor;
	tally->beyond *= factor;
	tally->missed *= factor;
}

static double share(double part, double whole)
{
	return whole > 0 ? fmin(fmax(part / whole, 0), 1) : 0;
}

struct canfs_ghost_forecast canfs_ghost_forecast(const struct canfs_ghost_tally *tally)
{
	double missed = tally->missed, beyond = tally->beyond, last = tally->last;
	struct canfs_ghost_forecast forecast;
	double loss, gain;

	/*
	 * The sample may lack the few pages that are read most, which are hits in front. Front hits
	 * are therefore computed as all reads minus the other three counts (SHARDS-adj, SHARDS
	 * §3.3).
	 */
	forecast.hit_more = 1 - share(missed, tally->seen);
	forecast.hit = 1 - share(missed + beyond, tally->seen);
	forecast.hit_less = 1 - share(missed + beyond + last, tally->seen);
	if (!(tally->seen > 0))
		forecast = (struct canfs_ghost_forecast) { 0 };

	loss = (forecast.hit - forecast.hit_less) / CANFS_GHOST_LAST_SHARE;
	gain = (forecast.hit_more - forecast.hit) / CANFS_GHOST_BEYOND_SHARE;
	forecast.utilization = fmin(fmax(loss, gain), 1) *
			       share(tally->seen, tally->seen + CANFS_GHOST_EVIDENCE_PAGES);
	return forecast;
}
