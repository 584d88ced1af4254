// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/scheduler/sorted.h"

#include <stddef.h>

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_arrival(struct canfs_fetch *a, struct canfs_fetch *b)
{
	return compare(a->serial, b->serial);
}

/* Holes and unknown addresses may have one place; then the order is that of arrival. */
static int compare_place(struct canfs_fetch *a, struct canfs_fetch *b)
{
	int order = compare(a->address, b->address);

	return order != 0 ? order : compare(a->serial, b->serial);
}

RB_GENERATE(canfs_by_arrival, canfs_fetch, by_place, compare_arrival)
RB_GENERATE(canfs_by_place, canfs_fetch, by_place, compare_place)

int canfs_past_head(const struct canfs_fetch *fetch, struct canfs_head head)
{
	int order = compare(fetch->address, head.address);

	return order != 0 ? order : compare(fetch->serial, head.serial);
}

struct canfs_fetch *canfs_next_of_sweep(struct canfs_by_place *waiting, struct canfs_head head)
{
	struct canfs_fetch *fetch = RB_ROOT(waiting), *past = NULL;

	while (fetch) {
		if (canfs_past_head(fetch, head) > 0) {
			past = fetch;
			fetch = RB_LEFT(fetch, by_place);
		} else {
			fetch = RB_RIGHT(fetch, by_place);
		}
	}
	return past ? past : RB_MIN(canfs_by_place, waiting);
}
