// SPDX-License-Identifier: LGPL-3.0-or-later
/* Whose operations conflict with whose delegations. */
#include "tests/unit/holders_scene.h"

#include <errno.h>

static enum canfs_named named_at(uint64_t file, struct canfs_nfs_client client, uint64_t now_usec)
{
	return canfs_holders_named(holders, file, client, now_usec);
}

static void writing_is_for_one(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_int_equal(canfs_holders_count(holders), 1);
	assert_int_equal(add(7, B, false), -EBUSY);
	assert_false(conflicts(7, A, true));
	assert_true(conflicts(7, B, false));
	assert_true(conflicts(7, V3, false));
	assert_false(conflicts(8, B, true));
	assert_false(removed_at(7, 1, NOW_USEC)); /* that was refused */
	assert_true(conflicts(7, B, false));
	assert_true(removed_at(7, 0, NOW_USEC));
	assert_false(removed_at(7, 0, NOW_USEC));
	tick_at(SETTLED_USEC);
	assert_int_equal(canfs_holders_count(holders), 0);
	assert_false(conflicts_at(7, B, CANFS_WRITES, SETTLED_USEC));
}

static void what_was_returned_settles(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_true(removed_at(7, 0, NOW_USEC));
	assert_int_equal(canfs_holders_count(holders), 1);
	assert_true(canfs_holders_settles(holders, 7, SETTLED_USEC - 1));
	assert_true(conflicts_at(7, B, CANFS_READS, SETTLED_USEC - 1));
	assert_string_equal(asked, "");
	assert_false(conflicts_at(7, A, CANFS_WRITES, SETTLED_USEC - 1));
	assert_false(canfs_holders_settles(holders, 7, SETTLED_USEC));
	assert_false(conflicts_at(7, B, CANFS_READS, SETTLED_USEC));
	/* Read only: nothing was sent. */
	assert_int_equal(add(OTHER_FILE, A, false), 0);
	assert_true(removed_at(OTHER_FILE, 1, NOW_USEC));
	assert_false(canfs_holders_settles(holders, OTHER_FILE, NOW_USEC));
	assert_false(conflicts(OTHER_FILE, B, true));
}

static void counts_what_it_does(void **state)
{
	struct canfs_holders_counters counters;

	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_int_equal(add(7, B, true), -EBUSY);
	assert_true(conflicts(7, B, false));
	assert_true(removed_at(7, 0, NOW_USEC));
	counters = canfs_holders_counters(holders);
	assert_int_equal(counters.held, 1); /* it settles */
	assert_int_equal(counters.granted, 1);
	assert_int_equal(counters.refused, 1);
	assert_int_equal(counters.recalled, 1);
}

static void what_is_being_written_has_not_settled(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	canfs_holders_begin_change(holders, 7);
	assert_true(removed_at(7, 0, NOW_USEC));
	assert_true(conflicts_at(7, V3, CANFS_LOOKS, SETTLED_USEC));
	assert_true(conflicts_at(7, V3, CANFS_READS, SETTLED_USEC));
	assert_false(conflicts_at(7, V3, CANFS_WRITES, SETTLED_USEC)); /* it may be that change */
	tick_at(SETTLED_USEC);
	assert_true(canfs_holders_settles(holders, 7, SETTLED_USEC));
	assert_false(canfs_holders_settles(holders, 7, NOW_USEC + 5000000));
	canfs_holders_end_change(holders, 7);
	assert_false(canfs_holders_settles(holders, 7, SETTLED_USEC));
	tick_at(SETTLED_USEC);
	assert_int_equal(canfs_holders_count(holders), 0);
}

/* A WRITE that a return has overtaken: the server refuses it, and it is sent again. */
static void what_is_refused_is_missing(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_int_equal(named_at(7, B, NOW_USEC), CANFS_NOT_COUNTED);
	assert_int_equal(named_at(7, A, NOW_USEC), CANFS_NAMED_BEFORE);
	assert_true(removed_at(7, 0, NOW_USEC));
	assert_int_equal(named_at(7, V3, NOW_USEC), CANFS_NOT_COUNTED);
	assert_int_equal(named_at(7, A, NOW_USEC), CANFS_NAMED_AFTER);
	assert_true(conflicts_at(7, B, CANFS_LOOKS, SETTLED_USEC));
	/* Or what is sent again would overwrite what B has written. */
	assert_true(conflicts_at(7, B, CANFS_WRITES, SETTLED_USEC));
	assert_false(conflicts_at(7, A, CANFS_WRITES, SETTLED_USEC));
	canfs_holders_arrived(holders, 7);
	tick_at(SETTLED_USEC);
	assert_true(canfs_holders_settles(holders, 7, SETTLED_USEC));
	assert_false(canfs_holders_settles(holders, 7, NOW_USEC + 5000000)); /* it never came */
	canfs_holders_arrived(holders, 7);
	canfs_holders_arrived(holders, 7); /* more than were named */
	assert_true(canfs_holders_settles(holders, 7, SETTLED_USEC - 1));
	assert_false(canfs_holders_settles(holders, 7, SETTLED_USEC));
	assert_int_equal(named_at(7, A, SETTLED_USEC), CANFS_NOT_COUNTED);
	/* The next delegation begins anew; and what was refused long before its return was so for another reason. */
	assert_int_equal(named_at(7, A, SETTLED_USEC - 1), CANFS_NAMED_AFTER);
	assert_int_equal(add_at(7, 0, A, true, LATER_USEC), 0);
	assert_int_equal(named_at(7, A, LATER_USEC), CANFS_NAMED_BEFORE);
	assert_true(removed_at(7, 1, LATER_USEC + 1000000));
	assert_false(canfs_holders_settles(holders, 7, LATER_USEC + 1100000));
}

static void what_settles_is_given_to_nobody(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_true(removed_at(7, 0, NOW_USEC));
	assert_int_equal(add(7, B, false), -EBUSY);
	assert_int_equal(add(7, A, true), -EBUSY);
	/* Settled, and not yet forgotten. */
	assert_int_equal(add_at(7, 0, B, false, SETTLED_USEC), 0);
	assert_int_equal(canfs_holders_count(holders), 1);
	assert_false(conflicts_at(7, A, CANFS_READS, SETTLED_USEC));
	assert_true(removed_at(7, 3, SETTLED_USEC));
	assert_int_equal(canfs_holders_count(holders), 0);
}

/* A thread may have looked at the clock before another did. */
static void clocks_may_cross(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_true(removed_at(7, 0, NOW_USEC + 1));
	assert_true(conflicts_at(7, B, CANFS_READS, NOW_USEC));
	assert_int_equal(add(OTHER_FILE, A, true), 0);
	assert_true(conflicts_at(OTHER_FILE, B, CANFS_READS, NOW_USEC + 1));
	assert_true(removed_at(OTHER_FILE, 1, NOW_USEC));
	assert_int_equal(add_at(OTHER_FILE, 0, A, true, NOW_USEC), -EBUSY);
}

static void reading_is_for_many(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, false), 0);
	assert_false(conflicts(7, V3, false));
	assert_false(conflicts(7, A, true)); /* its own */
	assert_int_equal(add(7, B, false), 0);
	assert_int_equal(add(7, A, true), -EBUSY);
	assert_true(conflicts(7, A, true));
	assert_true(conflicts(7, V3, true));
	assert_true(removed_at(7, 1, NOW_USEC));
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

static void another_version_from_the_holders_address_is_another(void **state)
{
	struct canfs_nfs_client v3 = { CANFS_NO_HOLDER, A.address };

	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_true(conflicts(7, v3, false));
}

static void the_server_itself_does_not_conflict(void **state)
{
	struct canfs_nfs_client nobody = { 0, NULL };

	(void)state;
	assert_int_equal(add(7, A, true), 0);
	assert_false(conflicts(7, nobody, true));
}

static void a_client_has_one_of_a_file(void **state)
{
	(void)state;
	assert_int_equal(add(7, A, false), 0);
	assert_int_equal(add(7, A, false), -EBUSY);
	assert_int_equal(add(7, A, true), -EBUSY);
	assert_int_equal(add(7, B, false), 0); /* readers do not conflict */
	assert_true(removed_at(7, 0, NOW_USEC));
	assert_int_equal(add(7, A, false), 0);
	assert_true(removed_at(7, 3, NOW_USEC));
	assert_true(removed_at(7, 4, NOW_USEC));
	assert_int_equal(canfs_holders_count(holders), 0);
}

static void who_opens_what_others_have_open_is_given_none(void **state)
{
	const char key = 'a';
	struct canfs_delegation delegation = { .file = 7,
		.client = A,
		.is_opened = true,
		.key = &key,
		.key_bytes = 1,
		.server = state_of(0),
		.now_usec = NOW_USEC };

	(void)state;
	assert_int_equal(canfs_holders_add(holders, &delegation), -EBUSY);
	assert_int_equal(canfs_holders_counters(holders).refused, 1);
	assert_int_equal(canfs_holders_count(holders), 0);
	assert_false(conflicts(7, B, true));
}

static void after_a_conflict_none_is_granted_for_a_while(void **state)
{
	(void)state;
	assert_int_equal(add_at(7, 0, A, true, NOW_USEC), 0);
	assert_true(conflicts(7, B, true));
	assert_true(removed_at(7, 0, NOW_USEC));
	assert_int_equal(add_at(7, 0, A, true, NOW_USEC + 29999999), -EBUSY);
	assert_int_equal(add_at(7, 0, A, true, NOW_USEC + 30000000), 0);
}

static void none_is_granted_while_it_is_changed(void **state)
{
	(void)state;
	canfs_holders_begin_change(holders, 7);
	assert_int_equal(add(7, A, true), -EBUSY);
	assert_int_equal(canfs_holders_count(holders), 0);
	canfs_holders_end_change(holders, 7);
	assert_int_equal(add(7, A, true), 0);
}

static void keys_are_bounded(void **state)
{
	static const char key[CANFS_HOLDERS_KEY_MAX + 1];
	struct canfs_delegation delegation = {
		.file = 1, .client = A, .key = key, .key_bytes = sizeof(key), .server = state_of(0)
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
	assert_true(removed_at(5, 5, NOW_USEC));
	tick_at(SETTLED_USEC);
	servers = 0;
	assert_int_equal(add(CANFS_HOLDERS_MAX, A, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writing_is_for_one),
		TEST(what_was_returned_settles),
		TEST(counts_what_it_does),
		TEST(what_is_being_written_has_not_settled),
		TEST(what_is_refused_is_missing),
		TEST(what_settles_is_given_to_nobody),
		TEST(clocks_may_cross),
		TEST(reading_is_for_many),
		TEST(two_behind_one_address_are_two),
		TEST(another_version_from_the_holders_address_is_another),
		TEST(the_server_itself_does_not_conflict),
		TEST(a_client_has_one_of_a_file),
		TEST(who_opens_what_others_have_open_is_given_none),
		TEST(after_a_conflict_none_is_granted_for_a_while),
		TEST(none_is_granted_while_it_is_changed),
		TEST(keys_are_bounded),
		TEST(too_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
