// SPDX-License-Identifier: LGPL-3.0-or-later
/* Recalls of delegations: when a client is asked, and what becomes of one that does not answer. */
#include "tests/unit/holders_scene.h"

#include <errno.h>

static bool asks_back(struct canfs_nfs_client client, uint64_t now_usec)
{
	assert_int_equal(conflicts_at(7, client, CANFS_WRITES, now_usec), client.id != A.id);
	return asked[0] != '\0';
}

static void recalls_once_a_second(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_true(asks_back(B, 1000));
	assert_false(asks_back(V3, 1000999));
	assert_true(asks_back(B, 1001000));
	assert_false(asks_back(A, 2002000));
}

/* The server revokes it two leases after that. */
static void who_does_not_answer_loses_it_after_one_lease(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	tick_at(NOW_USEC);
	assert_int_equal(server[0].begun, 0);
	server[0].begun = 5000;
	server[0].stage = RECALLED;
	tick_at(NOW_USEC);
	assert_int_equal(server[0].begun, 4940);
	assert_false(server[0].is_locked);
	tick_at(NOW_USEC);
	assert_int_equal(server[0].begun, 4940);
	assert_int_equal(server[0].stage, RECALLED);
}

static void what_the_server_has_locked_is_left(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_int_equal(add(OTHER_FILE, A, true), 0);
	server[0].begun = 5000;
	server[0].stage = server[1].stage = RECALLED;
	server[0].is_locked = server[1].is_locked = true;
	for (int i = 0; i < 10; i++)
		tick_at(NOW_USEC);
	assert_int_equal(server[0].begun, 5000);
	assert_int_equal(server[1].stage, RECALLED);
	server[0].is_locked = server[1].is_locked = false;
	tick_at(NOW_USEC);
	tick_at(NOW_USEC);
	assert_int_equal(server[0].begun, 4940);
	assert_int_equal(server[1].stage, GRANTED);
}

static time_t begun_after_ticks(unsigned int ticks)
{
	server[0].begun = 5000;
	server[0].stage = RECALLED;
	for (unsigned int i = 0; i < ticks; i++)
		tick_at(NOW_USEC);
	return server[0].begun;
}

/* The server takes it after its next look. */
static void who_has_lost_one_is_not_waited_for_again(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_int_equal(add(OTHER_FILE, B, true), 0);
	canfs_holders_gone(holders, A);
	server[1].begun = 5000;
	server[1].stage = RECALLED;
	assert_int_equal(begun_after_ticks(4), 4940);
	tick_at(NOW_USEC);
	assert_int_equal(server[0].begun, 4880);
	assert_int_equal(server[1].begun, 4940); /* another client's */
	tick_at(NOW_USEC);
	assert_int_equal(server[0].begun, 4880);
}

static void who_is_there_again_is_waited_for(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	canfs_holders_gone(holders, A);
	assert_false(conflicts(OTHER_FILE, A, false));
	assert_int_equal(begun_after_ticks(10), 4940);
}

static void who_does_not_answer_is_told_of(void **state)
{
	(void)state;
	unheard = 0;
	assert_int_equal(add(7, A, true), 0);
	begun_after_ticks(3);
	assert_int_equal(unheard, 0);
	tick_at(NOW_USEC);
	tick_at(NOW_USEC);
	assert_int_equal(unheard, 2);
	server[0].answered = 5004;
	tick_at(NOW_USEC);
	assert_int_equal(unheard, 2);
}

/* A process of this machine truncates the file. */
static void who_is_overtaken_writes_no_more_and_loses_it(void **state)
{
	struct canfs_returned returned;

	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_int_equal(add(OTHER_FILE, A, true), 0);
	assert_true(canfs_holders_overtake(holders, 7));
	assert_true(conflicts(7, A, true));
	assert_false(conflicts(7, A, false));
	assert_false(conflicts(OTHER_FILE, A, true));
	assert_int_equal(begun_after_ticks(1), 4880); /* two leases, and the server takes it */
	assert_true(canfs_holders_remove(holders, 7, state_of(0), NOW_USEC, &returned));
	assert_true(returned.was_overtaken);
	assert_ptr_equal(returned.whose.address, A.address);
	assert_true(conflicts(7, A, true)); /* a WRITE that was on its way */
	assert_false(conflicts(7, A, false));
	assert_false(conflicts_at(7, A, CANFS_WRITES, SETTLED_USEC));
	assert_true(canfs_holders_remove(holders, OTHER_FILE, state_of(1), NOW_USEC, &returned));
	assert_false(returned.was_overtaken);
	assert_int_equal(add_at(7, 0, A, true, LATER_USEC), 0);
	assert_false(conflicts_at(7, A, CANFS_WRITES, LATER_USEC));
}

static void nobody_is_overtaken_while_it_writes(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	canfs_holders_begin_change(holders, 7);
	assert_false(canfs_holders_overtake(holders, 7));
	assert_false(conflicts(7, A, true));
	canfs_holders_end_change(holders, 7);
	assert_true(canfs_holders_overtake(holders, 7));
	assert_true(canfs_holders_overtake(holders, 8)); /* nobody holds this file */
}

static void a_recall_that_does_not_begin_is_undone(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	server[0].stage = RECALLED;
	tick_at(NOW_USEC);
	assert_int_equal(server[0].stage, RECALLED);
	tick_at(NOW_USEC);
	assert_int_equal(server[0].stage, GRANTED);
}

static void who_did_not_answer_once_may_be_asked_again(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	server[0].channel_down = true;
	tick_at(NOW_USEC);
	assert_false(server[0].channel_down);
	server[0].channel_down = true;
	assert_true(removed_at(7, 0, NOW_USEC));
	assert_false(server[0].channel_down);
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
	assert_true(conflicts_at(0, B, CANFS_LOOKS, NOW_USEC));
	assert_string_equal(asked, "a");
	assert_true(conflicts_at(0, B, CANFS_LOOKS, NOW_USEC + 1000000)); /* the same one again */
	assert_string_equal(asked, "a");
	assert_true(conflicts_at(1, B, CANFS_LOOKS, NOW_USEC + 1100000));
	assert_string_equal(asked, "bc"); /* 0: less than a second ago */
	assert_true(conflicts_at(0, B, CANFS_LOOKS, NOW_USEC + 1200000)); /* once a second */
	assert_string_equal(asked, "");
	assert_int_equal(
		add_at(8, 100, A, true, NOW_USEC + 1300000), -EBUSY); /* or there would be no end */
	assert_int_equal(add_at(64009, 101, A, true, NOW_USEC + 1300000), 0);
	assert_true(conflicts_at(6, B, CANFS_LOOKS, NOW_USEC + 1400000));
	assert_string_equal(asked, "g");
}

static void who_opens_two_files_of_a_directory_asks_for_these(void **state)
{
	(void)state;
	for (uint64_t file = 0; file < 3; file++)
		assert_int_equal(add_in(file, 100, A, true), 0);
	assert_true(conflicts_at(0, B, CANFS_READS, NOW_USEC));
	assert_true(conflicts_at(1, B, CANFS_READS, NOW_USEC + 100000));
	assert_string_equal(asked, "b");
	assert_true(conflicts_at(0, B, CANFS_LOOKS, NOW_USEC + 2000000));
	assert_true(conflicts_at(1, B, CANFS_LOOKS, NOW_USEC + 30000000)); /* long after */
	assert_string_equal(asked, "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_did_not_answer_once_may_be_asked_again),
		TEST(recalls_once_a_second),
		TEST(who_does_not_answer_loses_it_after_one_lease),
		TEST(who_has_lost_one_is_not_waited_for_again),
		TEST(who_is_there_again_is_waited_for),
		TEST(who_does_not_answer_is_told_of),
		TEST(what_the_server_has_locked_is_left),
		TEST(who_is_overtaken_writes_no_more_and_loses_it),
		TEST(nobody_is_overtaken_while_it_writes),
		TEST(a_recall_that_does_not_begin_is_undone),
		TEST(who_lists_a_directory_asks_for_all_of_it),
		TEST(who_opens_two_files_of_a_directory_asks_for_these),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
