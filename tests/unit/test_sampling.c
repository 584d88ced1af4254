// SPDX-License-Identifier: LGPL-3.0-or-later
/* How often the counters are read: by what moves, and by what it costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client-agent/sampling.h"

#define MIB (UINT64_C(1) << 20)

static const struct canfs_meminfo before = { .dirty_bytes = 10 * MIB, .writeback_bytes = 10 * MIB };

static struct canfs_sampling sampled_at(uint64_t now_usec, uint64_t cost_usec)
{
	struct canfs_sampling sampling;

	canfs_sampling_done(&sampling, &before, cost_usec, now_usec);
	return sampling;
}

static void test_first_sample_is_due(void **state)
{
	const struct canfs_sampling sampling = { 0 };

	(void)state;
	assert_true(canfs_sampling_is_due(&sampling, &before, 1));
}

static void test_once_a_second_while_nothing_moves(void **state)
{
	const struct canfs_sampling sampling = sampled_at(5000000, 10);

	(void)state;
	assert_false(canfs_sampling_is_due(&sampling, &before, 5999999));
	assert_true(canfs_sampling_is_due(&sampling, &before, 6000000));
}

static void test_at_once_when_some_megabytes_have_moved(void **state)
{
	const struct canfs_sampling sampling = sampled_at(5000000, 10);
	const struct canfs_meminfo moved[] = {
		{ .dirty_bytes = 14 * MIB, .writeback_bytes = 10 * MIB },
		{ .dirty_bytes = 6 * MIB, .writeback_bytes = 10 * MIB },
		{ .dirty_bytes = 10 * MIB, .writeback_bytes = 14 * MIB },
		{ .dirty_bytes = 10 * MIB, .writeback_bytes = 6 * MIB },
	};
	const struct canfs_meminfo less = { .dirty_bytes = 14 * MIB - 1,
		.writeback_bytes = 14 * MIB - 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++)
		assert_true(canfs_sampling_is_due(&sampling, &moved[i], 5100000));
	assert_false(canfs_sampling_is_due(&sampling, &less, 5100000));
}

/* Tens of mounts: what moves waits, but no longer than what does not. */
static void test_what_is_expensive_comes_less_often(void **state)
{
	const struct canfs_meminfo moved = { .dirty_bytes = 100 * MIB };
	struct canfs_sampling sampling = sampled_at(5000000, 250);

	(void)state;
	assert_false(canfs_sampling_is_due(&sampling, &moved, 5499999));
	assert_true(canfs_sampling_is_due(&sampling, &moved, 5500000));
	sampling = sampled_at(5000000, 50000);
	assert_true(canfs_sampling_is_due(&sampling, &moved, 6000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_sample_is_due),
		cmocka_unit_test(test_once_a_second_while_nothing_moves),
		cmocka_unit_test(test_at_once_when_some_megabytes_have_moved),
		cmocka_unit_test(test_what_is_expensive_comes_less_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
