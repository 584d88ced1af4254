// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * For devices without a head (SSD), and those that order for themselves: no order but that of arrival, and demand before
 * prefetch at once, since a long wait is not worth anything there. Who waits for a few pages is before those who have
 * caught up with their prefetch, a unit each. So that nobody starves beside demand that never ends, of eight fetches one
 * is the oldest of these, and one the oldest that nobody waits for.
 */
#include "ganesha-fsal/scheduler/policies.h"
#include "ganesha-fsal/scheduler/sorted.h"

enum rank { DEMAND, HURRIED, PREFETCH, RANKS };

static const enum rank turns[] = { DEMAND, DEMAND, DEMAND, HURRIED, DEMAND, DEMAND, DEMAND,
	PREFETCH };

#define TURNS (sizeof(turns) / sizeof(turns[0]))

struct none {
	struct canfs_by_arrival waiting[RANKS];
	unsigned int turn;
};

static void add(void *order, struct canfs_fetch *fetch)
{
	struct none *none = order;
	enum rank rank = fetch->kind == CANFS_FETCH_DEMAND ? DEMAND
			 : fetch->hurried                  ? HURRIED
							   : PREFETCH;

	fetch->owner = &none->waiting[rank];
	RB_INSERT(canfs_by_arrival, &none->waiting[rank], fetch);
}

static void leave(void *order, struct canfs_fetch *fetch, enum canfs_leave why)
{
	struct none *none = order;

	RB_REMOVE(canfs_by_arrival, (struct canfs_by_arrival *)fetch->owner, fetch);
	if (why == CANFS_SERVED)
		none->turn = (none->turn + 1) % TURNS;
}

static struct canfs_fetch *choose(void *order)
{
	struct none *none = order;
	struct canfs_fetch *fetch = RB_MIN(canfs_by_arrival, &none->waiting[turns[none->turn]]);

	for (int rank = 0; rank < RANKS && fetch == NULL; rank++)
		fetch = RB_MIN(canfs_by_arrival, &none->waiting[rank]);
	return fetch;
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
