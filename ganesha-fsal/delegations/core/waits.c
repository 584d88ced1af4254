// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/waits.h"

#include <stdlib.h>
#include "common/clock.h"
#include "ganesha-fsal/delegations/core/opener.h"
#include "ganesha-fsal/delegations/core/watch.h"

#define RETRY_MSEC 1000
#define LOOK_MSEC  20
#define LOOKS_MAX  250 /* by now, a thread that always runs may have reused the TID */

struct canfs_wait {
	struct canfs_wait_list *list; /* the list of its file */
	uint64_t file;
	int number; /* of the event, for its answer */
	pid_t tid;
	enum canfs_wait_stage stage;
	unsigned int looks;
	uint64_t until_usec;
	TAILQ_ENTRY(canfs_wait) of_file, of_stage;
};

void canfs_waits_init(struct canfs_open_waits *waits)
{
	for (int i = 0; i < CANFS_WAIT_STAGES; i++)
		TAILQ_INIT(&waits->stage[i]);
}

static void end_wait(struct canfs_open_waits *waits, struct canfs_wait *wait, bool allow)
{
	TAILQ_REMOVE(wait->list, wait, of_file);
	TAILQ_REMOVE(&waits->stage[wait->stage], wait, of_stage);
	waits->count--;
	canfs_events_answer(waits->events, wait->number, allow);
	free(wait);
}

void canfs_waits_end(struct canfs_open_waits *waits, struct canfs_wait_list *of_file)
{
	while (!TAILQ_EMPTY(of_file))
		end_wait(waits, TAILQ_FIRST(of_file), true);
}

static uint64_t stage_usec(const struct canfs_open_waits *waits, enum canfs_wait_stage stage)
{
	uint64_t brief_usec = waits->brief_msec * UINT64_C(1000),
		 all_usec = waits->all_sec * UINT64_C(1000000);

	if (stage == CANFS_WAIT_RETRIED)
		return RETRY_MSEC * UINT64_C(1000);
	if (stage == CANFS_WAIT_LOOK)
		return LOOK_MSEC * UINT64_C(1000);
	if (brief_usec > all_usec)
		brief_usec = all_usec;
	return stage == CANFS_WAIT_BRIEF ? brief_usec : all_usec - brief_usec;
}

static void enter_stage(
	struct canfs_open_waits *waits, struct canfs_wait *wait, enum canfs_wait_stage stage)
{
	wait->stage = stage;
	wait->until_usec = canfs_now_usec() + stage_usec(waits, stage);
	TAILQ_INSERT_TAIL(&waits->stage[stage], wait, of_stage);
}

static void change_stage(
	struct canfs_open_waits *waits, struct canfs_wait *wait, enum canfs_wait_stage stage)
{
	TAILQ_REMOVE(&waits->stage[wait->stage], wait, of_stage);
	enter_stage(waits, wait, stage);
}

bool canfs_waits_begin(struct canfs_open_waits *waits, struct canfs_wait_list *of_file,
	uint64_t file, const struct canfs_event *event)
{
	struct canfs_wait *wait =
		waits->count < CANFS_WATCH_WAITERS_MAX ? malloc(sizeof(*wait)) : NULL;

	if (!wait)
		return false;
	*wait = (struct canfs_wait) {
		.list = of_file, .file = file, .number = event->number, .tid = event->tid
	};
	TAILQ_INSERT_TAIL(of_file, wait, of_file);
	enter_stage(waits, wait, CANFS_WAIT_BRIEF);
	waits->count++;
	return true;
}

/* These stages end when it is known how the thread opens the file. */
static bool is_looked_at(enum canfs_wait_stage stage)
{
	return stage == CANFS_WAIT_BRIEF || stage == CANFS_WAIT_LOOK;
}

static bool may_go_on(const struct canfs_open_waits *waits, const struct canfs_wait *wait,
	enum canfs_opening opening)
{
	bool truncates = wait->stage == CANFS_WAIT_RETRIED ||
			 (is_looked_at(wait->stage) && opening == CANFS_OPENING_TRUNCATES);

	return !truncates || !waits->overtake || waits->overtake(wait->file);
}

static void end_stage(
	struct canfs_open_waits *waits, struct canfs_wait *wait, enum canfs_opening opening)
{
	bool looked_at = is_looked_at(wait->stage);

	if (looked_at && opening == CANFS_OPENING_RUNNING && wait->looks++ < LOOKS_MAX)
		change_stage(waits, wait, CANFS_WAIT_LOOK);
	else if (looked_at && opening == CANFS_OPENING_KEEPS)
		change_stage(waits, wait, CANFS_WAIT_LONG);
	else if (may_go_on(waits, wait, opening))
		end_wait(waits, wait, true);
	else if (looked_at)
		change_stage(waits, wait, CANFS_WAIT_RETRIED);
	else
		end_wait(waits, wait, false);
}

/* Releases the lock meanwhile: reading /proc may take time. */
static enum canfs_opening look_at(pid_t tid, pthread_mutex_t *lock)
{
	enum canfs_opening opening;

	pthread_mutex_unlock(lock);
	opening = canfs_look_at_opener(tid);
	pthread_mutex_lock(lock);
	return opening;
}

/* Returns when the next wait of this stage expires; UINT64_MAX: there is none. */
static uint64_t expire_stage(
	struct canfs_open_waits *waits, enum canfs_wait_stage stage, pthread_mutex_t *lock)
{
	enum canfs_opening opening = CANFS_OPENING_UNKNOWN;
	struct canfs_wait *wait;

	while ((wait = TAILQ_FIRST(&waits->stage[stage])) && wait->until_usec <= canfs_now_usec()) {
		if (is_looked_at(stage))
			opening = look_at(wait->tid, lock);
		/*
		 * Other threads may have ended waits meanwhile, but only this thread begins them.
		 * If the first wait has the same address, it is therefore the same wait.
		 */
		if (wait == TAILQ_FIRST(&waits->stage[stage]))
			end_stage(waits, wait, opening);
	}
	return wait ? wait->until_usec : UINT64_MAX;
}

int canfs_waits_expire(struct canfs_open_waits *waits, pthread_mutex_t *lock)
{
	uint64_t next_usec = UINT64_MAX, now_usec;

	for (enum canfs_wait_stage stage = CANFS_WAIT_BRIEF; stage < CANFS_WAIT_STAGES; stage++) {
		uint64_t until_usec = expire_stage(waits, stage, lock);

		if (until_usec < next_usec)
			next_usec = until_usec;
	}
	if (next_usec == UINT64_MAX)
		return -1;
	now_usec = canfs_now_usec();
	return next_usec > now_usec ? (int)((next_usec - now_usec) / 1000) + 1 : 0;
}

void canfs_waits_each(const struct canfs_open_waits *waits,
	void (*call)(void *arg, struct canfs_wait_list *of_file), void *arg)
{
	struct canfs_wait *wait;

	for (int i = 0; i < CANFS_WAIT_STAGES; i++) {
		TAILQ_FOREACH (wait, &waits->stage[i], of_stage)
			call(arg, wait->list);
	}
}
