// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/scheduler/sorted.h"

#include <stddef.h>

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_arrival(struct canfs_fetch *a, struct canfs_fetch *b)
{
	return compare(a->serial, b->serial);
}

/* Holes and unknown addresses may share a place. Their order is that of arrival. */
static int compare_place(struct canfs_fetch *a, struct canfs_fetch *b)
{
	int order = compare(a->address, b->address);

	return order != 0 ? order : compare(a->serial, b->serial);
}

RB_GENERATE(canfs_by_arrival, canfs_fetch, by_place, compare_arrival)
RB_GENERATE(canfs_by_place, canfs_fetch, by_place, compare_place)
