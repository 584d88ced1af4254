// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/throttle.h"

void canfs_throttle_init(struct canfs_throttle *throttle, uint64_t lag_bytes)
{
	*throttle = (struct canfs_throttle) { .lag_bytes = lag_bytes, .streams = 1 };
	pthread_mutex_init(&throttle->mutex, NULL);
	STAILQ_INIT(&throttle->held);
}

void canfs_throttle_destroy(struct canfs_throttle *throttle)
{
	pthread_mutex_destroy(&throttle->mutex);
}

/* Call with the mutex held. The first READ always proceeds, however large it is. */
static bool may_release(struct canfs_throttle *throttle, uint64_t bytes)
{
	uint64_t bound = canfs_throttle_bound(throttle);
	uint64_t passed = atomic_load(&throttle->passed);

	if (atomic_load(&throttle->waiting) != 0 && passed != 0 && passed + bytes > bound)
		return false;
	return throttle->in_flight == 0 || throttle->in_flight + bytes <= bound;
}

/* Call with the mutex held. */
static void let_pass(struct canfs_throttle *throttle, uint64_t bytes)
{
	throttle->in_flight += bytes;
	atomic_fetch_add(&throttle->passed, bytes);
}

bool canfs_throttle_hold(struct canfs_throttle *throttle, struct canfs_job *job)
{
	bool holds;

	/* Since passes(), the read may have been served and another one come. */
	pthread_mutex_lock(&throttle->mutex);
	holds = !STAILQ_EMPTY(&throttle->held) ||
		(atomic_load(&throttle->waiting) != 0 && !may_release(throttle, job->bytes));
	if (holds) {
		STAILQ_INSERT_TAIL(&throttle->held, job, next);
		atomic_fetch_add(&throttle->count, 1);
	} else {
		let_pass(throttle, job->bytes);
	}
	pthread_mutex_unlock(&throttle->mutex);
	return holds;
}

/* Call with the mutex held. */
static void release_first(struct canfs_throttle *throttle, struct canfs_held *released)
{
	struct canfs_job *job = STAILQ_FIRST(&throttle->held);

	STAILQ_REMOVE_HEAD(&throttle->held, next);
	STAILQ_INSERT_TAIL(released, job, next);
	atomic_fetch_sub(&throttle->count, 1);
	let_pass(throttle, job->bytes);
	throttle->moved = true;
}

/* Call with the mutex held. */
static void release(struct canfs_throttle *throttle, struct canfs_held *released)
{
	while (!STAILQ_EMPTY(&throttle->held) &&
		may_release(throttle, STAILQ_FIRST(&throttle->held)->bytes))
		release_first(throttle, released);
}

void canfs_throttle_done(
	struct canfs_throttle *throttle, uint64_t bytes, struct canfs_held *released)
{
	STAILQ_INIT(released);
	pthread_mutex_lock(&throttle->mutex);
	throttle->in_flight -= bytes;
	release(throttle, released);
	pthread_mutex_unlock(&throttle->mutex);
}

void canfs_throttle_begin(struct canfs_throttle *throttle)
{
	pthread_mutex_lock(&throttle->mutex);
	if (atomic_fetch_add(&throttle->waiting, 1) == 0) {
		atomic_store(&throttle->passed, 0);
		atomic_store(&throttle->gave_up, false);
	}
	throttle->came = true;
	pthread_mutex_unlock(&throttle->mutex);
}

void canfs_throttle_end(struct canfs_throttle *throttle, struct canfs_held *released)
{
	STAILQ_INIT(released);
	pthread_mutex_lock(&throttle->mutex);
	atomic_store(&throttle->passed, 0);
	atomic_store(&throttle->gave_up, false);
	atomic_fetch_sub(&throttle->waiting, 1);
	release(throttle, released);
	pthread_mutex_unlock(&throttle->mutex);
}

void canfs_throttle_tick(
	struct canfs_throttle *throttle, unsigned int streams, struct canfs_held *released)
{
	bool waits, is_stuck;

	if (streams > CANFS_THROTTLE_STREAMS)
		streams = CANFS_THROTTLE_STREAMS;
	STAILQ_INIT(released);
	pthread_mutex_lock(&throttle->mutex);
	atomic_store(&throttle->streams, streams > 0 ? streams : 1);
	waits = atomic_load(&throttle->waiting) != 0;
	is_stuck = waits && throttle->late && !throttle->moved;
	if (is_stuck)
		atomic_store(&throttle->gave_up, true);
	while ((is_stuck || !(waits || throttle->came)) && !STAILQ_EMPTY(&throttle->held))
		release_first(throttle, released);
	throttle->late = !STAILQ_EMPTY(&throttle->held);
	throttle->moved = throttle->came = false;
	pthread_mutex_unlock(&throttle->mutex);
}
