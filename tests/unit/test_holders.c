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
static time_t begun[1];

static int begin(void **state)
{
	(void)state;
	begun[0] = 0;
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
	struct canfs_recall recall = { .now_usec = 1 };

	return canfs_holders_conflict(holders, file, client, writes, &recall);
}

static void writing_is_for_one(void **state)
{
	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true, &begun[0]), 0);
	assert_int_equal(canfs_holders_count(holders), 1);
	assert_false(conflicts(7, A, true));
	assert_true(conflicts(7, B, false));
	assert_true(conflicts(7, V3, false));
	assert_false(conflicts(8, B, true));
	assert_int_equal(canfs_holders_add(holders, 7, B, false, &begun[0]), -EBUSY);
	canfs_holders_remove(holders, 7, B.id);
	assert_true(conflicts(7, B, false));
	canfs_holders_remove(holders, 7, A.id);
	assert_int_equal(canfs_holders_count(holders), 0);
	assert_false(conflicts(7, B, true));
}

static void reading_is_for_many(void **state)
{
	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, false, &begun[0]), 0);
	assert_false(conflicts(7, V3, false));
	assert_false(conflicts(7, A, true)); /* its own */
	assert_int_equal(canfs_holders_add(holders, 7, B, false, &begun[0]), 0);
	assert_true(conflicts(7, A, true));
	assert_true(conflicts(7, V3, true));
	assert_int_equal(canfs_holders_add(holders, 7, A, true, &begun[0]), -EBUSY);
	canfs_holders_remove(holders, 7, B.id);
	assert_false(conflicts(7, A, true));
	assert_true(conflicts(7, V3, true));
}

static void two_behind_one_address_are_two(void **state)
{
	struct canfs_nfs_client neighbour = { 3, A.address };
	struct canfs_nfs_client unnamed = { 0, A.address };

	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true, &begun[0]), 0);
	assert_true(conflicts(7, neighbour, false));
	assert_false(
		conflicts(7, unnamed, false)); /* an operation of A that does not tell its number */
}

static void the_server_itself_does_not_conflict(void **state)
{
	struct canfs_nfs_client server = { 0, NULL };

	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true, &begun[0]), 0);
	assert_false(conflicts(7, server, true));
}

static void each_of_a_clients_counts(void **state)
{
	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true, &begun[0]), 0);
	assert_int_equal(canfs_holders_add(holders, 7, A, true, &begun[0]), 0);
	canfs_holders_remove(holders, 7, A.id);
	assert_true(conflicts(7, B, false));
	canfs_holders_remove(holders, 7, A.id);
	assert_false(conflicts(7, B, false));
}

static bool asks_back(struct canfs_nfs_client client, uint64_t now_usec, time_t now_sec)
{
	struct canfs_recall recall = { .now_usec = now_usec, .now_sec = now_sec, .lease_sec = 60 };

	assert_int_equal(
		canfs_holders_conflict(holders, 7, client, true, &recall), client.id != A.id);
	return recall.is_due;
}

static void recalls_once_a_second(void **state)
{
	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true, &begun[0]), 0);
	assert_true(asks_back(B, 1000, 5000));
	assert_false(asks_back(V3, 1000999, 5001));
	assert_true(asks_back(B, 1001000, 5001));
	assert_false(asks_back(A, 2002000, 5002));
}

/* The server revokes it two leases after that. */
static void who_does_not_answer_loses_it_after_one_lease(void **state)
{
	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true, &begun[0]), 0);
	assert_true(asks_back(B, 1000, 5000));
	assert_int_equal(begun[0], 4940);
	assert_true(asks_back(B, 9001000, 5009));
	assert_int_equal(begun[0], 4940);
}

static void what_the_server_has_begun_itself_counts(void **state)
{
	(void)state;
	assert_int_equal(canfs_holders_add(holders, 7, A, true, &begun[0]), 0);
	begun[0] = 4990;
	assert_true(asks_back(B, 1000, 5000));
	assert_int_equal(begun[0], 4930);
}

static void too_many_are_refused(void **state)
{
	(void)state;
	for (uint64_t file = 0; file < CANFS_HOLDERS_MAX; file++)
		assert_int_equal(canfs_holders_add(holders, file, A, true, &begun[0]), 0);
	assert_int_equal(
		canfs_holders_add(holders, CANFS_HOLDERS_MAX, A, true, &begun[0]), -ENOSPC);
	canfs_holders_remove(holders, 5, A.id);
	assert_int_equal(canfs_holders_add(holders, CANFS_HOLDERS_MAX, A, true, &begun[0]), 0);
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
		TEST(who_does_not_answer_loses_it_after_one_lease),
		TEST(what_the_server_has_begun_itself_counts),
		TEST(too_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
