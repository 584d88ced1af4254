// SPDX-License-Identifier: LGPL-3.0-or-later
#include <string.h>

#include "bench/disk/wcache.h"

void canfs_wcache_init(struct canfs_wcache *c, uint64_t capacity_bytes)
{
	c->capacity_bytes = capacity_bytes;
	c->bytes = 0;
	c->extents = 0;
}

bool canfs_wcache_has_room(const struct canfs_wcache *c, uint64_t lo, uint64_t hi)
{
	return c->bytes == 0 ||
	       (c->bytes + (hi - lo) <= c->capacity_bytes && c->extents < CANFS_WCACHE_EXTENTS);
}

/* The first extent that ends at or after offset. */
static unsigned int find(const struct canfs_wcache *c, uint64_t offset)
{
	unsigned int low = 0, high = c->extents;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (c->extent[middle].hi < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void canfs_wcache_insert(struct canfs_wcache *c, uint64_t lo, uint64_t hi)
{
	unsigned int first = find(c, lo), last = first;

	for (; last < c->extents && c->extent[last].lo <= hi; last++) {
		if (c->extent[last].lo < lo)
			lo = c->extent[last].lo;
		if (c->extent[last].hi > hi)
			hi = c->extent[last].hi;
		c->bytes -= c->extent[last].hi - c->extent[last].lo;
	}
	/* [first, last) are merged */
	memmove(&c->extent[first + 1], &c->extent[last],
		(c->extents - last) * sizeof(c->extent[0]));
	c->extent[first] = (struct canfs_extent) { .lo = lo, .hi = hi };
	c->extents = c->extents - (last - first) + 1;
	c->bytes += hi - lo;
}

bool canfs_wcache_covers(const struct canfs_wcache *c, uint64_t lo, uint64_t hi)
{
	unsigned int i = find(c, hi);

	return i < c->extents && c->extent[i].lo <= lo;
}

bool canfs_wcache_take(
	struct canfs_wcache *c, uint64_t from, uint64_t max_bytes, struct canfs_extent *taken)
{
	unsigned int i = find(c, from + 1);
	struct canfs_extent *e;

	if (c->extents == 0)
		return false;
	if (i == c->extents)
		i = 0;
	e = &c->extent[i];
	*taken = *e;
	if (taken->hi - taken->lo > max_bytes)
		taken->hi = taken->lo + max_bytes;
	c->bytes -= taken->hi - taken->lo;
	e->lo = taken->hi;
	if (e->lo == e->hi) {
		memmove(e, e + 1, (c->extents - i - 1) * sizeof(*e));
		c->extents--;
	}
	return true;
}
