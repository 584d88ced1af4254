// SPDX-License-Identifier: LGPL-3.0-or-later
/* A pool of threads: more of them when all are waiting, and no more than are allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/clock.h"
#include "ganesha-fsal/read/prefetch/worker_pool.h"
#include "tests/unit/gate.h"

#define THREADS 4
#define TICKS   100 /* more than it may take to start all of them */

static bool held;
static unsigned int begun, threads;
static uint64_t now_usec;

static void wait_for_gate(struct canfs_job *job)
{
	(void)job;
	gate_pass(&begun, &held);
}

static void count_thread(const char *name)
{
	(void)name;
	gate_count(&threads);
}

static unsigned int threads_now(void)
{
	unsigned int now;

	pthread_mutex_lock(&gate);
	now = threads;
	pthread_mutex_unlock(&gate);
	return now;
}

static void tick_late(struct canfs_worker_pool *pool)
{
	now_usec += CANFS_POOL_LATE_USEC;
	canfs_worker_pool_tick(pool, now_usec);
}

static void with_jobs_that_wait(unsigned int jobs, void (*check)(struct canfs_worker_pool *pool))
{
	static struct canfs_job job[2 * CANFS_POOL_THREADS_MAX];
	struct canfs_worker_pool *pool;

	begun = threads = 0;
	gate_set(&held, true);
	assert_int_equal(
		canfs_worker_pool_new(&pool, THREADS, CANFS_POOL_THREADS_MAX, "test", count_thread),
		0);
	gate_await(&threads, THREADS);
	for (unsigned int i = 0; i < jobs; i++) {
		job[i] = (struct canfs_job) { .run = wait_for_gate };
		canfs_worker_pool_submit(pool, &job[i]);
		if (i < THREADS) /* so that none of them can be late */
			gate_await(&begun, i + 1);
	}
	now_usec = canfs_now_usec();
	check(pool);
	gate_set(&held, false);
	canfs_worker_pool_free(pool);
	assert_int_equal(begun, jobs);
}

static void expect_all_to_begin(struct canfs_worker_pool *pool)
{
	gate_await(&begun, THREADS);
	canfs_worker_pool_tick(pool, 0); /* none is late by then */
	assert_int_equal(threads_now(), THREADS);
	tick_late(pool);
	gate_await(&begun, THREADS + 1);
	gate_await(&threads, 2 * THREADS);
}

static void jobs_that_wait_stop_no_other(void **state)
{
	(void)state;
	with_jobs_that_wait(THREADS + 1, expect_all_to_begin);
}

static void expect_no_more_threads(struct canfs_worker_pool *pool)
{
	gate_await(&begun, THREADS);
	for (unsigned int i = 0; i < TICKS; i++)
		tick_late(pool);
	assert_int_equal(threads_now(), THREADS);
}

static void without_another_job_there_are_no_more(void **state)
{
	(void)state;
	with_jobs_that_wait(THREADS, expect_no_more_threads);
}

static void expect_the_most(struct canfs_worker_pool *pool)
{
	for (unsigned int now = THREADS; now < CANFS_POOL_THREADS_MAX; now *= 2) {
		gate_await(&begun, now);
		tick_late(pool);
		canfs_worker_pool_tick(pool, now_usec); /* as many again are enough for a while */
	}
	gate_await(&begun, CANFS_POOL_THREADS_MAX);
	for (unsigned int i = 0; i < TICKS; i++)
		tick_late(pool);
	assert_int_equal(threads_now(), CANFS_POOL_THREADS_MAX);
}

static void they_are_bounded(void **state)
{
	(void)state;
	with_jobs_that_wait(2 * CANFS_POOL_THREADS_MAX, expect_the_most);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_that_wait_stop_no_other),
		cmocka_unit_test(without_another_job_there_are_no_more),
		cmocka_unit_test(they_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
