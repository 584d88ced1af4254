// SPDX-License-Identifier: LGPL-3.0-or-later
/* A disk's nominal queue depth, on curves of disks whose knee is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "pricing/knee.h"

#define POINTS 9 /* depth 1, 2, 4 ... 256 */

struct curve {
	struct canfs_load_point points[POINTS];
};

/* A server with so many places, each of which takes so long: flat, then a straight line. */
static struct curve places(double service_usec, double count)
{
	struct curve curve;

	for (int i = 0; i < POINTS; i++) {
		const double depth = exp2(i);
		const double latency_usec = service_usec * fmax(1.0, depth / count);

		curve.points[i] = (struct canfs_load_point) { depth, 1e6 * depth / latency_usec,
			latency_usec };
	}
	return curve;
}

/* Tagged queueing: throughput grows slowly with the choice that the head has. */
static struct curve sorted_head(double service_usec, double exponent)
{
	struct curve curve = places(service_usec, 1);

	for (int i = 0; i < POINTS; i++) {
		struct canfs_load_point *point = &curve.points[i];

		point->per_sec *= pow(point->depth, exponent);
		point->latency_usec = 1e6 * point->depth / point->per_sec;
	}
	return curve;
}

static struct canfs_knee knee_of(const struct curve *curve)
{
	struct canfs_knee knee;

	assert_int_equal(canfs_knee_find(curve->points, POINTS, &knee), 0);
	return knee;
}

static void test_one_head_takes_one_request(void **state)
{
	const struct curve curve = places(11000, 1);
	const struct canfs_knee knee = knee_of(&curve);

	(void)state;
	assert_true(knee.depth == 1 && knee.is_flat && !knee.at_end);
}

/* 91 a second at depth 1, 223 at 32: a disk with tagged queueing, as measured. */
static void test_tagged_queueing_does_not_make_it_a_flash_disk(void **state)
{
	const struct curve curve = sorted_head(11000, log2(223.0 / 91.0) / 5);
	const struct canfs_knee knee = knee_of(&curve);

	(void)state;
	assert_true(knee.depth <= 2 && !knee.is_flat);
}

static void test_flash_takes_as_many_as_it_has_places(void **state)
{
	(void)state;
	for (double count = 2; count <= 128; count *= 2) {
		const struct curve curve = places(90, count);
		const struct canfs_knee knee = knee_of(&curve);

		assert_true(knee.depth == count && !knee.is_flat && !knee.at_end);
	}
}

static void test_between_two_measured_depths(void **state)
{
	const struct curve curve = places(90, 24);

	(void)state;
	assert_true(knee_of(&curve).depth == 32);
}

/* A virtual disk, as measured: throughput grows with depth, but ever more slowly. */
static void test_throughput_that_grows_slowly(void **state)
{
	static const struct canfs_load_point points[] = { { 1, 16751, 59 }, { 2, 28115, 71 },
		{ 4, 38430, 104 }, { 8, 53399, 149 }, { 16, 70676, 226 }, { 32, 82221, 389 },
		{ 64, 82000, 780 } };
	struct canfs_knee knee;

	(void)state;
	assert_int_equal(canfs_knee_find(points, 7, &knee), 0);
	assert_true(knee.depth == 16);
}

static void test_a_disk_that_takes_more_than_was_measured(void **state)
{
	const struct curve curve = places(80, 1024);

	(void)state;
	assert_true(knee_of(&curve).depth == 256 && knee_of(&curve).at_end);
}

/* Two runs of the same load differ by a few percent. */
static void test_noise_does_not_move_the_knee(void **state)
{
	static const double noise[POINTS] = { .98, 1.02, .99, 1.02, .98, 1.01, 1.02, .98, 1.02 };

	(void)state;
	for (double count = 1; count <= 64; count *= 2) {
		struct curve curve = places(1000, count);

		for (int i = 0; i < POINTS; i++) {
			curve.points[i].per_sec *= noise[i];
			curve.points[i].latency_usec /= noise[i];
		}
		assert_true(knee_of(&curve).depth == count);
	}
}

static void test_measuring_ends_beyond_the_knee(void **state)
{
	const struct curve hdd = places(11000, 1), flash = places(90, 8);

	(void)state;
	assert_false(canfs_knee_passed(hdd.points, 1));
	assert_true(canfs_knee_passed(hdd.points, 2));
	for (size_t count = 1; count <= 4; count++)
		assert_false(canfs_knee_passed(flash.points, count));
	assert_true(canfs_knee_passed(flash.points, 5));
}

static void test_what_is_no_measurement_is_refused(void **state)
{
	static const double bad[] = { 0, -1, NAN, INFINITY };
	struct canfs_knee knee = { .depth = 7 };
	struct curve curve = places(90, 8);

	(void)state;
	assert_int_equal(canfs_knee_find(NULL, 0, &knee), -ENODATA);
	assert_int_equal(canfs_knee_find(curve.points, 1, &knee), -ENODATA);
	assert_int_equal(canfs_knee_find(curve.points + 1, 4, &knee), -EINVAL);
	for (size_t i = 0; i < 4; i++) {
		for (int field = 0; field < 3; field++) {
			struct curve broken = curve;
			double *fields[] = { &broken.points[3].depth, &broken.points[3].per_sec,
				&broken.points[3].latency_usec };

			*fields[field] = bad[i];
			assert_int_equal(canfs_knee_find(broken.points, POINTS, &knee), -EINVAL);
			assert_false(canfs_knee_passed(broken.points, POINTS));
		}
	}
	curve.points[5].depth = curve.points[4].depth;
	assert_int_equal(canfs_knee_find(curve.points, POINTS, &knee), -EINVAL);
	assert_true(knee.depth == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_head_takes_one_request),
		cmocka_unit_test(test_tagged_queueing_does_not_make_it_a_flash_disk),
		cmocka_unit_test(test_flash_takes_as_many_as_it_has_places),
		cmocka_unit_test(test_between_two_measured_depths),
		cmocka_unit_test(test_throughput_that_grows_slowly),
		cmocka_unit_test(test_a_disk_that_takes_more_than_was_measured),
		cmocka_unit_test(test_noise_does_not_move_the_knee),
		cmocka_unit_test(test_measuring_ends_beyond_the_knee),
		cmocka_unit_test(test_what_is_no_measurement_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
