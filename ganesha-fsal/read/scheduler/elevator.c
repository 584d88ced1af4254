// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * C-LOOK, like bufqdisksort() of FreeBSD: upwards through the waiting fetches, then back to the
 * lowest. Fast, but unfair: a reader that keeps asking just ahead of the head keeps the head
 * (Ellard & Seltzer 2003, §5.3, Figure 3).
 */
#include "ganesha-fsal/read/scheduler/policies.h"
#include "ganesha-fsal/read/scheduler/sorted.h"

struct elevator {
	struct canfs_by_place waiting;
	uint64_t address, serial; /* of the last fetch served: where the head is */
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
	if (why == CANFS_SERVED) {
		elevator->address = fetch->address;
		elevator->serial = fetch->serial;
	}
}

static struct canfs_fetch *choose(void *order)
{
	struct elevator *elevator = order;
	struct canfs_fetch head = { .address = elevator->address, .serial = elevator->serial + 1 };
	struct canfs_fetch *past = RB_NFIND(canfs_by_place, &elevator->waiting, &head);

	return past ? past : RB_MIN(canfs_by_place, &elevator->waiting);
}

const struct canfs_policy canfs_elevator = { .name = "elevator",
	.by_address = true,
	.bytes = sizeof(struct elevator),
	.add = add,
	.remove = leave,
	.choose = choose };
