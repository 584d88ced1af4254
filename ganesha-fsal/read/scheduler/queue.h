/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The fetches of a device, from arrival to end: which wait, in the policy's order; which are in the
 * kernel; which have joined which. Pure: no clock, no thread, no lock. One thread may call at a
 * time.
 *
 *	enter() --> place() --policy--> take() --> finish() --> list of fetches whose done() is due
 *	   \---- joins what is known already --------------^
 *
 * The policy orders prefetch only. Demand reads gain nothing from an order, because the kernel and
 * the drive order them better than code that sees only some of them. Demand reads are handed out as
 * they come. A demand read that has joined a prefetch takes the place of the prefetch. Sequential
 * readers that have caught up with their prefetch thus do not undo the order that makes them fast.
 */
#ifndef CANFS_GANESHA_FSAL_READ_SCHEDULER_QUEUE_H
#define CANFS_GANESHA_FSAL_READ_SCHEDULER_QUEUE_H

#include "ganesha-fsal/read/scheduler/policy.h"

struct canfs_queue_config {
	const struct canfs_policy *policy;
	unsigned int waiting_max;
};

RB_HEAD(canfs_known, canfs_fetch);
RB_HEAD(canfs_demands, canfs_fetch);

struct canfs_queue {
	struct canfs_queue_config config;
	void *order;                  /* of the policy */
	void *spare;                  /* for the next policy's: a change of policy cannot fail */
	struct canfs_known known;     /* all with bytes of their own to fetch, by file and offset */
	struct canfs_demands demands; /* waiting demand reads, by arrival */
	uint64_t serial;
	unsigned int waiting; /* with those that have only entered */
	unsigned int in_kernel[CANFS_FETCH_KINDS];
	uint64_t prefetch_bytes; /* in the kernel */
	unsigned int joiners;    /* fetches of which others bring all bytes */
	uint64_t refused, joined;
};

/* Fetches whose done() is due, oldest first. */
struct canfs_fetch_list {
	struct canfs_fetch *first, **end; /* end: not valid while the list is empty */
};

/* Returns 0 or -ENOMEM. */
int canfs_queue_init(struct canfs_queue *queue, const struct canfs_queue_config *config);

/* All fetches must have been finished or cancelled. */
void canfs_queue_destroy(struct canfs_queue *queue);

/*
 * False: refused. True: the queue owns the fetch. If canfs_fetch_own_bytes() is not 0 then, the
 * caller must place the fetch. If it is 0, other fetches bring all of its bytes.
 */
bool canfs_queue_enter(struct canfs_queue *queue, struct canfs_fetch *fetch, uint64_t now_nsec);

/*
 * Lets a fetch that has entered wait at this address, which is that of its first own byte. For a
 * demand read the address does not matter.
 */
void canfs_queue_place(struct canfs_queue *queue, struct canfs_fetch *fetch, uint64_t address);

/*
 * Returns the next fetch of that kind for the kernel, which must bring its bytes [from, to). NULL:
 * none waits.
 */
struct canfs_fetch *canfs_queue_take(struct canfs_queue *queue, enum canfs_fetch_kind kind);

/* Ends a fetch that was taken, or that has entered and will not be placed. error: 0 or -errno. */
void canfs_queue_finish(struct canfs_queue *queue, struct canfs_fetch *fetch, int error,
	struct canfs_fetch_list *finished);

/*
 * Ends the file's placed prefetch that begins at from_offset or beyond, with -ECANCELED. Prefetch
 * that a demand read has joined stays.
 */
void canfs_queue_cancel(struct canfs_queue *queue, uint64_t file, uint64_t from_offset,
	struct canfs_fetch_list *finished);

/* Ends all placed fetches of the file with -ECANCELED, demand reads too. */
void canfs_queue_drop(struct canfs_queue *queue, uint64_t file, struct canfs_fetch_list *finished);

/* Ends all placed fetches with -ECANCELED. */
void canfs_queue_cancel_all(struct canfs_queue *queue, struct canfs_fetch_list *finished);

/* Moves the waiting fetches to the order of the new policy. */
void canfs_queue_set_policy(struct canfs_queue *queue, const struct canfs_policy *policy);

#endif
