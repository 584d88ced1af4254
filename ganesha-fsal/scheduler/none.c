// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * For devices without a head (SSD), and those that order for themselves: no order but that of arrival, and demand before prefetch at once, since a long
 * wait is not worth anything there. So that prefetch does not starve beside demand that never ends, one fetch in
 * eight is the oldest of it.
 */
#include "ganesha-fsal/scheduler/policies.h"
#include "ganesha-fsal/scheduler/sorted.h"

#define PREFETCH_TURN 8

struct none {
	struct canfs_by_arrival demand, prefetch;
	unsigned int turn;
};

static void add(void *order, struct canfs_fetch *fetch)
{
	struct none *none = order;
	bool urgent = fetch->kind == CANFS_FETCH_DEMAND || fetch->hurried;
	struct canfs_by_arrival *list = urgent ? &none->demand : &none->prefetch;

	fetch->owner = list;
	RB_INSERT(canfs_by_arrival, list, fetch);
}

static void leave(void *order, struct canfs_fetch *fetch, enum canfs_leave why)
{
	struct none *none = order;

	RB_REMOVE(canfs_by_arrival, (struct canfs_by_arrival *)fetch->owner, fetch);
	if (why == CANFS_SERVED)
		none->turn = (none->turn + 1) % PREFETCH_TURN;
}

static struct canfs_fetch *choose(void *order)
{
	struct none *none = order;
	struct canfs_fetch *demand = RB_MIN(canfs_by_arrival, &none->demand);
	struct canfs_fetch *prefetch = RB_MIN(canfs_by_arrival, &none->prefetch);

	if (demand == NULL || (prefetch != NULL && none->turn == PREFETCH_TURN - 1))
		return prefetch;
	return demand;
}

static void hurry(void *order, struct canfs_fetch *fetch)
{
	leave(order, fetch, CANFS_CANCELLED);
	add(order, fetch);
}

const struct canfs_policy canfs_none = { .name = "none",
	.bytes = sizeof(struct none),
	.add = add,
	.remove = leave,
	.choose = choose,
	.hurry = hurry };
