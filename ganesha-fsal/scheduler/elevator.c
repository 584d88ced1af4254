// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * C-LOOK, as bufqdisksort() of FreeBSD: upwards through what waits, then back to the lowest. Fast, and unfair:
 * a reader that goes on asking just ahead of the head keeps it (Ellard & Seltzer 2003, §5.3, Figure 3).
 */
#include "ganesha-fsal/scheduler/policies.h"
#include "ganesha-fsal/scheduler/sorted.h"

struct elevator {
	struct canfs_by_place waiting;
	struct canfs_head head;
};

static void add(void *order, struct canfs_fetch *fetch)
{
	struct elevator *elevator = order;

	RB_INSERT(canfs_by_place, &elevator->waiting, fetch);
}

static void leave(void *order, struct canfs_fetch *fetch, enum canfs_leave why)
{
	struct elevator *elevator = order;

	RB_REMOVE(canfs_by_place, &elevator->waiting, fetch);
	if (why == CANFS_SERVED)
		elevator->head = canfs_head_at(fetch);
}

static struct canfs_fetch *choose(void *order)
{
	struct elevator *elevator = order;

	return canfs_next_of_sweep(&elevator->waiting, elevator->head);
}

const struct canfs_policy canfs_elevator = { .name = "elevator",
	.by_address = true,
	.bytes = sizeof(struct elevator),
	.add = add,
	.remove = leave,
	.choose = choose };
