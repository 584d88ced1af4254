// SPDX-License-Identifier: LGPL-3.0-or-later
/* Whose operations conflict with whose delegations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "ganesha-fsal/delegations/core/holders.h"

#define GRANTED      1
#define RECALLED     2
#define NOW_USEC     100000000
#define OTHER_FILE   1000 /* which shares no lock or slot with file 7 */
#define SETTLED_USEC (NOW_USEC + 100000)
#define LATER_USEC   (NOW_USEC + 40000000) /* it may be given again, after a conflict */

static const struct canfs_nfs_client A = { 1, "10.0.0.1" }, B = { 2, "10.0.0.2" };
static const struct canfs_nfs_client V3 = { CANFS_NO_HOLDER, "10.0.0.3" };

static struct canfs_holders *holders;
static struct {
	time_t begun, answered;
	uint32_t stage;
	bool channel_down;
	bool is_locked;
} server[CANFS_HOLDERS_MAX + 1];
static unsigned int servers; /* that were used */
static char asked[256];      /* the keys, one character each */
static unsigned int unheard; /* how often the first one was said to be */

static struct canfs_server_state state_of(unsigned int number)
{
	return (struct canfs_server_state) { .recall_begun = &server[number].begun,
		.recall_answered = &server[number].answered,
		.client_record = &server[number],
		.state = &server[number],
		.stage = &server[number].stage,
		.channel_down = &server[number].channel_down };
}

/* Each has the server's next state, from 0. */
static int add_at(uint64_t file, uint64_t parent, struct canfs_nfs_client client, bool writes,
	uint64_t now_usec)
{
	const char key = (char)('a' + file % 26);
	struct canfs_delegation delegation = { .file = file,
		.parent = parent,
		.client = client,
		.writes = writes,
		.recall_arg = server,
		.key = &key,
		.key_bytes = 1,
		.server = state_of(servers),
		.now_usec = now_usec };

	server[servers++].stage = GRANTED;
	return canfs_holders_add(holders, &delegation);
}

static int add_in(uint64_t file, uint64_t parent, struct canfs_nfs_client client, bool writes)
{
	return add_at(file, parent, client, writes, NOW_USEC);
}

static int add(uint64_t file, struct canfs_nfs_client client, bool writes)
{
	return add_in(file, 0, client, writes);
}

static void ask(const void *recall_arg, const void *key, size_t key_bytes)
{
	assert_ptr_equal(recall_arg, server);
	assert_int_equal(key_bytes, 1);
	strncat(asked, key, 1);
}

static bool conflicts_at(
	uint64_t file, struct canfs_nfs_client client, enum canfs_access access, uint64_t now_usec)
{
	struct canfs_recall recall = { .now_usec = now_usec, .ask = ask };

	asked[0] = '\0';
	return canfs_holders_conflict(holders, file, client, access, &recall);
}

static int begin(void **state)
{
	(void)state;
	memset(server, 0, sizeof(server));
	servers = 0;
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
	return conflicts_at(file, client, writes ? CANFS_WRITES : CANFS_READS, NOW_USEC);
}

static bool removed_at(uint64_t file, unsigned int number, uint64_t now_usec)
{
	struct canfs_returned returned;

	return canfs_holders_remove(holders, file, state_of(number), now_usec, &returned);
}

static enum canfs_named named_at(uint64_t file, struct canfs_nfs_client client, uint64_t now_usec)
{
	return canfs_holders_named(holders, file, client, now_usec);
}

static void note_unheard(void *client_record)
{
	unheard += client_record == &server[0];
}

/* The server holds its lock, or has just released it. */
static void *lock_state(void *state)
{
	bool *is_locked =
		&server[(size_t)((char *)state - (char *)server) / sizeof(server[0])].is_locked;

	if (*is_locked)
		return NULL;
	*is_locked = true;
	return is_locked;
}

static void unlock_state(void *locked)
{
	assert_true(*(bool *)locked);
	*(bool *)locked = false;
}

static void tick_at(uint64_t now_usec)
{
	const struct canfs_server server_here = { .lease_sec = 60,
		.granted = GRANTED,
		.recalled = RECALLED,
		.lock = lock_state,
		.unlock = unlock_state,
		.unheard = note_unheard };

	canfs_holders_tick(holders, now_usec, &server_here);
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

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writing_is_for_one),
		TEST(what_was_returned_settles),
		TEST(counts_what_it_does),
		TEST(who_did_not_answer_once_may_be_asked_again),
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
		TEST(recalls_once_a_second),
		TEST(who_does_not_answer_loses_it_after_one_lease),
		TEST(who_has_lost_one_is_not_waited_for_again),
		TEST(who_is_there_again_is_waited_for),
		TEST(who_does_not_answer_is_told_of),
		TEST(what_the_server_has_locked_is_left),
		TEST(who_is_overtaken_writes_no_more_and_loses_it),
		TEST(nobody_is_overtaken_while_it_writes),
		TEST(a_recall_that_does_not_begin_is_undone),
		TEST(after_a_conflict_none_is_granted_for_a_while),
		TEST(none_is_granted_while_it_is_changed),
		TEST(who_lists_a_directory_asks_for_all_of_it),
		TEST(who_opens_two_files_of_a_directory_asks_for_these),
		TEST(keys_are_bounded),
		TEST(too_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
