/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a device shall fetch, from its arrival to its end: who waits, in a policy's order; what is in the
 * kernel; who has joined whom. Pure: no clock, no thread, no lock: of several threads one at a time.
 *
 *	enter() --> place() --policy--> take() --> finish() --> list of those to be told
 *	   \---- joins what is known already --------------^
 *
 * A demand read that has waited L overtakes what the policy would serve, the oldest first; but after each of
 * them at least CANFS_OVERTAKING_GAP_BYTES are served in the policy's order: if all that waits is old, a device
 * would be all seeks, and prefetch would starve. One that has joined a prefetch has that one's place and does
 * not overtake: so sequential readers who have caught up with their prefetch, all waiting, do not undo the
 * order that makes them fast.
 */
#ifndef CANFS_GANESHA_FSAL_SCHEDULER_QUEUE_H
#define CANFS_GANESHA_FSAL_SCHEDULER_QUEUE_H

#include "ganesha-fsal/scheduler/policy.h"

#define CANFS_OVERTAKING_GAP_BYTES ((uint64_t)CANFS_FETCH_BYTES_MAX)

struct canfs_queue_config {
	const struct canfs_policy *policy;
	uint32_t lag_bytes;
	uint64_t demand_nsec;
	unsigned int waiting_max;
};

RB_HEAD(canfs_known, canfs_fetch);
RB_HEAD(canfs_demands, canfs_fetch);

struct canfs_queue {
	struct canfs_queue_config config;
	void *order;                  /* the policy's */
	struct canfs_known known;     /* all that fetch something themselves, by file and offset */
	struct canfs_demands demands; /* those that may overtake, by arrival */
	uint64_t serial;
	uint64_t since_overtaking_bytes;
	unsigned int waiting, in_kernel; /* waiting: those that have entered, too */
	uint64_t in_kernel_bytes;
	unsigned int joiners; /* of whom others fetch all */
	uint64_t refused, joined, overtook;
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

/* One that has entered: it waits at this address from now on, where its first own byte is. */
void canfs_queue_place(struct canfs_queue *queue, struct canfs_fetch *fetch, uint64_t address);

/* The next one for the kernel: its bytes [from, to). NULL: nothing waits. */
struct canfs_fetch *canfs_queue_take(struct canfs_queue *queue, uint64_t now_nsec);

/* One that was taken, or has entered and will not be placed, is done with (0, -errno). */
void canfs_queue_finish(struct canfs_queue *queue, struct canfs_fetch *fetch, int error,
	struct canfs_fetch_list *finished);

/* The prefetch of the file that waits from that offset on, and that no demand read has joined: -ECANCELED. */
void canfs_queue_cancel(struct canfs_queue *queue, uint64_t file, uint64_t from_offset,
	struct canfs_fetch_list *finished);

/* All of the file that waits in its place, whoever waits for it: -ECANCELED. */
void canfs_queue_drop(struct canfs_queue *queue, uint64_t file, struct canfs_fetch_list *finished);

/* All that waits in its place: -ECANCELED. */
void canfs_queue_cancel_all(struct canfs_queue *queue, struct canfs_fetch_list *finished);

/* 0, -ENOMEM: nothing is changed. */
int canfs_queue_set_policy(struct canfs_queue *queue, const struct canfs_policy *policy);

#endif
