// SPDX-License-Identifier: LGPL-3.0-or-later
/* The time-averaged utilization of CA-NFS §3.3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "pricing/utilization.h"

#define TAU_SEC 0.3

static struct canfs_average primed_at(double value)
{
	struct canfs_average average;

	canfs_average_init(&average, TAU_SEC);
	canfs_average_add(&average, value, 0.1);
	return average;
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-12;
}

static void test_first_sample_is_taken_as_it_is(void **state)
{
	struct canfs_average average;

	(void)state;
	canfs_average_init(&average, TAU_SEC);
	assert_true(average.value == 0.0);
	assert_true(canfs_average_add(&average, 0.7, 0.001) == 0.7);
}

static void test_step_response_is_exponential(void **state)
{
	struct canfs_average average = primed_at(0.0);

	(void)state;
	assert_true(near(canfs_average_add(&average, 1.0, TAU_SEC), 1.0 - exp(-1.0)));
}

static void test_independent_of_the_sampling_rhythm(void **state)
{
	struct canfs_average one = primed_at(0.2), many = primed_at(0.2);

	(void)state;
	canfs_average_add(&one, 0.9, 1.0);
	for (int i = 1; i <= 4; i++)
		canfs_average_add(&many, 0.9, 0.1 * i);
	assert_true(near(one.value, many.value));
}

/* A link is at 0 or at 1; its average is the share of time in which it sends. */
static void test_on_off_link_averages_to_its_duty(void **state)
{
	struct canfs_average average = primed_at(0.25);

	(void)state;
	for (int i = 0; i < 4000; i++) {
		canfs_average_add(&average, i % 4 == 0 ? 1.0 : 0.0, 0.001);
		assert_true(fabs(average.value - 0.25) < 0.01);
	}
}

static void test_stays_between_the_samples(void **state)
{
	struct canfs_average average = primed_at(0.5);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		canfs_average_add(&average, i % 7 < 3 ? 0.1 : 0.9, 1e-3 * (i % 50 + 1));
		assert_true(average.value >= 0.1 - 1e-12 && average.value <= 0.9 + 1e-12);
	}
}

static void test_no_averaging(void **state)
{
	static const double taus_sec[] = { 0.0, -1.0, NAN };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct canfs_average average;

		canfs_average_init(&average, taus_sec[i]);
		canfs_average_add(&average, 0.1, 0.1);
		assert_true(canfs_average_add(&average, 0.8, 0.1) == 0.8);
	}
}

static void test_no_time_no_news(void **state)
{
	struct canfs_average average = primed_at(0.4);

	(void)state;
	assert_true(canfs_average_add(&average, 1.0, 0.0) == 0.4);
	assert_true(canfs_average_add(&average, 1.0, -5.0) == 0.4);
	assert_true(canfs_average_add(&average, 1.0, NAN) == 0.4);
}

static void test_samples_without_a_value_are_ignored(void **state)
{
	struct canfs_average average;

	(void)state;
	canfs_average_init(&average, TAU_SEC);
	assert_true(canfs_average_add(&average, NAN, 0.1) == 0.0);
	assert_false(average.primed);
	canfs_average_add(&average, 0.4, 0.1);
	assert_true(canfs_average_add(&average, NAN, 0.1) == 0.4);
	assert_true(canfs_average_add(&average, INFINITY, 0.1) == 0.4);
	assert_true(canfs_average_add(&average, -INFINITY, 0.1) == 0.4);
}

static void test_extremes_leave_no_trace_behind(void **state)
{
	struct canfs_average average = primed_at(1e308);

	(void)state;
	assert_true(isfinite(canfs_average_add(&average, -1e308, 0.1)));
	assert_true(canfs_average_add(&average, 0.5, INFINITY) == 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_sample_is_taken_as_it_is),
		cmocka_unit_test(test_step_response_is_exponential),
		cmocka_unit_test(test_independent_of_the_sampling_rhythm),
		cmocka_unit_test(test_on_off_link_averages_to_its_duty),
		cmocka_unit_test(test_stays_between_the_samples),
		cmocka_unit_test(test_no_averaging),
		cmocka_unit_test(test_no_time_no_news),
		cmocka_unit_test(test_samples_without_a_value_are_ignored),
		cmocka_unit_test(test_extremes_leave_no_trace_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
