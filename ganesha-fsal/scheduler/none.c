// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * For devices without a head (SSD), and those that order for themselves: no order but that of arrival, and demand before
 * prefetch at once, since a long wait is not worth anything there. Who waits for a few pages is before those who wait
 * for many, or for their prefetch. So that nobody starves beside demand that never ends, of eight fetches one is the
 * oldest of these, and one the oldest that nobody waits for.
 */
#include "ganesha-fsal/scheduler/policies.h"
#include "ganesha-fsal/scheduler/sorted.h"

#define FEW_BYTES ((uint64_t)128 << 10)

enum rank { FEW, MANY, PREFETCH, RANKS };

static const enum rank turns[] = { FEW, FEW, FEW, MANY, FEW, FEW, FEW, PREFETCH };

#define TURNS (sizeof(turns) / sizeof(turns[0]))

struct none {
	struct canfs_by_arrival waiting[RANKS];
	unsigned int turn;
};

static enum rank rank_of(const struct canfs_fetch *fetch)
{
	if (fetch->kind == CANFS_FETCH_PREFETCH)
		return fetch->hurried ? MANY : PREFETCH;
	return canfs_fetch_own_bytes(fetch) <= FEW_BYTES ? FEW : MANY;
}

static void add(void *order, struct canfs_fetch *fetch)
{
	struct none *none = order;
	enum rank rank = rank_of(fetch);

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
