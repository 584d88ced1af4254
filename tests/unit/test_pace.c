/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client-agent/pace.h"

#define TICK_USEC 100000
#define MIB       (1 << 20)

static uint64_t run(
	struct canfs_pace *pace, enum canfs_verdict verdict, double margin, unsigned int ticks)
{
	uint64_t sent = 0;

	for (unsigned int i = 0; i < ticks; i++) {
		uint64_t chunk = canfs_pace_step(pace, verdict, margin, 0, TICK_USEC);

		assert_true(chunk <= CANFS_PACE_CHUNK_MAX_BYTES);
		assert_int_equal(chunk % MIB, 0);
		sent += chunk;
	}
	return sent;
}

static void test_nothing_leaves_unless_accelerated(void **state)
{
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	assert_int_equal(run(&pace, CANFS_HOLD, 1, 50), 0);
	assert_int_equal(run(&pace, CANFS_DEFER, 1, 50), 0);
	assert_true(run(&pace, CANFS_ACCELERATE, 1, 50) > 0);
	assert_int_equal(run(&pace, CANFS_DEFER, 1, 1), 0);
}

static void test_grows_while_cheap_up_to_the_bound(void **state)
{
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	run(&pace, CANFS_ACCELERATE, 0.5, 10); /* 1 s: two doublings */
	assert_true(pace.rate_bytes_per_sec > 3.9 * CANFS_PACE_MIN_BYTES_PER_SEC);
	assert_true(pace.rate_bytes_per_sec < 4.1 * CANFS_PACE_MIN_BYTES_PER_SEC);
	run(&pace, CANFS_ACCELERATE, 0.5, 1000);
	assert_true(pace.rate_bytes_per_sec <= CANFS_PACE_MAX_BYTES_PER_SEC);
}

static void test_sinks_while_prices_are_level(void **state)
{
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	run(&pace, CANFS_ACCELERATE, 0.5, 20);
	double top = pace.rate_bytes_per_sec;
	run(&pace, CANFS_ACCELERATE, -0.01, 5);
	assert_true(pace.rate_bytes_per_sec < top / 3.9);
	run(&pace, CANFS_ACCELERATE, -0.01, 1000);
	assert_true(pace.rate_bytes_per_sec >= CANFS_PACE_MIN_BYTES_PER_SEC);
}

static void test_remembers_half_of_what_was_borne(void **state)
{
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	run(&pace, CANFS_ACCELERATE, 0.5, 20);
	double top = pace.rate_bytes_per_sec;
	run(&pace, CANFS_DEFER, -0.5, 30);
	assert_true(pace.rate_bytes_per_sec > top * 0.49 && pace.rate_bytes_per_sec < top * 0.51);
}

static void test_sends_what_the_rate_says(void **state)
{
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	/* Level prices at the lowest rate: it stays there, 8 MiB/s. */
	uint64_t sent = run(&pace, CANFS_ACCELERATE, 0, 100);
	assert_in_range(sent, 79 * (uint64_t)MIB, 80 * (uint64_t)MIB);
}

static void test_uncommitted_data_closes_the_window(void **state)
{
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	run(&pace, CANFS_ACCELERATE, 0.5, 30);
	double top = pace.rate_bytes_per_sec;
	uint64_t much = (uint64_t)top; /* a second's worth */
	assert_int_equal(canfs_pace_step(&pace, CANFS_ACCELERATE, 0.5, much, TICK_USEC), 0);
	assert_true(pace.rate_bytes_per_sec < top);
	/* The least window stays, so that a server whose COMMITs are slow still gets something. */
	for (int i = 0; i < 100; i++)
		canfs_pace_step(&pace, CANFS_ACCELERATE, 0.5, much, TICK_USEC);
	assert_true(canfs_pace_step(&pace, CANFS_ACCELERATE, 0.5, CANFS_PACE_WINDOW_MIN_BYTES,
			    10 * TICK_USEC) > 0);
}

static void test_blind_pace_is_steady(void **state)
{
	struct canfs_pace pace;
	uint64_t sent = 0;

	(void)state;
	canfs_pace_init(&pace);
	for (int i = 0; i < 100; i++)
		sent += canfs_pace_blind(&pace, 0, TICK_USEC);
	assert_in_range(sent, 318 * (uint64_t)MIB, 320 * (uint64_t)MIB);
	assert_int_equal(canfs_pace_blind(&pace, 1ull << 40, TICK_USEC), 0);
}

static void test_a_late_caller_gets_no_flood(void **state)
{
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	assert_true(canfs_pace_step(&pace, CANFS_ACCELERATE, 1, 0, 3600ull * 1000000) <=
		    CANFS_PACE_CHUNK_MAX_BYTES);
	assert_true(pace.rate_bytes_per_sec <= CANFS_PACE_MAX_BYTES_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_leaves_unless_accelerated),
		cmocka_unit_test(test_grows_while_cheap_up_to_the_bound),
		cmocka_unit_test(test_sinks_while_prices_are_level),
		cmocka_unit_test(test_remembers_half_of_what_was_borne),
		cmocka_unit_test(test_sends_what_the_rate_says),
		cmocka_unit_test(test_uncommitted_data_closes_the_window),
		cmocka_unit_test(test_blind_pace_is_steady),
		cmocka_unit_test(test_a_late_caller_gets_no_flood),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
