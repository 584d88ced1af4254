// SPDX-License-Identifier: LGPL-3.0-or-later
/* Strict order of arrival, like a block layer without a scheduler. For comparison. */
#include "ganesha-fsal/read/scheduler/policies.h"
#include "ganesha-fsal/read/scheduler/sorted.h"

static void add(void *order, struct canfs_fetch *fetch)
{
	RB_INSERT(canfs_by_arrival, order, fetch);
}

static void leave(void *order, struct canfs_fetch *fetch, enum canfs_leave why)
{
	(void)why;
	RB_REMOVE(canfs_by_arrival, order, fetch);
}

static struct canfs_fetch *choose(void *order)
{
	return RB_MIN(canfs_by_arrival, (struct canfs_by_arrival *)order);
}

const struct canfs_policy canfs_fifo = { .name = "fifo",
	.bytes = sizeof(struct canfs_by_arrival),
	.add = add,
	.remove = leave,
	.choose = choose };
