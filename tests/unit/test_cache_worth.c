// SPDX-License-Identifier: LGPL-3.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client-agent/auction/cache_worth.h"

#define MIB    (1ull << 20)
#define SECOND 1000000ull

/* All that is read is fetched. */
static double look(struct canfs_cache_worth *worth, uint64_t missed_bytes, uint64_t fetched_bytes,
	uint64_t now_usec)
{
	return canfs_cache_worth_update(
		worth, missed_bytes, fetched_bytes, fetched_bytes, now_usec);
}

/* seconds of missed and fetched MiB each, after what was counted before the agent began */
static double after(unsigned int seconds, uint64_t missed_mib, uint64_t fetched_mib)
{
	struct canfs_cache_worth worth;
	double value = -1;

	canfs_cache_worth_init(&worth);
	for (unsigned int i = 0; i <= seconds; i++)
		value = look(&worth, (9000 + i * missed_mib) * MIB, (70000 + i * fetched_mib) * MIB,
			(100 + i) * SECOND);
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
		look(&worth, i * 4096, i * 4096, (100 + i) * SECOND);
	assert_float_equal(worth.share.value, 4096 / CANFS_CACHE_WORTH_MIN_BYTES_PER_SEC, 1e-3);
}

static void test_follows_within_seconds(void **state)
{
	struct canfs_cache_worth worth;
	uint64_t now = 100 * SECOND, missed = 0, read = 0;

	(void)state;
	canfs_cache_worth_init(&worth);
	for (int i = 0; i < 30; i++)
		look(&worth, missed, read += 100 * MIB, now += SECOND);
	for (int i = 0; i < 5; i++)
		look(&worth, missed += 100 * MIB, read += 100 * MIB, now += SECOND);
	assert_in_range(worth.share.value * 1000, 600, 660); /* 1 - 1/e after the time constant */
}

static void test_counters_that_run_backwards_stand_still(void **state)
{
	struct canfs_cache_worth worth;

	(void)state;
	canfs_cache_worth_init(&worth);
	look(&worth, 500 * MIB, 500 * MIB, SECOND);
	assert_float_equal(look(&worth, 100 * MIB, 400 * MIB, 2 * SECOND), 0, 1e-9);
	/* A clock that stands still carries no news. */
	assert_float_equal(look(&worth, 900 * MIB, 900 * MIB, 2 * SECOND), 0, 1e-9);
}

static void test_is_due_once_a_second(void **state)
{
	struct canfs_cache_worth worth;

	(void)state;
	canfs_cache_worth_init(&worth);
	assert_true(canfs_cache_worth_is_due(&worth, 1));
	look(&worth, 0, 0, SECOND);
	assert_false(canfs_cache_worth_is_due(&worth, 2 * SECOND - 1));
	assert_true(canfs_cache_worth_is_due(&worth, 2 * SECOND));
}

/* What is active and was read from the cache lately; what nobody looks at any more is not in use. */
static void test_used(void **state)
{
	const struct canfs_meminfo meminfo = { .active_file_bytes = 300 * MIB };
	struct canfs_cache_worth worth;

	(void)state;
	canfs_cache_worth_init(&worth);
	for (uint64_t i = 1; i <= 60; i++)
		canfs_cache_worth_update(&worth, 0, i * MIB, 3 * i * MIB, i * SECOND);
	assert_in_range(canfs_cache_used_bytes(&worth, &meminfo) / MIB, 119, 120);
	for (uint64_t i = 61; i <= 80; i++)
		canfs_cache_worth_update(&worth, 0, i * MIB, 100 * i * MIB, i * SECOND);
	assert_int_equal(canfs_cache_used_bytes(&worth, &meminfo), 300 * MIB);
	for (uint64_t i = 81; i <= 200; i++)
		canfs_cache_worth_update(&worth, 0, i * MIB, (8000 + i) * MIB, i * SECOND);
	assert_int_equal(canfs_cache_used_bytes(&worth, &meminfo), 0);
}

/* Much of the page cache is read again and again, and a page that is written takes one of those. */
static void test_crowded(void **state)
{
	struct canfs_meminfo meminfo = {
		.total_bytes = 1600, .available_bytes = 1200, .free_bytes = 99
	};

	(void)state;
	assert_true(canfs_cache_is_crowded(300, &meminfo));
	assert_false(canfs_cache_is_crowded(299, &meminfo));
	meminfo.free_bytes = 100;
	assert_false(canfs_cache_is_crowded(300, &meminfo));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_used),
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
