/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A gate with which a test's own device blocks until the test opens it, and counters that a test
 * waits for.
 */
#ifndef CANFS_TESTS_UNIT_GATE_H
#define CANFS_TESTS_UNIT_GATE_H

#include <pthread.h>
#include <stdbool.h>

/* Protects the counters, and the flags that hold the device back. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;

static inline void gate_set(bool *held, bool value)
{
	pthread_mutex_lock(&gate);
	*held = value;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&gate);
}

static inline void gate_await(const unsigned int *count, unsigned int least)
{
	pthread_mutex_lock(&gate);
	while (*count < least)
		pthread_cond_wait(&moved, &gate);
	pthread_mutex_unlock(&gate);
}

static inline void gate_count(unsigned int *count)
{
	pthread_mutex_lock(&gate);
	++*count;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&gate);
}

/* Counts at once, then blocks while held. */
static inline void gate_pass(unsigned int *count, const bool *held)
{
	pthread_mutex_lock(&gate);
	++*count;
	pthread_cond_broadcast(&moved);
	while (*held)
		pthread_cond_wait(&moved, &gate);
	pthread_mutex_unlock(&gate);
}

#endif
