/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An exact LRU cache of pages. It gives each access its reuse distance: the number of other pages
 * accessed since the last access to the same page. It is Mattson's stack, as a Fenwick tree over
 * time (Olken). The traces here are those that ghost caches are compared on. They are
 * deterministic.
 */
#ifndef CANFS_TESTS_EXACT_LRU_H
#define CANFS_TESTS_EXACT_LRU_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct exact_lru {
	uint32_t pages, accesses; /* at most */
	uint32_t now;
	uint32_t *last; /* of each page: when it was accessed, from 1; 0: never */
	int32_t *tree;
};

static inline void exact_lru_init(struct exact_lru *lru, uint32_t pages, uint32_t accesses)
{
	*lru = (struct exact_lru) { .pages = pages, .accesses = accesses };
	lru->last = calloc(pages, sizeof(lru->last[0]));
	lru->tree = calloc(accesses + 1, sizeof(lru->tree[0]));
	if (!lru->last || !lru->tree)
		abort();
}

static inline void exact_lru_free(struct exact_lru *lru)
{
	free(lru->last);
	free(lru->tree);
}

static inline void exact_lru_add(struct exact_lru *lru, uint32_t time, int32_t n)
{
	for (; time <= lru->accesses; time += time & -time)
		lru->tree[time] += n;
}

/*
 * Returns how many pages a cache must have for this access to hit. UINT32_MAX: it is the first
 * access.
 */
static inline uint32_t exact_lru_access(struct exact_lru *lru, uint32_t page)
{
	uint32_t last = lru->last[page];
	uint32_t distance = UINT32_MAX;

	lru->now++;
	if (last != 0) {
		int32_t between = 0;

		for (uint32_t t = lru->now - 1; t > 0; t -= t & -t)
			between += lru->tree[t];
		for (uint32_t t = last; t > 0; t -= t & -t)
			between -= lru->tree[t];
		distance = (uint32_t)between + 1;
		exact_lru_add(lru, last, -1);
	}
	exact_lru_add(lru, lru->now, 1);
	lru->last[page] = lru->now;
	return distance;
}

/* Returns a number in [0, 1). */
static inline double trace_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/*
 * Returns the cumulated probabilities of ranks 0 ... n - 1, rank r with probability ~ 1 / (r +
 * 1)^skew.
 */
static inline double *zipf_new(uint32_t n, double skew)
{
	double *cumulated = malloc(n * sizeof(*cumulated));
	double sum = 0;

	if (!cumulated)
		abort();
	for (uint32_t i = 0; i < n; i++)
		cumulated[i] = sum += pow(i + 1, -skew);
	for (uint32_t i = 0; i < n; i++)
		cumulated[i] /= sum;
	return cumulated;
}

static inline uint32_t zipf_draw(const double *cumulated, uint32_t n, uint64_t *random)
{
	double x = trace_random(random);
	uint32_t low = 0, high = n - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cumulated[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
