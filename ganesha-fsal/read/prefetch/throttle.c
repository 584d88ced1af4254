// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/throttle.h"

void canfs_throttle_init(struct canfs_throttle *throttle, uint64_t lag_bytes)
{
	*throttle = (struct canfs_throttle) { .lag_bytes = lag_bytes };
	pthread_mutex_init(&throttle->mutex, NULL);
	STAILQ_INIT(&throttle->held);
}

void canfs_throttle_destroy(struct canfs_throttle *throttle)
{
	pthread_mutex_destroy(&throttle->mutex);
}

bool canfs_throttle_hold(struct canfs_throttle *throttle, struct canfs_job *job)
{
	bool holds;

	/* If a read is served after this check, it finds the job in the list. */
	pthread_mutex_lock(&throttle->mutex);
	holds = atomic_load(&throttle->waiting) != 0;
	if (holds)
		STAILQ_INSERT_TAIL(&throttle->held, job, next);
	pthread_mutex_unlock(&throttle->mutex);
	return holds;
}

void canfs_throttle_begin(struct canfs_throttle *throttle)
{
	if (atomic_fetch_add(&throttle->waiting, 1) == 0)
		atomic_store(&throttle->passed, 0);
}

/* Call with the mutex held. */
static void release_all(struct canfs_throttle *throttle, bool gives_up, struct canfs_held *released)
{
	throttle->late = false;
	atomic_store(&throttle->gave_up, gives_up);
	STAILQ_CONCAT(released, &throttle->held);
}

void canfs_throttle_end(struct canfs_throttle *throttle, struct canfs_held *released)
{
	STAILQ_INIT(released);
	pthread_mutex_lock(&throttle->mutex);
	atomic_store(&throttle->passed, 0);
	atomic_fetch_sub(&throttle->waiting, 1);
	release_all(throttle, false, released);
	pthread_mutex_unlock(&throttle->mutex);
}

void canfs_throttle_tick(struct canfs_throttle *throttle, struct canfs_held *released)
{
	STAILQ_INIT(released);
	pthread_mutex_lock(&throttle->mutex);
	if (throttle->late)
		release_all(throttle, true, released);
	else
		throttle->late = !STAILQ_EMPTY(&throttle->held);
	pthread_mutex_unlock(&throttle->mutex);
}
