/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * In which order a device serves the prefetch that waits (Ellard & Seltzer 2003, §5.3). One policy is one file and one
 * row of policies.h. Pure: no clock, no thread, no lock; every call takes O(log n) of what waits. Demand reads
 * have no order of ours: the queue hands them out before any prefetch (queue.h).
 */
#ifndef CANFS_GANESHA_FSAL_SCHEDULER_POLICY_H
#define CANFS_GANESHA_FSAL_SCHEDULER_POLICY_H

#include <stddef.h>

#include "ganesha-fsal/scheduler/fetch.h"

enum canfs_leave {
	CANFS_SERVED,   /* it is the one that was chosen */
	CANFS_CANCELLED /* not served */
};

struct canfs_policy {
	const char *name;
	bool by_address; /* fetches must know their address */
	size_t bytes;    /* of an order, which is all zero at first */
	void (*add)(void *order, struct canfs_fetch *fetch);
	void (*remove)(void *order, struct canfs_fetch *fetch, enum canfs_leave why);
	struct canfs_fetch *(*choose)(
		void *order); /* the next one; stays in. NULL: nothing waits */
	/* A demand read has joined it (fetch->hurried). NULL: keeps its place */
	void (*hurry)(void *order, struct canfs_fetch *fetch);
};

/* Those of policies.h; ends with a NULL. */
extern const struct canfs_policy *const canfs_policies[];

/* NULL: no such policy. */
const struct canfs_policy *canfs_policy_named(const char *name);

#endif
