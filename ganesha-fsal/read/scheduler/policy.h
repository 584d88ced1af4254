/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The order in which a device serves waiting prefetch (Ellard & Seltzer 2003, §5.3). A policy is
 * one file and one row of policies.h. Pure: no clock, no thread, no lock. Every call takes O(log n)
 * for n waiting fetches. Policies do not order demand reads: the queue hands them out before any
 * prefetch (queue.h).
 */
#ifndef CANFS_GANESHA_FSAL_READ_SCHEDULER_POLICY_H
#define CANFS_GANESHA_FSAL_READ_SCHEDULER_POLICY_H

#include <stddef.h>

#include "ganesha-fsal/read/scheduler/fetch.h"

enum canfs_leave {
	CANFS_SERVED,   /* it is the one that choose() returned */
	CANFS_CANCELLED /* not served */
};

struct canfs_policy {
	const char *name;
	bool by_address; /* fetches must know their address */
	size_t bytes;    /* size of an order, which starts as all zero */
	void (*add)(void *order, struct canfs_fetch *fetch);
	void (*remove)(void *order, struct canfs_fetch *fetch, enum canfs_leave why);
	struct canfs_fetch *(*choose)(
		void *order); /* the next fetch, which stays in. NULL: nothing waits */
	/* A demand read has joined the fetch (fetch->hurried). NULL: the fetch keeps its place. */
	void (*hurry)(void *order, struct canfs_fetch *fetch);
};

/* The policies of policies.h, ended by NULL. */
extern const struct canfs_policy *const canfs_policies[];

/* Returns NULL if there is no such policy. */
const struct canfs_policy *canfs_policy_named(const char *name);

#endif
