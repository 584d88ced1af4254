/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The clock of all deadlines, samples and auctions. It never runs backwards. */
#ifndef CANFS_COMMON_CLOCK_H
#define CANFS_COMMON_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC. */
static inline uint64_t canfs_now_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Returns the processor time of the calling thread. */
static inline uint64_t canfs_cpu_usec(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

/* Returns how long the machine was suspended since boot. CLOCK_MONOTONIC stops during a suspend. */
static inline uint64_t canfs_suspended_usec(uint64_t now_usec)
{
	struct timespec boot;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (uint64_t)boot.tv_sec * 1000000 + (uint64_t)boot.tv_nsec / 1000 - now_usec;
}

/* Initializes cond to use CLOCK_MONOTONIC. */
static inline void canfs_steady_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t steady;

	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &steady);
	pthread_condattr_destroy(&steady);
}

/*
 * Returns the time msec milliseconds from now, for pthread_cond_timedwait() on such a condition
 * variable.
 */
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
