// SPDX-License-Identifier: LGPL-3.0-or-later
/* In which order each policy serves: by example, and what holds whatever arrives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ganesha-fsal/scheduler/policies.h"
#include "tests/unit/fetches.h"

static struct canfs_queue queue;

/* Prefetch at these addresses (MiB), by streams of their own; then the order in which they are served. */
static void assert_order(const char *policy, const char *arrivals, const char *served)
{
	struct canfs_fetch fetch[16];
	char order[17] = "";
	size_t n = strlen(arrivals);

	begin_queue(&queue, policy, (uint32_t)MIB);
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
	assert_order("lag", "cadb", "abcd");
}

/* What comes behind the head during a sweep waits for the next; what comes before it, except for n-cscan, does not. */
static void test_arrivals_during_a_sweep(void **state)
{
	const char *const policies[] = { "elevator", "n-cscan" };
	struct canfs_fetch middle = prefetch(1, 50 * MIB, 1), high = prefetch(2, 90 * MIB, 1),
			   low = prefetch(3, 10 * MIB, 1), ahead = prefetch(4, 60 * MIB, 1);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin_queue(&queue, policies[i], 0);
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
	begin_queue(&queue, "none", 0);
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

/* Streams that always have something waiting; each at a place of its own. */
#define STREAMS   12
#define OF_EACH   4
#define LAG       (4 * MIB)
#define FAR_APART ((uint64_t)1 << 36)

static uint64_t asked[STREAMS];

static void ask(struct canfs_fetch *fetch, uint32_t stream, uint64_t *seed)
{
	*fetch = prefetch(stream, asked[stream], (uint32_t)(next_random(seed) % (128 * KIB) + 1));
	asked[stream] += fetch->bytes;
	add_at(&queue, fetch, 0, stream * FAR_APART + fetch->offset);
}

/*
 * Served bytes of any two of them differ by no more than K, what one fetch and one seek cost, and the distance at which
 * new streams begin.
 */
static void test_bound_of_lag(void **state)
{
	const uint64_t bound = LAG + 2 * MIB + STREAMS * (LAG / 64 + 1) + MIB;
	struct canfs_fetch fetch[STREAMS][OF_EACH], *one;
	uint64_t served[STREAMS] = { 0 }, seed = 1, least, most;

	(void)state;
	memset(asked, 0, sizeof(asked));
	begin_queue(&queue, "lag", LAG);
	for (uint32_t stream = 0; stream < STREAMS; stream++) {
		for (size_t i = 0; i < OF_EACH; i++)
			ask(&fetch[stream][i], stream, &seed);
	}
	for (int turn = 0; turn < 20000; turn++) {
		one = serve(&queue);
		served[one->stream] += one->bytes;
		ask(one, one->stream, &seed);
		least = most = served[0];
		for (size_t i = 1; i < STREAMS; i++) {
			least = served[i] < least ? served[i] : least;
			most = served[i] > most ? served[i] : most;
		}
		assert_true(most - least <= bound);
	}
	assert_true(least > 10 * LAG);
	end_queue(&queue);
}

/* Each of them is a run of K, not a seek a fetch. */
static void test_lag_stays_with_a_stream(void **state)
{
	struct canfs_fetch fetch[STREAMS][OF_EACH], *one;
	uint64_t seed = 2;
	uint32_t last = 0;
	int changes = 0;

	(void)state;
	memset(asked, 0, sizeof(asked));
	begin_queue(&queue, "lag", LAG);
	for (uint32_t stream = 0; stream < STREAMS; stream++) {
		for (size_t i = 0; i < OF_EACH; i++)
			ask(&fetch[stream][i], stream, &seed);
	}
	for (int turn = 0; turn < 20000; turn++) {
		one = serve(&queue);
		changes += one->stream != last;
		last = one->stream;
		ask(one, one->stream, &seed);
	}
	/* 20,000 fetches of 64 KiB are 1250 MiB; a run is 3 MiB and a seek at least */
	assert_true(changes > 100 && changes < 1250 / 3 * 2);
	end_queue(&queue);
}

/* A stream that comes later, or asks again after a pause, gets no arrears: it is as the one that has had least. */
static void test_late_stream_gets_no_arrears(void **state)
{
	struct canfs_fetch fetch[2][OF_EACH], *one;
	uint64_t seed = 3, served[2] = { 0 };

	(void)state;
	memset(asked, 0, sizeof(asked));
	begin_queue(&queue, "lag", LAG);
	for (size_t i = 0; i < OF_EACH; i++)
		ask(&fetch[0][i], 0, &seed);
	for (int turn = 0; turn < 5000; turn++) {
		one = serve(&queue);
		ask(one, 0, &seed);
	}
	for (size_t i = 0; i < OF_EACH; i++)
		ask(&fetch[1][i], 1, &seed);
	for (int turn = 0; turn < 1000; turn++) {
		one = serve(&queue);
		served[one->stream] += one->bytes;
		ask(one, one->stream, &seed);
	}
	assert_true(served[0] + LAG + 4 * MIB > served[1]);
	assert_true(served[1] + LAG + 4 * MIB > served[0]);
	end_queue(&queue);
}

/* An idle stream holds nobody back: the disk goes on as long as anything waits. */
static void test_idle_streams_do_not_hold_others_back(void **state)
{
	struct canfs_fetch once[100], fetch[OF_EACH], *one;
	uint64_t seed = 4;

	(void)state;
	memset(asked, 0, sizeof(asked));
	begin_queue(&queue, "lag", LAG);
	for (uint32_t i = 0; i < 100; i++) {
		once[i] = prefetch(100 + i, 0, 1);
		add_at(&queue, &once[i], 0, (100 + i) * FAR_APART);
	}
	for (size_t i = 0; i < OF_EACH; i++)
		ask(&fetch[i], 0, &seed);
	for (int turn = 0; turn < 2000; turn++) {
		one = serve(&queue);
		assert_non_null(one);
		if (one->stream == 0)
			ask(one, 0, &seed);
	}
	end_queue(&queue);
}

/* Shares are of the disk's time: many readers that seek for each 8 KiB leave a sequential one more bytes than they get. */
static void test_seeks_are_charged(void **state)
{
	enum { RANDOM = 50, TURNS = 6600 };
	struct canfs_fetch sought[RANDOM], fetch[OF_EACH], *one;
	uint64_t seed = 7, sequential_bytes = 0;

	(void)state;
	memset(asked, 0, sizeof(asked));
	begin_queue(&queue, "lag", LAG);
	for (uint32_t i = 0; i < RANDOM; i++) {
		sought[i] = prefetch(100 + i, next_random(&seed) * MIB, 8 * 1024);
		add(&queue, &sought[i]);
	}
	for (size_t i = 0; i < OF_EACH; i++)
		ask(&fetch[i], 0, &seed);
	for (int turn = 0; turn < TURNS; turn++) {
		one = serve(&queue);
		if (one->stream == 0) {
			sequential_bytes += one->bytes;
			ask(one, 0, &seed);
		} else {
			*one = prefetch(one->file, next_random(&seed) * MIB, 8 * 1024);
			add(&queue, one);
		}
	}
	/* of 66 turns 50 are seeks, and as long as one of them lasts the disk reads 1 MiB: 16 turns of 64 KiB, some of them seeks, too */
	assert_true(sequential_bytes > TURNS / 66 * MIB / 3);
	assert_true(sequential_bytes < TURNS / 66 * MIB * 2);
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

	begin_queue(&queue, policy, LAG);
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
	} cases[] = { { "fifo", 3 }, { "n-cscan", 3 }, { "lag", 300 }, { "none", 3 } };
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
	begin_queue(&queue, policy, LAG);
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

/* With a K that nobody reaches, lag's tree of streams must give what the elevator's one tree does. */
static void test_lag_without_bound_is_the_elevator(void **state)
{
	static struct canfs_fetch fetch[2][CROWD];
	struct canfs_queue queues[2];
	struct canfs_fetch_list cancelled = { 0 };
	struct canfs_fetch *elevator, *lag;
	uint64_t seed = 6;

	(void)state;
	begin_queue(&queues[0], "elevator", 0);
	begin_queue(&queues[1], "lag", UINT32_MAX);
	for (size_t i = 0; i < CROWD; i++) {
		uint64_t place = next_random(&seed) % 10000 * MIB;
		uint64_t file = next_random(&seed) % 40, from = next_random(&seed) % 10000 * MIB;

		fetch[0][i] = prefetch(file, place, 4096);
		fetch[0][i].kind = (enum canfs_fetch_kind)(next_random(&seed) % 2);
		fetch[1][i] = fetch[0][i];
		for (size_t q = 0; q < 2; q++) {
			add_at(&queues[q], &fetch[q][i], i, place);
			if (i % 50 == 0)
				canfs_queue_cancel(&queues[q], file, from, &cancelled);
		}
		for (uint64_t n = next_random(&seed) % 3; n > 0; n--) {
			elevator = serve(&queues[0]);
			lag = serve(&queues[1]);
			assert_true((!elevator) == (!lag));
			if (lag)
				assert_int_equal(elevator - fetch[0], lag - fetch[1]);
		}
	}
	end_queue(&queues[0]);
	end_queue(&queues[1]);
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
		cmocka_unit_test(test_bound_of_lag),
		cmocka_unit_test(test_lag_stays_with_a_stream),
		cmocka_unit_test(test_late_stream_gets_no_arrears),
		cmocka_unit_test(test_idle_streams_do_not_hold_others_back),
		cmocka_unit_test(test_seeks_are_charged),
		cmocka_unit_test(test_who_starves),
		cmocka_unit_test(test_lag_without_bound_is_the_elevator),
		cmocka_unit_test(test_nothing_is_lost_or_served_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
