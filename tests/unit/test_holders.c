// SPDX-License-Identifier: LGPL-3.0-or-later
/* Whose operations conflict with whose delegations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "ganesha-fsal/delegations/holders.h"

static const struct canfs_nfs_client A = { 1, "10.0.0.1" }, B = { 2, "10.0.0.2" };
static const struct canfs_nfs_client V3 = { 0, "10.0.0.3" };

static struct canfs_holders *holders;

static int begin(void **state)
{
	(void)state;
	holders = canfs_holders_new();
	return holders ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	canfs_holders_free(holders);
	return 0;
}

static bool conflicts(uint64_t file, struct canfs_nfs_client client, bool writes)
{
	bool recall;

	return canfs_holders_conflict(holders, file, client, writes, 1, &recall);
}

static void writing_is_for_one(void **state)
{
	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true), 0);
	assert_int_equal(canfs_holders_count(holders), 1);
	assert_false(conflicts(7, A, true));
	assert_true(conflicts(7, B, false));
	assert_true(conflicts(7, V3, false));
	assert_false(conflicts(8, B, true));
	assert_int_equal(canfs_holders_add(holders, 7, B, false), -EBUSY);
	canfs_holders_remove(holders, 7, B.id);
	assert_true(conflicts(7, B, false));
	canfs_holders_remove(holders, 7, A.id);
	assert_int_equal(canfs_holders_count(holders), 0);
	assert_false(conflicts(7, B, true));
}

static void reading_is_for_many(void **state)
{
	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, false), 0);
	assert_false(conflicts(7, V3, false));
	assert_false(conflicts(7, A, true)); /* its own */
	assert_int_equal(canfs_holders_add(holders, 7, B, false), 0);
	assert_true(conflicts(7, A, true));
	assert_true(conflicts(7, V3, true));
	assert_int_equal(canfs_holders_add(holders, 7, A, true), -EBUSY);
	canfs_holders_remove(holders, 7, B.id);
	assert_false(conflicts(7, A, true));
	assert_true(conflicts(7, V3, true));
}

static void two_behind_one_address_are_two(void **state)
{
	struct canfs_nfs_client neighbour = { 3, A.address };
	struct canfs_nfs_client unnamed = { 0, A.address };

	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true), 0);
	assert_true(conflicts(7, neighbour, false));
	assert_false(
		conflicts(7, unnamed, false)); /* an operation of A that does not tell its number */
}

static void the_server_itself_does_not_conflict(void **state)
{
	struct canfs_nfs_client server = { 0, NULL };

	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true), 0);
	assert_false(conflicts(7, server, true));
}

static void each_of_a_clients_counts(void **state)
{
	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true), 0);
	assert_int_equal(canfs_holders_add(holders, 7, A, true), 0);
	canfs_holders_remove(holders, 7, A.id);
	assert_true(conflicts(7, B, false));
	canfs_holders_remove(holders, 7, A.id);
	assert_false(conflicts(7, B, false));
}

static void recalls_once_a_second(void **state)
{
	bool recall;

	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true), 0);
	assert_true(canfs_holders_conflict(holders, 7, B, false, 1000, &recall));
	assert_true(recall);
	assert_true(canfs_holders_conflict(holders, 7, V3, false, 1000999, &recall));
	assert_false(recall);
	assert_true(canfs_holders_conflict(holders, 7, B, false, 1001000, &recall));
	assert_true(recall);
	assert_false(canfs_holders_conflict(holders, 7, A, true, 2002000, &recall));
	assert_false(recall);
}

static void too_many_are_refused(void **state)
{
	(void)state;
	for (uint64_t file = 0; file < CANFS_HOLDERS_MAX; file++)
		assert_int_equal(canfs_holders_add(holders, file, A, true), 0);
	assert_int_equal(canfs_holders_add(holders, CANFS_HOLDERS_MAX, A, true), -ENOSPC);
	canfs_holders_remove(holders, 5, A.id);
	assert_int_equal(canfs_holders_add(holders, CANFS_HOLDERS_MAX, A, true), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writing_is_for_one),
		TEST(reading_is_for_many),
		TEST(two_behind_one_address_are_two),
		TEST(the_server_itself_does_not_conflict),
		TEST(each_of_a_clients_counts),
		TEST(recalls_once_a_second),
		TEST(too_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
