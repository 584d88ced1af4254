/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client-agent/cache_worth.h"

#define MIB    (1ull << 20)
#define SECOND 1000000ull

/* seconds of missed and fetched MiB each, after what was counted before the agent began */
static double after(unsigned int seconds, uint64_t missed_mib, uint64_t fetched_mib)
{
	struct canfs_cache_worth worth;
	double value = -1;

	canfs_cache_worth_init(&worth);
	for (unsigned int i = 0; i <= seconds; i++)
		value = canfs_cache_worth_update(&worth, (9000 + i * missed_mib) * MIB,
			(70000 + i * fetched_mib) * MIB, (100 + i) * SECOND);
	return value;
}

static void test_is_the_share_of_what_is_fetched(void **state)
{
	(void)state;
	assert_float_equal(after(0, 50, 50), 0, 1e-9); /* what was before is nobody's news */
	assert_float_equal(after(60, 0, 100), 0, 1e-9);
	assert_float_equal(after(60, 30, 100), 0.3, 1e-3);
	assert_float_equal(after(60, 100, 100), 1, 1e-3);
}

static void test_misses_of_local_files_count_up_to_1(void **state)
{
	(void)state;
	assert_float_equal(after(60, 100, 0), 1, 1e-3);
	assert_float_equal(after(60, 100, 20), 1, 1e-3);
}

static void test_a_trickle_is_worth_little(void **state)
{
	struct canfs_cache_worth worth;

	(void)state;
	canfs_cache_worth_init(&worth);
	for (uint64_t i = 0; i < 60; i++)
		canfs_cache_worth_update(&worth, i * 4096, i * 4096, (100 + i) * SECOND);
	assert_float_equal(worth.share.value, 4096 / CANFS_CACHE_WORTH_MIN_BYTES_PER_SEC, 1e-3);
}

static void test_follows_within_seconds(void **state)
{
	struct canfs_cache_worth worth;
	uint64_t now = 100 * SECOND, missed = 0, read = 0;

	(void)state;
	canfs_cache_worth_init(&worth);
	for (int i = 0; i < 30; i++)
		canfs_cache_worth_update(&worth, missed, read += 100 * MIB, now += SECOND);
	for (int i = 0; i < 5; i++)
		canfs_cache_worth_update(
			&worth, missed += 100 * MIB, read += 100 * MIB, now += SECOND);
	assert_in_range(worth.share.value * 1000, 600, 660); /* 1 - 1/e after the time constant */
}

static void test_counters_that_run_backwards_stand_still(void **state)
{
	struct canfs_cache_worth worth;

	(void)state;
	canfs_cache_worth_init(&worth);
	canfs_cache_worth_update(&worth, 500 * MIB, 500 * MIB, SECOND);
	assert_float_equal(
		canfs_cache_worth_update(&worth, 100 * MIB, 400 * MIB, 2 * SECOND), 0, 1e-9);
	/* A clock that stands still carries no news. */
	assert_float_equal(
		canfs_cache_worth_update(&worth, 900 * MIB, 900 * MIB, 2 * SECOND), 0, 1e-9);
}

static void test_is_due_once_a_second(void **state)
{
	struct canfs_cache_worth worth;

	(void)state;
	canfs_cache_worth_init(&worth);
	assert_true(canfs_cache_worth_is_due(&worth, 1));
	canfs_cache_worth_update(&worth, 0, 0, SECOND);
	assert_false(canfs_cache_worth_is_due(&worth, 2 * SECOND - 1));
	assert_true(canfs_cache_worth_is_due(&worth, 2 * SECOND));
}

/* Much of the page cache is read again and again, and a page that is written takes one of those. */
static void test_crowded(void **state)
{
	struct canfs_meminfo meminfo = { .total_bytes = 1600,
		.available_bytes = 1200,
		.free_bytes = 99,
		.active_file_bytes = 300 };

	(void)state;
	assert_true(canfs_cache_is_crowded(&meminfo));
	meminfo.active_file_bytes = 299;
	assert_false(canfs_cache_is_crowded(&meminfo));
	meminfo.active_file_bytes = 300;
	meminfo.free_bytes = 100;
	assert_false(canfs_cache_is_crowded(&meminfo));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crowded),
		cmocka_unit_test(test_is_the_share_of_what_is_fetched),
		cmocka_unit_test(test_misses_of_local_files_count_up_to_1),
		cmocka_unit_test(test_a_trickle_is_worth_little),
		cmocka_unit_test(test_follows_within_seconds),
		cmocka_unit_test(test_counters_that_run_backwards_stand_still),
		cmocka_unit_test(test_is_due_once_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
