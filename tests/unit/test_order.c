// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/jobs/order.h"

#define BLOCKS 10000

static void assert_order(
	const char *pattern, uint64_t blocks, const uint64_t *wanted, uint64_t count)
{
	struct canfs_order order;

	assert_int_equal(canfs_order_make(pattern, blocks, 1, &order), 0);
	assert_int_equal(order.count, count);
	assert_memory_equal(order.block, wanted, count * sizeof(*wanted));
	free(order.block);
}

static void test_fixed_orders(void **state)
{
	(void)state;
	assert_order("sequential", 4, (uint64_t[]) { 0, 1, 2, 3 }, 4);
	assert_order("backwards", 5, (uint64_t[]) { 4, 3, 2, 1, 0 }, 5);
	assert_order("stride-2", 6, (uint64_t[]) { 0, 3, 1, 4, 2, 5 }, 6);
	/* 8 blocks are not 3 equal parts */
	assert_order("stride-3", 8, (uint64_t[]) { 0, 2, 4, 1, 3, 5 }, 6);
	assert_order("one-of-2", 5, (uint64_t[]) { 0, 2, 4 }, 3);
	assert_order("swap-100", 4, (uint64_t[]) { 1, 0, 3, 2 }, 4);
	assert_order("shuffle-1", 3, (uint64_t[]) { 0, 1, 2 }, 3);
}

static struct canfs_order make(const char *pattern, uint64_t seed)
{
	struct canfs_order order;

	assert_int_equal(canfs_order_make(pattern, BLOCKS, seed, &order), 0);
	assert_int_equal(order.count, BLOCKS);
	return order;
}

/* How far a block is from its place, at most; and that each is there once. */
static uint64_t farthest(const struct canfs_order *order, uint64_t *moved)
{
	static unsigned char seen[BLOCKS];
	uint64_t far = 0;

	memset(seen, 0, sizeof(seen));
	*moved = 0;
	for (uint64_t i = 0; i < order->count; i++) {
		uint64_t block = order->block[i], distance = block > i ? block - i : i - block;

		assert_true(block < BLOCKS && !seen[block]++);
		*moved += distance != 0;
		far = distance > far ? distance : far;
	}
	return far;
}

static void test_reordered_by_how_much(void **state)
{
	static const struct {
		const char *pattern;
		uint64_t far_min, far_max, moved_min, moved_max;
	} cases[] = {
		{ "swap-2", 1, 1, BLOCKS * 15 / 1000, BLOCKS * 25 / 1000 },
		{ "swap-10", 1, 1, BLOCKS * 9 / 100, BLOCKS * 11 / 100 },
		{ "swap-50", 1, 1, BLOCKS * 48 / 100, BLOCKS * 52 / 100 },
		{ "shuffle-8", 7, 7, BLOCKS * 84 / 100, BLOCKS * 91 / 100 },
		{ "shuffle-32", 30, 31, BLOCKS * 95 / 100, BLOCKS * 98 / 100 },
		{ "random", BLOCKS * 9 / 10, BLOCKS, BLOCKS * 99 / 100, BLOCKS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct canfs_order order = make(cases[i].pattern, 7);
		uint64_t moved, far = farthest(&order, &moved);

		assert_in_range(far, cases[i].far_min, cases[i].far_max);
		assert_in_range(moved, cases[i].moved_min, cases[i].moved_max);
		free(order.block);
	}
}

static void test_the_seed_decides(void **state)
{
	struct canfs_order a = make("random", 1), again = make("random", 1), b = make("random", 2);

	(void)state;
	assert_memory_equal(a.block, again.block, BLOCKS * sizeof(*a.block));
	assert_memory_not_equal(a.block, b.block, BLOCKS * sizeof(*a.block));
	free(a.block);
	free(again.block);
	free(b.block);
}

static void test_what_is_no_pattern(void **state)
{
	static const char *const names[] = { "", "seq", "sequential-2", "stride", "stride-",
		"stride-0", "stride-2x", "stride--2", "swap-101", "shuffle- 8",
		"one-of-99999999999999999999" };
	struct canfs_order order;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(canfs_order_make(names[i], 8, 1, &order), -EINVAL);
}

static void test_a_file_smaller_than_the_pattern(void **state)
{
	(void)state;
	assert_order("stride-8", 3, NULL, 0);
	assert_order("sequential", 0, NULL, 0);
	assert_order("one-of-8", 3, (uint64_t[]) { 0 }, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_orders),
		cmocka_unit_test(test_reordered_by_how_much),
		cmocka_unit_test(test_the_seed_decides),
		cmocka_unit_test(test_what_is_no_pattern),
		cmocka_unit_test(test_a_file_smaller_than_the_pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
