// SPDX-License-Identifier: LGPL-3.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client-agent/auction/backlog.h"

#define MIB (1ull << 20)

static void test_follows_writes_and_sends(void **state)
{
	struct canfs_backlog backlog = { 0 };

	(void)state;
	assert_int_equal(canfs_backlog_update(&backlog, 0, 0, 0, 0), 0);
	assert_int_equal(canfs_backlog_update(&backlog, 100 * MIB, 0, 100 * MIB, 0), 100 * MIB);
	assert_int_equal(
		canfs_backlog_update(&backlog, 100 * MIB, 30 * MIB, 70 * MIB, 0), 70 * MIB);
	/* Sent, not yet committed: the kernel counts it as Writeback, and it still holds memory. */
	assert_int_equal(
		canfs_backlog_update(&backlog, 100 * MIB, 100 * MIB, 0, 70 * MIB), 70 * MIB);
}

static void test_never_above_what_the_system_holds(void **state)
{
	struct canfs_backlog backlog = { 0 };

	(void)state;
	canfs_backlog_update(&backlog, 0, 0, 0, 0);
	/* The same 10 MiB overwritten a hundred times. */
	for (uint64_t i = 1; i <= 100; i++)
		assert_int_equal(
			canfs_backlog_update(&backlog, i * 10 * MIB, 0, 10 * MIB, 0), 10 * MIB);
	/* Somebody else's dirty pages are not ours. */
	canfs_backlog_update(&backlog, 1000 * MIB, 0, 0, 0);
	assert_int_equal(canfs_backlog_update(&backlog, 1000 * MIB, 0, 500 * MIB, 0), 0);
}

static void test_a_counter_that_runs_backwards_starts_anew(void **state)
{
	struct canfs_backlog backlog = { 0 };

	(void)state;
	canfs_backlog_update(&backlog, 50 * MIB, 20 * MIB, 30 * MIB, 0);
	assert_int_equal(canfs_backlog_update(&backlog, 0, 0, 3 * MIB, 0), 0);
	assert_int_equal(canfs_backlog_update(&backlog, 2 * MIB, 0, 5 * MIB, 0), 2 * MIB);
}

static void test_what_was_deleted_unsent_is_forgotten(void **state)
{
	struct canfs_backlog backlog = { 0 };

	(void)state;
	canfs_backlog_update(&backlog, 0, 0, 7 * MIB, 0); /* others' */
	assert_int_equal(canfs_backlog_update(&backlog, 50 * MIB, 0, 57 * MIB, 0), 50 * MIB);
	/* Removed; others' dirty pages come and go. */
	assert_int_equal(canfs_backlog_update(&backlog, 50 * MIB, 0, 3 * MIB, 0), 3 * MIB);
	assert_int_equal(canfs_backlog_update(&backlog, 50 * MIB, 0, 90 * MIB, 0), 3 * MIB);
	canfs_backlog_forget(&backlog);
	assert_int_equal(canfs_backlog_update(&backlog, 50 * MIB, 0, 90 * MIB, 0), 0);
}

static void test_dirty_before_we_looked_counts(void **state)
{
	struct canfs_backlog backlog = { 0 };

	(void)state;
	assert_int_equal(
		canfs_backlog_update(&backlog, 900 * MIB, 800 * MIB, 80 * MIB, 4 * MIB), 84 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_follows_writes_and_sends),
		cmocka_unit_test(test_never_above_what_the_system_holds),
		cmocka_unit_test(test_a_counter_that_runs_backwards_starts_anew),
		cmocka_unit_test(test_what_was_deleted_unsent_is_forgotten),
		cmocka_unit_test(test_dirty_before_we_looked_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
