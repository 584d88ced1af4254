/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Waiting for what may never come, by a clock that nobody sets. */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_PATIENCE_H
#define CANFS_GANESHA_FSAL_PREFETCH_PATIENCE_H

#include <pthread.h>
#include <time.h>

/*
 * How long the end of an export waits for what the kernel has of it: longer than a disk takes that works (32 MiB and
 * a retry of each), and than one with a limited time for recovery (7 s) takes for an error; and far shorter than the service
 * manager's patience with the whole server (90 s).
 */
#define CANFS_PATIENCE_MSEC 10000u

static inline void canfs_steady_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t steady;

	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &steady);
	pthread_condattr_destroy(&steady);
}

/* For pthread_cond_timedwait() on such a one. */
static inline struct timespec canfs_in_msec(unsigned int msec)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += msec / 1000;
	time.tv_nsec += (long)(msec % 1000) * 1000000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

#endif
