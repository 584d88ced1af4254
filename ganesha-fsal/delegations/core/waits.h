/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * open(2) calls of other processes that wait, and how long each waits. The caller holds a lock.
 *
 *	BRIEF --+-- it runs just now --> LOOK, and again from here
 *	        +-- it only reads or writes ----------------------> LONG --> it proceeds
 *	        +-- it truncates; overtake() -- true --------------------->  it proceeds
 *	        |                           \- false --> RETRIED; likewise, or it fails
 *	        +-- not known (opener.h) --------------------------------->  it proceeds
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_WAITS_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_WAITS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "ganesha-fsal/delegations/core/events.h"

/* Each wait begins with the first stage. All waits in a stage last equally long. */
enum canfs_wait_stage {
	CANFS_WAIT_BRIEF,
	CANFS_WAIT_LOOK,
	CANFS_WAIT_RETRIED,
	CANFS_WAIT_LONG,
	CANFS_WAIT_STAGES
};

struct canfs_wait;
/* A list of waits, for example of one file. The caller initializes it with TAILQ_INIT(). */
TAILQ_HEAD(canfs_wait_list, canfs_wait);

struct canfs_open_waits {
	struct canfs_events *events;
	bool (*overtake)(uint64_t file); /* as in watch.h */
	unsigned int brief_msec, all_sec;
	unsigned int count;
	struct canfs_wait_list stage[CANFS_WAIT_STAGES];
};

void canfs_waits_init(struct canfs_open_waits *waits); /* initializes the lists only */

/* Runs in canfs_answer. False: the open need not or cannot wait. */
bool canfs_waits_begin(struct canfs_open_waits *waits, struct canfs_wait_list *of_file,
	uint64_t file, const struct canfs_event *event);

/* Lets the waiting opens of a file proceed. */
void canfs_waits_end(struct canfs_open_waits *waits, struct canfs_wait_list *of_file);

/*
 * Runs in canfs_answer: ends the waits that have expired. Releases the lock meanwhile. Returns the
 * ms until the next call, or -1 if no open waits.
 */
int canfs_waits_expire(struct canfs_open_waits *waits, pthread_mutex_t *lock);

/* Calls the function for each waiting open. */
void canfs_waits_each(const struct canfs_open_waits *waits,
	void (*call)(void *arg, struct canfs_wait_list *of_file), void *arg);

#endif
