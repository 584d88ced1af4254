// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * For devices without a head (SSD), and those that order requests themselves: order of arrival. A
 * fetch that a demand read has joined precedes the rest. One fetch in eight is the oldest of the
 * rest, so that the rest does not starve.
 */
#include "ganesha-fsal/read/scheduler/policies.h"
#include "ganesha-fsal/read/scheduler/sorted.h"

enum rank { AWAITED, PREFETCH, RANKS };

#define TURNS 8 /* the last of them is for PREFETCH */

struct none {
	struct canfs_by_arrival waiting[RANKS];
	unsigned int turn;
};

static void add(void *order, struct canfs_fetch *fetch)
{
	struct none *none = order;
	enum rank rank = fetch->hurried ? AWAITED : PREFETCH;

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
	enum rank first = none->turn == TURNS - 1 ? PREFETCH : AWAITED;
	struct canfs_fetch *fetch = RB_MIN(canfs_by_arrival, &none->waiting[first]);

	return fetch ? fetch : RB_MIN(canfs_by_arrival, &none->waiting[!first]);
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
