/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * open(2) calls of other processes that wait, and for how long. With a lock of the caller.
 *
 *	BRIEF --+-- it runs just now --> LOOK, and again from here
 *	        +-- it only reads or writes ----------------------> LONG --> it goes on
 *	        +-- it truncates; overtake() -- true --------------------->  it goes on
 *	        |                           \- false --> RETRIED; likewise, or it fails
 *	        +-- not known (opener.h) --------------------------------->  it goes on
 */
#ifndef CANFS_GANESHA_FSAL_WAITS_H
#define CANFS_GANESHA_FSAL_WAITS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "ganesha-fsal/delegations/events.h"

/* Each begins with the first, and all of one stage wait for the same time. */
enum canfs_wait_stage {
	CANFS_WAIT_BRIEF,
	CANFS_WAIT_LOOK,
	CANFS_WAIT_RETRIED,
	CANFS_WAIT_LONG,
	CANFS_WAIT_STAGES
};

struct canfs_wait;
TAILQ_HEAD(
	canfs_wait_list, canfs_wait); /* of one file, for instance; TAILQ_INIT() before the first */

struct canfs_open_waits {
	struct canfs_events *events;
	bool (*overtake)(uint64_t file); /* as in watch.h */
	unsigned int brief_msec, all_sec;
	unsigned int count;
	struct canfs_wait_list stage[CANFS_WAIT_STAGES];
};

void canfs_waits_init(struct canfs_open_waits *waits); /* the lists */

/* In the thread that answers. False: it need not, or cannot, wait. */
bool canfs_waits_begin(struct canfs_open_waits *waits, struct canfs_wait_list *of_file,
	uint64_t file, const struct canfs_event *event);

/* Those of a file go on. */
void canfs_waits_end(struct canfs_open_waits *waits, struct canfs_wait_list *of_file);

/*
 * In the thread that answers: what is over by now. The lock is held, but not all the time. When to call it again, in ms; -1: there is none.
 */
int canfs_waits_expire(struct canfs_open_waits *waits, pthread_mutex_t *lock);

/* Of each that waits. */
void canfs_waits_each(const struct canfs_open_waits *waits,
	void (*call)(void *arg, struct canfs_wait_list *of_file), void *arg);

#endif
