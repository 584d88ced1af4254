/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A table of holders, and the states of delegations as a server has them. */
#ifndef CANFS_TESTS_HOLDERS_SCENE_H
#define CANFS_TESTS_HOLDERS_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
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

static inline struct canfs_server_state state_of(unsigned int number)
{
	return (struct canfs_server_state) { .recall_begun = &server[number].begun,
		.recall_answered = &server[number].answered,
		.client_record = &server[number],
		.state = &server[number],
		.stage = &server[number].stage,
		.channel_down = &server[number].channel_down };
}

/* Each has the server's next state, from 0. */
static inline int add_at(uint64_t file, uint64_t parent, struct canfs_nfs_client client,
	bool writes, uint64_t now_usec)
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

static inline int add_in(
	uint64_t file, uint64_t parent, struct canfs_nfs_client client, bool writes)
{
	return add_at(file, parent, client, writes, NOW_USEC);
}

static inline int add(uint64_t file, struct canfs_nfs_client client, bool writes)
{
	return add_in(file, 0, client, writes);
}

static inline void ask(const void *recall_arg, const void *key, size_t key_bytes)
{
	assert_ptr_equal(recall_arg, server);
	assert_int_equal(key_bytes, 1);
	strncat(asked, key, 1);
}

static inline bool conflicts_at(
	uint64_t file, struct canfs_nfs_client client, enum canfs_access access, uint64_t now_usec)
{
	struct canfs_recall recall = { .now_usec = now_usec, .ask = ask };

	asked[0] = '\0';
	return canfs_holders_conflict(holders, file, client, access, &recall);
}

static inline int begin(void **state)
{
	(void)state;
	memset(server, 0, sizeof(server));
	servers = 0;
	holders = canfs_holders_new();
	return holders ? 0 : -1;
}

static inline int end(void **state)
{
	(void)state;
	canfs_holders_free(holders);
	return 0;
}

static inline bool conflicts(uint64_t file, struct canfs_nfs_client client, bool writes)
{
	return conflicts_at(file, client, writes ? CANFS_WRITES : CANFS_READS, NOW_USEC);
}

static inline bool removed_at(uint64_t file, unsigned int number, uint64_t now_usec)
{
	struct canfs_returned returned;

	return canfs_holders_remove(holders, file, state_of(number), now_usec, &returned);
}

static inline void note_unheard(void *client_record)
{
	unheard += client_record == &server[0];
}

/* The server holds its lock, or has just released it. */
static inline void *lock_state(void *state)
{
	bool *is_locked =
		&server[(size_t)((char *)state - (char *)server) / sizeof(server[0])].is_locked;

	if (*is_locked)
		return NULL;
	*is_locked = true;
	return is_locked;
}

static inline void unlock_state(void *locked)
{
	assert_true(*(bool *)locked);
	*(bool *)locked = false;
}

static inline void tick_at(uint64_t now_usec)
{
	const struct canfs_server server_here = { .lease_sec = 60,
		.granted = GRANTED,
		.recalled = RECALLED,
		.lock = lock_state,
		.unlock = unlock_state,
		.unheard = note_unheard };

	canfs_holders_tick(holders, now_usec, &server_here);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

#endif
