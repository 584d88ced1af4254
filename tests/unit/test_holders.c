// SPDX-License-Identifier: LGPL-3.0-or-later
/* Whose operations conflict with whose delegations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "ganesha-fsal/delegations/holders.h"

static const struct canfs_nfs_client A = { 1, "10.0.0.1" }, B = { 2, "10.0.0.2" };
static const struct canfs_nfs_client V3 = { CANFS_NO_HOLDER, "10.0.0.3" };

static struct canfs_holders *holders;
static time_t begun;
static char asked[256]; /* the keys, one character each */

static int add_in(uint64_t file, uint64_t parent, struct canfs_nfs_client client, bool writes)
{
	const char key = (char)('a' + file % 26);
	struct canfs_delegation delegation = { .file = file,
		.parent = parent,
		.client = client,
		.writes = writes,
		.key = &key,
		.key_bytes = 1,
		.recall_begun = &begun };

	return canfs_holders_add(holders, &delegation);
}

static int add(uint64_t file, struct canfs_nfs_client client, bool writes)
{
	return add_in(file, 0, client, writes);
}

static void ask(void *arg, const void *key, size_t key_bytes)
{
	(void)arg;
	assert_int_equal(key_bytes, 1);
	strncat(asked, key, 1);
}

static bool conflicts_at(uint64_t file, struct canfs_nfs_client client, enum canfs_access access,
	uint64_t now_usec, time_t now_sec)
{
	struct canfs_recall recall = {
		.now_usec = now_usec, .now_sec = now_sec, .lease_sec = 60, .ask = ask
	};

	asked[0] = '\0';
	return canfs_holders_conflict(holders, file, client, access, &recall);
}

static int begin(void **state)
{
	(void)state;
	begun = 0;
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
	return conflicts_at(file, client, writes ? CANFS_WRITES : CANFS_READS, 1, 1);
}

static void writing_is_for_one(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_int_equal(canfs_holders_count(holders), 1);
	assert_false(conflicts(7, A, true));
	assert_true(conflicts(7, B, false));
	assert_true(conflicts(7, V3, false));
	assert_false(conflicts(8, B, true));
	assert_int_equal(add(7, B, false), -EBUSY);
	canfs_holders_remove(holders, 7, B.id);
	assert_true(conflicts(7, B, false));
	canfs_holders_remove(holders, 7, A.id);
	assert_int_equal(canfs_holders_count(holders), 0);
	assert_false(conflicts(7, B, true));
}

static void reading_is_for_many(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, false), 0);
	assert_false(conflicts(7, V3, false));
	assert_false(conflicts(7, A, true)); /* its own */
	assert_int_equal(add(7, B, false), 0);
	assert_true(conflicts(7, A, true));
	assert_true(conflicts(7, V3, true));
	assert_int_equal(add(7, A, true), -EBUSY);
	canfs_holders_remove(holders, 7, B.id);
	assert_false(conflicts(7, A, true));
	assert_true(conflicts(7, V3, true));
}

static void two_behind_one_address_are_two(void **state)
{
	struct canfs_nfs_client neighbour = { 3, A.address };
	struct canfs_nfs_client unnamed = { 0, A.address };

	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_true(conflicts(7, neighbour, false));
	assert_false(
		conflicts(7, unnamed, false)); /* an operation of A that does not tell its number */
}

static void the_server_itself_does_not_conflict(void **state)
{
	struct canfs_nfs_client server = { 0, NULL };

	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_false(conflicts(7, server, true));
}

static void each_of_a_clients_counts(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_int_equal(add(7, A, true), 0);
	canfs_holders_remove(holders, 7, A.id);
	assert_true(conflicts(7, B, false));
	canfs_holders_remove(holders, 7, A.id);
	assert_false(conflicts(7, B, false));
}

static bool asks_back(struct canfs_nfs_client client, uint64_t now_usec, time_t now_sec)
{
	assert_int_equal(
		conflicts_at(7, client, CANFS_WRITES, now_usec, now_sec), client.id != A.id);
	return asked[0] != '\0';
}

static void recalls_once_a_second(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_true(asks_back(B, 1000, 5000));
	assert_false(asks_back(V3, 1000999, 5001));
	assert_true(asks_back(B, 1001000, 5001));
	assert_false(asks_back(A, 2002000, 5002));
}

/* The server revokes it two leases after that. */
static void who_does_not_answer_loses_it_after_one_lease(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_true(asks_back(B, 1000, 5000));
	assert_int_equal(begun, 4940);
	assert_true(asks_back(B, 9001000, 5009));
	assert_int_equal(begun, 4940);
}

static void what_the_server_has_begun_itself_counts(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	begun = 4990;
	assert_true(asks_back(B, 1000, 5000));
	assert_int_equal(begun, 4930);
}

static void another_version_from_the_holders_address_is_another(void **state)
{
	struct canfs_nfs_client v3 = { CANFS_NO_HOLDER, A.address };

	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_true(conflicts(7, v3, false));
}

static void who_lists_a_directory_asks_for_all_of_it(void **state)
{
	(void)state;
	assert_int_equal(add_in(0, 100, A, true), 0);
	assert_int_equal(add_in(1, 100, A, true), 0);
	assert_int_equal(add_in(2, 100, A, true), 0);
	assert_int_equal(
		add_in(3, 100, A, false), 0); /* to look at attributes does not conflict with it */
	assert_int_equal(add_in(4, 100, B, true), 0); /* its own */
	assert_int_equal(add_in(5, 101, A, true), 0);
	assert_int_equal(add_in(6, 0, A, true), 0);
	assert_true(conflicts_at(0, B, CANFS_LOOKS, 1000000, 1));
	assert_string_equal(asked, "a");
	assert_true(conflicts_at(0, B, CANFS_LOOKS, 2000000, 2)); /* the same one again */
	assert_string_equal(asked, "a");
	assert_true(conflicts_at(1, B, CANFS_LOOKS, 2100000, 2));
	assert_string_equal(asked, "bc"); /* 0: less than a second ago */
	assert_true(conflicts_at(6, B, CANFS_LOOKS, 2200000, 2));
	assert_string_equal(asked, "g");
}

static void who_opens_two_files_of_a_directory_asks_for_these(void **state)
{
	(void)state;
	for (uint64_t file = 0; file < 3; file++)
		assert_int_equal(add_in(file, 100, A, true), 0);
	assert_true(conflicts_at(0, B, CANFS_READS, 1000000, 1));
	assert_true(conflicts_at(1, B, CANFS_READS, 1100000, 1));
	assert_string_equal(asked, "b");
	assert_true(conflicts_at(0, B, CANFS_LOOKS, 3000000, 3));
	assert_true(conflicts_at(1, B, CANFS_LOOKS, 30000000, 30)); /* long after */
	assert_string_equal(asked, "b");
}

static void keys_are_bounded(void **state)
{
	static const char key[CANFS_HOLDERS_KEY_MAX + 1];
	struct canfs_delegation delegation = {
		.file = 1, .client = A, .key = key, .key_bytes = sizeof(key), .recall_begun = &begun
	};

	(void)state;
	assert_int_equal(canfs_holders_add(holders, &delegation), -EINVAL);
	assert_int_equal(canfs_holders_count(holders), 0);
}

static void too_many_are_refused(void **state)
{
	(void)state;
	for (uint64_t file = 0; file < CANFS_HOLDERS_MAX; file++)
		assert_int_equal(add(file, A, true), 0);
	assert_int_equal(add(CANFS_HOLDERS_MAX, A, true), -ENOSPC);
	canfs_holders_remove(holders, 5, A.id);
	assert_int_equal(add(CANFS_HOLDERS_MAX, A, true), 0);
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
		TEST(another_version_from_the_holders_address_is_another),
		TEST(who_lists_a_directory_asks_for_all_of_it),
		TEST(who_opens_two_files_of_a_directory_asks_for_these),
		TEST(keys_are_bounded),
		TEST(too_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
