// SPDX-License-Identifier: LGPL-3.0-or-later
/* What tests/integration/test_fsal_races takes for right, and what for wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/integration/races/past.h"

/* A write or truncate from begin to end. */
static void change(struct past *past, uint32_t number, uint32_t value, uint64_t begin, uint64_t end)
{
	past_begins(past, number, value, begin);
	past_ends(past, number, true, end);
}

static void test_answered_is_seen(void **state)
{
	struct past past;

	(void)state;
	past_init(&past);
	assert_true(past_allows(&past, 0, 1));
	assert_false(past_allows(&past, 1, 1));
	change(&past, 1, 1, 10, 20);
	assert_true(past_allows(&past, 0, 15)); /* sent before the answer */
	assert_true(past_allows(&past, 1, 15));
	assert_false(past_allows(&past, 0, 21));
	assert_true(past_allows(&past, 1, 21));
}

static void test_in_flight_is_seen_or_not(void **state)
{
	struct past past;

	(void)state;
	past_init(&past);
	change(&past, 1, 1, 10, 20);
	past_begins(&past, 2, 2, 30);
	assert_true(past_allows(&past, 1, 40));
	assert_true(past_allows(&past, 2, 40));
	assert_false(past_allows(&past, 0, 40));
}

static void test_overlapping_come_in_any_order(void **state)
{
	struct past past;

	(void)state;
	past_init(&past);
	past_begins(&past, 1, 1, 10);
	change(&past, 2, 2, 12, 14);
	past_ends(&past, 1, true, 20);
	assert_true(past_allows(&past, 1, 30));
	assert_true(past_allows(&past, 2, 30));
	assert_false(past_allows(&past, 0, 30));
}

static void test_truncate_leaves_nothing(void **state)
{
	struct past past;

	(void)state;
	past_init(&past);
	change(&past, 1, 1, 10, 20);
	change(&past, 2, 0, 30, 40);
	assert_true(past_allows(&past, 1, 35));
	assert_false(past_allows(&past, 1, 41));
	assert_true(past_allows(&past, 0, 41));
}

static void test_failed_may_have_happened(void **state)
{
	struct past past;

	(void)state;
	past_init(&past);
	past_begins(&past, 1, 1, 10);
	past_ends(&past, 1, false, 20);
	assert_true(past_allows(&past, 0, 30));
	assert_true(past_allows(&past, 1, 30));
	change(&past, 2, 2, 40, 50);
	assert_false(past_allows(&past, 1, 60)); /* it is over, whatever it did */
}

static void test_no_read_goes_back(void **state)
{
	struct past past;

	(void)state;
	past_init(&past);
	past_begins(&past, 1, 1, 10);
	past_seen(&past, 1, 20);
	assert_true(past_allows(&past, 0, 15));
	assert_false(past_allows(&past, 0, 21)); /* although it is not answered yet */
	past_ends(&past, 1, true, 30);
	assert_false(past_allows(&past, 0, 25));
}

static void test_only_what_no_read_can_see_is_forgotten(void **state)
{
	struct past past;

	(void)state;
	past_init(&past);
	for (uint32_t i = 1; i < PAST_MAX; i++)
		change(&past, i, i, i * 10, i * 10 + 5);
	assert_false(past_has_room(&past, 10)); /* of then there is still a read in flight */
	assert_true(past_allows(&past, 0, 10));
	assert_true(past_has_room(&past, 10000));
	assert_int_equal(past.count, 1);
	assert_true(past_allows(&past, PAST_MAX - 1, 10001));
	assert_false(past_allows(&past, PAST_MAX - 2, 10001));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answered_is_seen),
		cmocka_unit_test(test_in_flight_is_seen_or_not),
		cmocka_unit_test(test_overlapping_come_in_any_order),
		cmocka_unit_test(test_truncate_leaves_nothing),
		cmocka_unit_test(test_failed_may_have_happened),
		cmocka_unit_test(test_no_read_goes_back),
		cmocka_unit_test(test_only_what_no_read_can_see_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
