// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * N-step C-SCAN: a fetch that arrives during a sweep waits for the next sweep. Fair, but slow: a
 * sweep serves a sequential reader only what it had asked for before the sweep (Ellard & Seltzer
 * 2003, §5.3, Figure 3).
 */
#include "ganesha-fsal/read/scheduler/policies.h"
#include "ganesha-fsal/read/scheduler/sorted.h"

struct n_cscan {
	struct canfs_by_place sweep[2];
	unsigned int now; /* the current one; the other is the next */
};

static void add(void *order, struct canfs_fetch *fetch)
{
	struct n_cscan *n_cscan = order;
	struct canfs_by_place *next = &n_cscan->sweep[!n_cscan->now];

	fetch->owner = next;
	RB_INSERT(canfs_by_place, next, fetch);
}

static void leave(void *order, struct canfs_fetch *fetch, enum canfs_leave why)
{
	(void)order, (void)why;
	RB_REMOVE(canfs_by_place, (struct canfs_by_place *)fetch->owner, fetch);
}

static struct canfs_fetch *choose(void *order)
{
	struct n_cscan *n_cscan = order;

	if (RB_EMPTY(&n_cscan->sweep[n_cscan->now]))
		n_cscan->now = !n_cscan->now;
	return RB_MIN(canfs_by_place, &n_cscan->sweep[n_cscan->now]);
}

const struct canfs_policy canfs_n_cscan = { .name = "n-cscan",
	.by_address = true,
	.bytes = sizeof(struct n_cscan),
	.add = add,
	.remove = leave,
	.choose = choose };
