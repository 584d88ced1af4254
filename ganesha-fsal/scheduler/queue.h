/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a device shall fetch, from its arrival to its end: what waits, in a policy's order; what is in the
 * kernel; which fetch has joined which. Pure: no clock, no thread, no lock: of several threads one at a time.
 *
 *	enter() --> place() --policy--> take() --> finish() --> list of those to be told
 *	   \---- joins what is known already --------------^
 *
 * The policy orders prefetch only. A demand read gains nothing from it: the kernel and the drive order demand reads better
 * than anything that sees only some of them, so they are handed out as they come. One that has joined a prefetch has that one's
 * place: so sequential readers that have caught up with their prefetch, all waiting, do not undo the order that makes
 * them fast.
 */
#ifndef CANFS_GANESHA_FSAL_SCHEDULER_QUEUE_H
#define CANFS_GANESHA_FSAL_SCHEDULER_QUEUE_H

#include "ganesha-fsal/scheduler/policy.h"

struct canfs_queue_config {
	const struct canfs_policy *policy;
	unsigned int waiting_max;
};

RB_HEAD(canfs_known, canfs_fetch);
RB_HEAD(canfs_demands, canfs_fetch);

struct canfs_queue {
	struct canfs_queue_config config;
	void *order;                  /* the policy's */
	void *spare;                  /* for the next one's: a change of policy cannot fail */
	struct canfs_known known;     /* all that fetch something themselves, by file and offset */
	struct canfs_demands demands; /* those that wait, by arrival */
	uint64_t serial;
	unsigned int waiting; /* those that have entered, too */
	unsigned int in_kernel[CANFS_FETCH_KINDS];
	uint64_t prefetch_bytes; /* in the kernel */
	unsigned int joiners;    /* of which others fetch all */
	uint64_t refused, joined;
};

/* Those to be told, oldest first. */
struct canfs_fetch_list {
	struct canfs_fetch *first, **end; /* end: zeroed if empty */
};

/* 0, -ENOMEM. */
int canfs_queue_init(struct canfs_queue *queue, const struct canfs_queue_config *config);

/* Everything must have been finished or cancelled. */
void canfs_queue_destroy(struct canfs_queue *queue);

/*
 * False: refused. True: it is the queue's; if canfs_fetch_own_bytes() is not 0 then, it wants to be placed,
 * else others bring all of it.
 */
bool canfs_queue_enter(struct canfs_queue *queue, struct canfs_fetch *fetch, uint64_t now_nsec);

/* One that has entered: it waits at this address from now on, where its first own byte is (of no matter for a demand). */
void canfs_queue_place(struct canfs_queue *queue, struct canfs_fetch *fetch, uint64_t address);

/* The next one of that kind for the kernel: its bytes [from, to). NULL: none waits. */
struct canfs_fetch *canfs_queue_take(struct canfs_queue *queue, enum canfs_fetch_kind kind);

/* One that was taken, or has entered and will not be placed, is done with (0, -errno). */
void canfs_queue_finish(struct canfs_queue *queue, struct canfs_fetch *fetch, int error,
	struct canfs_fetch_list *finished);

/* The prefetch of the file that waits from that offset on, and that no demand read has joined: -ECANCELED. */
void canfs_queue_cancel(struct canfs_queue *queue, uint64_t file, uint64_t from_offset,
	struct canfs_fetch_list *finished);

/* All of the file that waits in its place, demand reads too: -ECANCELED. */
void canfs_queue_drop(struct canfs_queue *queue, uint64_t file, struct canfs_fetch_list *finished);

/* All that waits in its place: -ECANCELED. */
void canfs_queue_cancel_all(struct canfs_queue *queue, struct canfs_fetch_list *finished);

/* What waits goes over to the new policy's order. */
void canfs_queue_set_policy(struct canfs_queue *queue, const struct canfs_policy *policy);

#endif
