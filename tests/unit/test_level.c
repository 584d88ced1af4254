// SPDX-License-Identifier: LGPL-3.0-or-later
/* The level of a noisy utilization: steady under a constant load, soon there after a change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "pricing/level.h"

#define TAU_SEC 2.0
#define STEP    0.1 /* seconds of a sample */

/* Uniform in mean ± spread, always the same numbers. */
static uint32_t noise_state;
static double noisy(double mean, double spread)
{
	noise_state = noise_state * 1664525u + 1013904223u;
	return mean + spread * (2.0 * (noise_state >> 8) / (1u << 24) - 1);
}

static struct canfs_level settled(double mean, double spread)
{
	struct canfs_level level;

	noise_state = 1;
	canfs_level_init(&level, TAU_SEC);
	for (int i = 0; i < 100; i++)
		canfs_level_add(&level, noisy(mean, spread), STEP);
	return level;
}

/* Samples until the level has gone three quarters of the way. */
static int samples_until(struct canfs_level *level, double mean, double spread)
{
	double way = fabs(mean - level->value);
	int samples = 1;

	while (fabs(canfs_level_add(level, noisy(mean, spread), STEP) - mean) > way / 4 &&
		samples < 1000)
		samples++;
	return samples;
}

static void the_first_sample_is_taken_as_it_is(void **state)
{
	struct canfs_level level;

	(void)state;
	canfs_level_init(&level, TAU_SEC);
	assert_true(level.value == 0 && !level.primed);
	assert_true(canfs_level_add(&level, 0.7, 0.001) == 0.7);
}

static void a_constant_load_has_a_steady_level(void **state)
{
	/* As noisy as a disk: a uniform distribution of that width has a standard deviation of 0.23. */
	struct canfs_level level = settled(0.55, 0.4);
	double square = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		square += pow(canfs_level_add(&level, noisy(0.55, 0.4), STEP) - 0.55, 2);
	assert_true(sqrt(square / 1000) < 0.05);
}

static void a_plain_mean_at_first(void **state)
{
	struct canfs_level level;

	(void)state;
	canfs_level_init(&level, 1e9);
	canfs_level_add(&level, 0.4, STEP);
	canfs_level_add(&level, 0.5, STEP);
	assert_true(fabs(canfs_level_add(&level, 0.6, STEP) - 0.5) < 1e-6);
}

static void a_burst_is_there_at_its_second_sample(void **state)
{
	struct canfs_level level = settled(0, 0);

	(void)state;
	assert_true(canfs_level_add(&level, 1, STEP) < 0.1);
	assert_true(canfs_level_add(&level, 1, STEP) == 1);
	/* ... and gone as soon, even if it was too short to leave the noise behind. */
	assert_true(canfs_level_add(&level, 0, STEP) > 0.5);
	assert_true(canfs_level_add(&level, 0, STEP) == 0);
}

static void one_sample_alone_changes_little(void **state)
{
	struct canfs_level level = settled(0.2, 0.1);
	double before = level.value;

	(void)state;
	assert_true(canfs_level_add(&level, 1, STEP) < before + 0.1);
	for (int i = 0; i < 20; i++)
		assert_true(canfs_level_add(&level, noisy(0.2, 0.1), STEP) < before + 0.1);
}

static void steps_out_of_noise(void **state)
{
	static const struct {
		double from, spread, to, to_spread;
		int samples;
	} steps[] = {
		{ 0, 0, 0.5, 0.4, 6 }, { 0.3, 0.3, 1, 0, 4 }, { 0.55, 0.4, 1, 0, 8 },
		{ 0.55, 0.4, 0, 0, 6 }, { 1, 0, 0.5, 0.4, 6 }, { 1, 0, 0, 0, 2 },
		{ 0.8, 0.02, 0.95, 0.02, 4 }, /* a link that fills up */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct canfs_level level = settled(steps[i].from, steps[i].spread);

		assert_in_range(samples_until(&level, steps[i].to, steps[i].to_spread), 1,
			steps[i].samples);
	}
}

/* What is no step is followed, too: from end to end in 20 s. */
static void a_drift_is_followed(void **state)
{
	struct canfs_level level = settled(0, 0.1);

	(void)state;
	for (int i = 0; i < 200; i++) {
		canfs_level_add(&level, noisy(i / 200.0, 0.1), STEP);
		assert_true(fabs(level.value - i / 200.0) < 0.15);
	}
}

static void stays_between_the_samples(void **state)
{
	struct canfs_level level = settled(0.5, 0);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		canfs_level_add(&level, i % 7 < 3 ? 0.1 : 0.9, 1e-3 * (i % 50 + 1));
		assert_true(level.value >= 0.1 - 1e-12 && level.value <= 0.9 + 1e-12);
	}
}

static void long_intervals_stand_for_themselves(void **state)
{
	struct canfs_level level = settled(0.2, 0.1);

	(void)state;
	assert_true(fabs(canfs_level_add(&level, 0.9, 10) - 0.9) < 0.01);
	assert_true(fabs(canfs_level_add(&level, 0.4, 1e300) - 0.4) < 0.01);
}

static void without_a_time_constant_each_sample_counts(void **state)
{
	static const double taus_sec[] = { 0, -1, NAN };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct canfs_level level;

		canfs_level_init(&level, taus_sec[i]);
		canfs_level_add(&level, 0.1, STEP);
		assert_true(canfs_level_add(&level, 0.8, STEP) == 0.8);
	}
}

static void what_is_no_sample_is_ignored(void **state)
{
	static const double none_sec[] = { 0, -5, NAN, INFINITY, -INFINITY };
	struct canfs_level level = settled(0.4, 0);

	(void)state;
	for (size_t i = 0; i < sizeof(none_sec) / sizeof(none_sec[0]); i++)
		assert_true(canfs_level_add(&level, 1, none_sec[i]) == level.value);
	assert_true(canfs_level_add(&level, NAN, STEP) == level.value);
	assert_true(fabs(level.value - 0.4) < 1e-12);
}

static void samples_beyond_the_range_are_its_ends(void **state)
{
	struct canfs_level level;

	(void)state;
	canfs_level_init(&level, TAU_SEC);
	assert_true(canfs_level_add(&level, INFINITY, STEP) == 1);
	for (int i = 0; i < 10; i++)
		canfs_level_add(&level, -1e308, STEP);
	assert_true(level.value == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_sample_is_taken_as_it_is),
		cmocka_unit_test(a_constant_load_has_a_steady_level),
		cmocka_unit_test(a_plain_mean_at_first),
		cmocka_unit_test(a_burst_is_there_at_its_second_sample),
		cmocka_unit_test(one_sample_alone_changes_little),
		cmocka_unit_test(steps_out_of_noise),
		cmocka_unit_test(a_drift_is_followed),
		cmocka_unit_test(stays_between_the_samples),
		cmocka_unit_test(long_intervals_stand_for_themselves),
		cmocka_unit_test(without_a_time_constant_each_sample_counts),
		cmocka_unit_test(what_is_no_sample_is_ignored),
		cmocka_unit_test(samples_beyond_the_range_are_its_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
