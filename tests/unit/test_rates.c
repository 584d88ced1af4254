// SPDX-License-Identifier: LGPL-3.0-or-later
/* Rates and round trips out of mountstats' counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client-agent/auction/rates.h"

#define SEC UINT64_C(1000000)

static const struct canfs_mountstats base = {
	.found = true,
	.write = { .ops = 1000, .rtt_msec = 70 },
	.commit = { .ops = 10, .rtt_msec = 100 },
};

static void test_no_rate_before_a_second_has_passed(void **state)
{
	struct canfs_rates rates = { 0 };
	struct canfs_mountstats stats = base;

	(void)state;
	canfs_rates_note(&rates, &stats, 5 * SEC);
	stats.write.ops += 100;
	canfs_rates_note(&rates, &stats, 5 * SEC + SEC / 2);
	assert_true(rates.rate[CANFS_RPC_WRITE].per_sec == 0);
}

static void test_what_grew_over_the_time_that_passed(void **state)
{
	struct canfs_rates rates = { 0 };
	struct canfs_mountstats stats = base;
	const struct canfs_rate *write = &rates.rate[CANFS_RPC_WRITE];

	(void)state;
	canfs_rates_note(&rates, &stats, 5 * SEC);
	stats.write = (struct canfs_op_stats) { .ops = 1100, .rtt_msec = 370 };
	canfs_rates_note(&rates, &stats, 7 * SEC);
	assert_true(write->per_sec == 50);
	assert_true(write->round_trip_msec == 3);
	assert_true(rates.rate[CANFS_RPC_COMMIT].per_sec == 0);
	assert_true(rates.rate[CANFS_RPC_COMMIT].round_trip_msec == 0);
	/* And nothing more in the next second. */
	canfs_rates_note(&rates, &stats, 8 * SEC);
	assert_true(write->per_sec == 0 && write->round_trip_msec == 0);
}

static void test_counters_that_run_backwards_start_anew(void **state)
{
	struct canfs_rates rates = { 0 };
	struct canfs_mountstats stats = base;

	(void)state;
	canfs_rates_note(&rates, &stats, 5 * SEC);
	stats.write = (struct canfs_op_stats) { .ops = 3, .rtt_msec = 9 };
	canfs_rates_note(&rates, &stats, 6 * SEC);
	assert_true(rates.rate[CANFS_RPC_WRITE].per_sec == 0);
	stats.write = (struct canfs_op_stats) { .ops = 5, .rtt_msec = 13 };
	canfs_rates_note(&rates, &stats, 7 * SEC);
	assert_true(rates.rate[CANFS_RPC_WRITE].per_sec == 2);
	assert_true(rates.rate[CANFS_RPC_WRITE].round_trip_msec == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_rate_before_a_second_has_passed),
		cmocka_unit_test(test_what_grew_over_the_time_that_passed),
		cmocka_unit_test(test_counters_that_run_backwards_start_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
