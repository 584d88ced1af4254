// SPDX-License-Identifier: LGPL-3.0-or-later
/* The utilization of a back end of which only response times are seen, against queues that are computed here. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pricing/slowdown.h"

#define STEP_SEC 0.1

/* A back end that serves `servers` operations side by side and the rest behind them, for clients that ask again at once. */
struct backend {
	double service_sec;
	unsigned int servers;
	double others; /* operations of somebody else's, in its queue all the time */
};

static double response_sec(const struct backend *backend, double in_flight)
{
	double load = (in_flight + backend->others) / backend->servers;

	return backend->service_sec * fmax(load, 1);
}

/* One step with so many of one class in flight; `alone` of those that end found nothing in flight. */
static double step(struct canfs_slowdown *slowdown, const struct backend *backend,
	unsigned int response_class, double in_flight, double alone_share)
{
	struct canfs_response_sum sums[CANFS_RESPONSE_CLASSES] = { 0 };
	struct canfs_response_sum *sum = &sums[response_class];
	double alone_sec = response_sec(backend, 1), met_sec = response_sec(backend, in_flight);
	double mean_sec = alone_share * alone_sec + (1 - alone_share) * met_sec;

	unsigned int octave = canfs_others_octave((unsigned int)in_flight - 1);
	double count = in_flight * STEP_SEC / mean_sec;

	sum->count[0] = alone_share * count;
	sum->sec[0] = sum->count[0] * alone_sec;
	sum->count[octave] += (1 - alone_share) * count;
	sum->sec[octave] += (1 - alone_share) * count * met_sec;
	return canfs_slowdown_step(slowdown, sums, in_flight, STEP_SEC);
}

static double run(struct canfs_slowdown *slowdown, const struct backend *backend,
	unsigned int response_class, double in_flight, double alone_share, double sec)
{
	double utilization = 0;

	for (int i = 0; i < (int)(sec / STEP_SEC + 0.5); i++)
		utilization = step(slowdown, backend, response_class, in_flight, alone_share);
	return utilization;
}

static const struct backend head = { .service_sec = 0.008, .servers = 1 };
static const struct backend array = { .service_sec = 0.008, .servers = 16 };

static unsigned int small_reads(void)
{
	return canfs_response_class(CANFS_RESPONSE_READ, 8192);
}

static void idle_costs_nothing(void **state)
{
	struct canfs_slowdown slowdown;
	struct canfs_response_sum none[CANFS_RESPONSE_CLASSES] = { 0 };

	(void)state;
	canfs_slowdown_init(&slowdown);
	for (int i = 0; i < 20000; i++)
		assert_float_equal(canfs_slowdown_step(&slowdown, none, 0, STEP_SEC), 0, 0);
	assert_float_equal(canfs_slowdown_depth(&slowdown), 1, 1e-9);
}

static void classes_are_by_kind_and_octave(void **state)
{
	(void)state;
	assert_int_equal(canfs_others_octave(0), 0);
	assert_int_equal(canfs_others_octave(1), 1);
	assert_int_equal(canfs_others_octave(3), 2);
	assert_int_equal(canfs_others_octave(4), 3);
	assert_int_equal(canfs_others_octave(UINT_MAX), CANFS_OTHERS_OCTAVES - 1);
	assert_int_equal(canfs_response_class(CANFS_RESPONSE_READ, 0), 0);
	assert_int_equal(canfs_response_class(CANFS_RESPONSE_READ, 4096), 0);
	assert_int_equal(canfs_response_class(CANFS_RESPONSE_READ, 4097), 1);
	assert_int_equal(canfs_response_class(CANFS_RESPONSE_READ, 1 << 20), 8);
	assert_int_equal(canfs_response_class(CANFS_RESPONSE_READ, UINT64_MAX), 8);
	assert_int_equal(canfs_response_class(CANFS_RESPONSE_STABLE_WRITE, UINT64_MAX),
		CANFS_RESPONSE_CLASSES - 1);
}

/* It is taken for a single head. */
static void one_reader_of_an_unknown_back_end_is_all_that_it_takes(void **state)
{
	struct canfs_slowdown slowdown;

	(void)state;
	canfs_slowdown_init(&slowdown);
	run(&slowdown, &head, small_reads(), 1, 1, 1);
	assert_float_equal(step(&slowdown, &head, small_reads(), 1, 1), 1, 1e-6);
	assert_float_equal(canfs_slowdown_best(&slowdown, small_reads()), 0.008, 1e-9);
}

/* After others have come, it is known to serve one after the other: one is as much as it can do. */
static void a_head_is_full_with_one_reader(void **state)
{
	struct canfs_slowdown slowdown;

	(void)state;
	canfs_slowdown_init(&slowdown);
	run(&slowdown, &head, small_reads(), 1, 1, 2);
	assert_true(run(&slowdown, &head, small_reads(), 2, 0, 0.1) > 0.8);
	run(&slowdown, &head, small_reads(), 4, 0, 60);
	assert_float_equal(canfs_slowdown_depth(&slowdown), 1, 1e-9);
	assert_true(run(&slowdown, &head, small_reads(), 1, 1, 2) > 0.95);
	/* Nor does it forget within an hour of that. */
	assert_true(run(&slowdown, &head, small_reads(), 1, 1, 3600) > 0.95);
}

static void an_array_is_full_with_many(void **state)
{
	static const double in_flight[] = { 1, 2, 4, 8, 16, 24, 32, 48 };
	struct canfs_slowdown slowdown;
	double before = 0;

	(void)state;
	canfs_slowdown_init(&slowdown);
	run(&slowdown, &array, small_reads(), 1, 1, 2);
	for (size_t i = 0; i < sizeof(in_flight) / sizeof(in_flight[0]); i++)
		run(&slowdown, &array, small_reads(), in_flight[i], 0.01, 60);
	assert_true(canfs_slowdown_depth(&slowdown) > 8 && canfs_slowdown_depth(&slowdown) < 30);
	for (size_t i = 0; i < sizeof(in_flight) / sizeof(in_flight[0]); i++) {
		double utilization = run(&slowdown, &array, small_reads(), in_flight[i], 0.01, 0.2);

		assert_true(utilization >= before - 1e-9);
		assert_true(in_flight[i] > 4 || utilization < 0.4);
		assert_true(in_flight[i] < 32 || utilization > 0.8);
		before = utilization;
	}
}

/* Of which it is known that it serves a great many side by side: only the delay is left to see. */
static void init_wide(struct canfs_slowdown *slowdown)
{
	static const struct backend wide = { .service_sec = 0.008, .servers = 1000 };

	canfs_slowdown_init(slowdown);
	for (int in_flight = 2; in_flight <= 128; in_flight *= 2)
		run(slowdown, &wide, small_reads(), in_flight, 0.1, 10);
	assert_true(canfs_slowdown_depth(slowdown) > 40);
}

/* Another server of the same back end: our own reader is alone, as ever, and waits. */
static void what_others_do_shows(void **state)
{
	struct canfs_slowdown slowdown;
	struct backend shared = head;

	(void)state;
	init_wide(&slowdown);
	run(&slowdown, &head, small_reads(), 1, 1, 120);
	shared.others = 3;
	assert_float_equal(step(&slowdown, &shared, small_reads(), 1, 1), 1, 1e-9);
	/* It does for as many minutes as are remembered, less the one in which it began. */
	assert_true(
		run(&slowdown, &shared, small_reads(), 1, 1, 60 * (CANFS_BEST_MINUTES - 2)) > 0.99);
	/* Then that is what this back end gives, as far as anybody can tell. */
	assert_true(run(&slowdown, &shared, small_reads(), 1, 1, 60 * 3) < 0.2);
}

/* From memory, and then not: the quick ones are no measure of the others. */
static void an_uncached_workload_is_no_congestion(void **state)
{
	struct canfs_slowdown slowdown;
	struct canfs_response_sum none[CANFS_RESPONSE_CLASSES] = { 0 };

	(void)state;
	init_wide(&slowdown);
	for (int i = 0; i < 6000; i++) /* as quick ones are counted: not at all */
		canfs_slowdown_step(&slowdown, none, 0, STEP_SEC);
	run(&slowdown, &head, small_reads(), 1, 1, 1);
	assert_true(step(&slowdown, &head, small_reads(), 1, 1) < 0.2);
}

/* Larger ones take longer by themselves. */
static void sizes_are_not_compared(void **state)
{
	struct canfs_slowdown slowdown;
	const struct backend slow = { .service_sec = 0.1, .servers = 1 };
	unsigned int large = canfs_response_class(CANFS_RESPONSE_READ, 1 << 20);

	(void)state;
	init_wide(&slowdown);
	run(&slowdown, &head, small_reads(), 1, 1, 60);
	run(&slowdown, &slow, large, 1, 1, 2);
	assert_true(step(&slowdown, &slow, large, 1, 1) < 0.2);
	assert_float_equal(canfs_slowdown_best(&slowdown, small_reads()), 0.008, 1e-9);
	assert_float_equal(canfs_slowdown_best(&slowdown, large), 0.1, 1e-9);
}

/* A single one that takes twice as long is none either. */
static void few_operations_tell_little(void **state)
{
	struct canfs_slowdown slowdown;
	struct canfs_response_sum sums[CANFS_RESPONSE_CLASSES] = { 0 };

	(void)state;
	init_wide(&slowdown);
	run(&slowdown, &head, small_reads(), 1, 1, 60);
	sums[small_reads()] = (struct canfs_response_sum) { .count = { 1 }, .sec = { 0.016 } };
	assert_true(canfs_slowdown_step(&slowdown, sums, 0.16, STEP_SEC) < 0.5);
	assert_true(canfs_slowdown_step(&slowdown, sums, 0.16, 1) < 0.1);
}

/* A server that begins under full load has nothing to compare with but how many there are. */
static void congested_from_the_start(void **state)
{
	struct canfs_slowdown slowdown;

	(void)state;
	canfs_slowdown_init(&slowdown);
	assert_float_equal(run(&slowdown, &head, small_reads(), 8, 0, 600), 1, 1e-9);
	assert_float_equal(canfs_slowdown_best(&slowdown, small_reads()), 0, 0);
}

/* Whatever is counted, however torn: a utilization. */
static void never_leaves_its_range(void **state)
{
	struct canfs_slowdown slowdown;

	(void)state;
	srand(1);
	canfs_slowdown_init(&slowdown);
	for (int i = 0; i < 20000; i++) {
		struct canfs_response_sum sums[CANFS_RESPONSE_CLASSES] = { 0 };
		double utilization;

		for (int n = rand() % 5; n > 0; n--) {
			struct canfs_response_sum *sum = &sums[rand() % CANFS_RESPONSE_CLASSES];

			for (int octave = 0; octave < CANFS_OTHERS_OCTAVES; octave++) {
				sum->count[octave] = rand() % 100;
				sum->sec[octave] = rand() % 1000 / 10.0;
			}
		}
		utilization = canfs_slowdown_step(
			&slowdown, sums, rand() % 200 / 10.0, (1 + rand() % 1000) / 100.0);
		assert_true(utilization >= 0 && utilization <= 1);
		assert_true(canfs_slowdown_depth(&slowdown) >= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_costs_nothing),
		cmocka_unit_test(classes_are_by_kind_and_octave),
		cmocka_unit_test(one_reader_of_an_unknown_back_end_is_all_that_it_takes),
		cmocka_unit_test(a_head_is_full_with_one_reader),
		cmocka_unit_test(an_array_is_full_with_many),
		cmocka_unit_test(what_others_do_shows),
		cmocka_unit_test(an_uncached_workload_is_no_congestion),
		cmocka_unit_test(sizes_are_not_compared),
		cmocka_unit_test(few_operations_tell_little),
		cmocka_unit_test(congested_from_the_start),
		cmocka_unit_test(never_leaves_its_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
