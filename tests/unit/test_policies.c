// SPDX-License-Identifier: LGPL-3.0-or-later
/* In which order each policy serves: by example, and what holds whatever arrives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ganesha-fsal/read/scheduler/policies.h"
#include "tests/unit/fetches.h"

static struct canfs_queue queue;

/* Prefetch at these addresses (MiB), by streams of their own; then the order in which they are served. */
static void assert_order(const char *policy, const char *arrivals, const char *served)
{
	struct canfs_fetch fetch[16];
	char order[17] = "";
	size_t n = strlen(arrivals);

	begin_queue(&queue, policy);
	for (size_t i = 0; i < n; i++) {
		fetch[i] = prefetch(i, (uint64_t)(arrivals[i] - 'a') * 10 * MIB, (uint32_t)MIB);
		add(&queue, &fetch[i]);
	}
	for (size_t i = 0; i < n; i++)
		order[i] = (char)('a' + serve(&queue)->offset / (10 * MIB));
	assert_string_equal(order, served);
	end_queue(&queue);
}

static void test_orders(void **state)
{
	(void)state;
	assert_order("fifo", "cadb", "cadb");
	assert_order("none", "cadb", "cadb");
	assert_order("elevator", "cadb", "abcd");
	assert_order("n-cscan", "cadb", "abcd");
}

/* What comes behind the head during a sweep waits for the next; what comes before it, except for n-cscan, does not. */
static void test_arrivals_during_a_sweep(void **state)
{
	const char *const policies[] = { "elevator", "n-cscan" };
	struct canfs_fetch middle = prefetch(1, 50 * MIB, 1), high = prefetch(2, 90 * MIB, 1),
			   low = prefetch(3, 10 * MIB, 1), ahead = prefetch(4, 60 * MIB, 1);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin_queue(&queue, policies[i]);
		add(&queue, &middle);
		add(&queue, &high);
		assert_ptr_equal(serve(&queue), &middle);
		add(&queue, &low);
		add(&queue, &ahead);
		assert_ptr_equal(serve(&queue), i == 0 ? &ahead : &high);
		assert_ptr_equal(serve(&queue), i == 0 ? &high : &low);
		assert_ptr_equal(serve(&queue), i == 0 ? &low : &ahead);
		end_queue(&queue);
	}
}

static void test_unknown_policy(void **state)
{
	(void)state;
	assert_null(canfs_policy_named("scan"));
	assert_null(canfs_policy_named(""));
}

static void test_none_serves_what_is_awaited_first_but_not_only(void **state)
{
	struct canfs_fetch awaited[32], joins[32], ahead[4];

	(void)state;
	begin_queue(&queue, "none");
	for (size_t i = 0; i < 4; i++) {
		ahead[i] = prefetch(1, i * MIB, 1);
		add(&queue, &ahead[i]);
	}
	for (size_t i = 0; i < 32; i++) {
		awaited[i] = prefetch(2, i * MIB, 1);
		joins[i] = demand(2, i * MIB, 1);
		add(&queue, &awaited[i]);
		add(&queue, &joins[i]);
	}
	for (size_t turn = 1; turn <= 32; turn++)
		assert_int_equal(serve(&queue)->file, turn % 8 == 0 ? 1 : 2);
	end_queue(&queue);
}

/*
 * The worst case of §5.3: one fetch at the end of the disk, and others without end just ahead of the head, of one
 * stream or each of a new one. How many of them are served before it; `limit` if it is not served until then.
 */
static int turns_until_served(
	const char *policy, struct canfs_fetch victim, bool new_streams, int limit)
{
	struct canfs_fetch other[3], *one;
	uint64_t at = 0;
	int turns = 0;

	begin_queue(&queue, policy);
	for (uint32_t i = 0; i < 3; i++) {
		at += 64 * KIB;
		other[i] = prefetch(1, at, 64 * KIB);
		add_at(&queue, &other[i], 0, at);
	}
	add_at(&queue, &victim, 0, (uint64_t)1 << 50);
	while (turns < limit && (one = serve(&queue)) != &victim) {
		turns++;
		at += 64 * KIB;
		*one = prefetch(1, at, 64 * KIB);
		if (new_streams)
			one->stream = 2 + (uint32_t)turns;
		add_at(&queue, one, 0, at);
	}
	end_queue(&queue);
	return turns;
}

static void test_who_starves(void **state)
{
	const struct {
		const char *policy;
		int turns; /* until prefetch is served */
	} cases[] = { { "fifo", 3 }, { "n-cscan", 3 }, { "none", 3 } };
	struct canfs_fetch victim = prefetch(1000, 0, 4096);

	(void)state;
	victim.stream = 1000000;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int new_streams = 0; new_streams < 2; new_streams++)
			assert_in_range(
				turns_until_served(cases[i].policy, victim, new_streams, 10000), 0,
				cases[i].turns);
	}
	/* as the paper says */
	assert_int_equal(turns_until_served("elevator", victim, false, 10000), 10000);
}

/* Whatever happens: each is served or cancelled once, and none is left. */
#define CROWD 3000

struct member {
	struct canfs_fetch fetch;
	unsigned int told;
};

static struct member crowd[CROWD];
static unsigned int told;

static void note(struct canfs_fetch_list *finished)
{
	for (struct canfs_fetch *fetch = finished->first; fetch; fetch = fetch->next) {
		((struct member *)fetch)->told++;
		told++;
	}
}

static void random_member(struct member *member, uint64_t *seed)
{
	uint64_t file = next_random(seed) % 40;

	*member = (struct member) { .fetch = prefetch(file, next_random(seed) % (8 * MIB),
					    1 + (uint32_t)(next_random(seed) % MIB)) };
	if (next_random(seed) % 4 == 0)
		member->fetch.kind = CANFS_FETCH_DEMAND;
	member->fetch.stream = (uint32_t)(next_random(seed) % 50);
	add_at(&queue, &member->fetch, next_random(seed) % 1000,
		file * 100 * MIB + member->fetch.offset);
}

static void random_step(uint64_t *seed, const char *switch_to)
{
	struct canfs_fetch_list finished = { 0 };
	struct canfs_fetch *fetch;

	switch (next_random(seed) % 16) {
	case 0:
		canfs_queue_cancel(
			&queue, next_random(seed) % 40, next_random(seed) % (8 * MIB), &finished);
		break;
	case 1:
		if (switch_to)
			canfs_queue_set_policy(&queue, canfs_policy_named(switch_to));
		break;
	default:
		fetch = take(&queue);
		if (fetch)
			canfs_queue_finish(&queue, fetch, 0, &finished);
	}
	note(&finished);
}

static void run_crowd(const char *policy, bool switching)
{
	uint64_t seed = 5;

	told = 0;
	begin_queue(&queue, policy);
	for (size_t added = 0; added < CROWD;) {
		const char *to = canfs_policies[next_random(&seed) % CANFS_POLICY_COUNT]->name;

		if (next_random(&seed) % 3 > 0)
			random_member(&crowd[added++], &seed);
		else
			random_step(&seed, switching ? to : NULL);
	}
	while (queue.waiting > 0)
		random_step(&seed, NULL);
	assert_int_equal(told, CROWD);
	for (size_t i = 0; i < CROWD; i++)
		assert_int_equal(crowd[i].told, 1);
	end_queue(&queue);
}

static void test_nothing_is_lost_or_served_twice(void **state)
{
	(void)state;
	for (size_t i = 0; canfs_policies[i]; i++) {
		run_crowd(canfs_policies[i]->name, false);
		run_crowd(canfs_policies[i]->name, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_arrivals_during_a_sweep),
		cmocka_unit_test(test_unknown_policy),
		cmocka_unit_test(test_none_serves_what_is_awaited_first_but_not_only),
		cmocka_unit_test(test_who_starves),
		cmocka_unit_test(test_nothing_is_lost_or_served_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
