// SPDX-License-Identifier: LGPL-3.0-or-later
/* The ring of the last ten minutes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "server/market/history.h"

#define SEC UINT64_C(1000000)

static struct canfs_history history;

static int set_up(void **state)
{
	(void)state;
	memset(&history, 0, sizeof(history));
	return 0;
}

static void add(uint64_t now_usec, double disk, double write)
{
	struct canfs_market market;
	struct canfs_quote quote = { write, CANFS_DISK };

	canfs_market_init(&market);
	market.known[CANFS_DISK] = disk >= 0;
	market.utilization[CANFS_DISK] = disk;
	canfs_history_add(&history, now_usec, &market, quote, (struct canfs_quote) { 0 });
}

static void a_row_is_the_mean_of_its_second(void **state)
{
	struct canfs_history_row row;

	(void)state;
	for (unsigned int i = 0; i < 10; i++)
		add(5 * SEC + i * SEC / 10, i < 5 ? 0.2 : 0.4, i == 7 ? 1.0 : 0.0);
	assert_false(canfs_history_get(&history, 6 * SEC, 0, &row));
	add(6 * SEC, 0, 0);
	assert_true(canfs_history_get(&history, 6 * SEC, 0, &row));
	assert_int_equal(row.second, 5);
	assert_float_equal(row.write, 0.1, 1e-4);
	assert_float_equal(row.write_peak, 1, 0);
	assert_float_equal(row.utilization[CANFS_DISK], 0.3, 1e-4);
	assert_int_equal(row.bottleneck, CANFS_DISK);
	assert_true(row.known[CANFS_DISK]);
	assert_false(row.known[CANFS_CPU]);
	assert_false(canfs_history_get(&history, 6 * SEC, 1, &row));
}

/* A monitor that comes and goes: the mean of when it was there. */
static void what_is_unknown_does_not_count(void **state)
{
	struct canfs_history_row row;

	(void)state;
	add(1 * SEC, 0.5, 0);
	add(1 * SEC + 1, -1, 0);
	add(2 * SEC, -1, 0);
	add(3 * SEC, -1, 0);
	assert_true(canfs_history_get(&history, 3 * SEC, 1, &row));
	assert_float_equal(row.utilization[CANFS_DISK], 0.5, 1e-4);
	assert_true(canfs_history_get(&history, 3 * SEC, 0, &row));
	assert_false(row.known[CANFS_DISK]);
}

static void remembers_ten_minutes(void **state)
{
	struct canfs_history_row row;

	(void)state;
	for (uint64_t second = 1; second <= 2000; second++)
		add(second * SEC, 0, (double)second / 4000);
	for (size_t age = 0; age < CANFS_HISTORY_ROWS; age++) {
		assert_true(canfs_history_get(&history, 2000 * SEC, age, &row));
		assert_int_equal(row.second, 1999 - age);
		assert_float_equal(row.write, (double)row.second / 4000, 1e-4);
	}
	assert_false(canfs_history_get(&history, 2000 * SEC, CANFS_HISTORY_ROWS, &row));
	/* A server that stood still has no recent history. */
	assert_false(canfs_history_get(&history, 9000 * SEC, 0, &row));
}

static void takes_any_number(void **state)
{
	struct canfs_history_row row;

	(void)state;
	add(1 * SEC, 1e9, -5);
	add(2 * SEC, 0, 0);
	assert_true(canfs_history_get(&history, 2 * SEC, 0, &row));
	assert_true(row.write >= 0 && row.utilization[CANFS_DISK] <= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_row_is_the_mean_of_its_second, set_up),
		cmocka_unit_test_setup(what_is_unknown_does_not_count, set_up),
		cmocka_unit_test_setup(remembers_ten_minutes, set_up),
		cmocka_unit_test_setup(takes_any_number, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
