// SPDX-License-Identifier: LGPL-3.0-or-later
/* The search for the number that a client expects, against a client that is as strict as Linux. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include "ganesha-fsal/delegations/core/sequence.h"

#define PILE_MAX 64

static struct canfs_sequence sequence;
static uint32_t last;     /* of the server's calls */
static uint32_t expected; /* by the client */
static uint32_t pile[PILE_MAX];
static unsigned int piled;

static int begin(void **state)
{
	(void)state;
	sequence = (struct canfs_sequence) { 0 };
	last = 0;
	expected = 1;
	piled = 0;
	return 0;
}

static bool takes(uint32_t number)
{
	bool is_right = number == expected;

	expected += is_right;
	return is_right;
}

/* The server's next call reaches the client at once. */
static bool call(void)
{
	bool is_answered = takes(++last);

	if (is_answered)
		canfs_sequence_answered(&sequence, last);
	return is_answered;
}

/* It is sent, but the network is cut, so that the server gives it up. */
static void call_in_vain(void)
{
	assert_true(piled < PILE_MAX);
	pile[piled++] = ++last;
}

static void tick(void)
{
	last = canfs_sequence_search(&sequence, last);
}

/* Linux takes what has piled up last first. */
static void network_is_back(void)
{
	while (piled > 0)
		takes(pile[--piled]);
}

/* How many calls are refused, of so many a second, until the client answers. */
static unsigned int refused_until_found(unsigned int calls_per_tick)
{
	for (unsigned int refused = 0; refused < 10000; tick()) {
		for (unsigned int i = 0; i < calls_per_tick; i++, refused++) {
			if (call())
				return refused;
		}
	}
	fail_msg("not found");
	return 0;
}

static void answer(unsigned int calls)
{
	while (calls-- > 0)
		assert_true(call());
}

static void cut(unsigned int calls)
{
	for (unsigned int i = 0; i < calls; i++) {
		call_in_vain();
		if (i > 0)
			tick();
	}
	network_is_back();
	tick();
}

static void who_answers_is_not_looked_for(void **state)
{
	(void)state;
	answer(20);
	tick(); /* nothing was sent since */
	assert_int_equal(last, 20);
	answer(20);
}

static void is_found_after_a_cut(void **state)
{
	(void)state;
	for (unsigned int calls = 1; calls <= 8; calls++) {
		answer(10);
		cut(calls);
		assert_in_range(refused_until_found(1), 0, 8);
		assert_true(call());
	}
}

static void cuts_may_follow_each_other(void **state)
{
	(void)state;
	answer(10);
	for (unsigned int i = 0; i < 20; i++)
		cut(1 + i % 3);
	assert_in_range(refused_until_found(2), 0, 40);
	answer(10);
}

static void calls_may_be_lost(void **state)
{
	(void)state;
	answer(10);
	for (int i = 0; i < 5; i++)
		call_in_vain();
	piled = 0;
	tick();
	assert_int_equal(refused_until_found(1), 0);
}

static void many_calls_a_second_do_not_pass_it(void **state)
{
	(void)state;
	answer(10);
	for (int i = 0; i < 30; i++)
		call_in_vain();
	network_is_back();
	tick();
	assert_in_range(refused_until_found(5), 0, 1);
}

static void is_found_without_a_known_answer(void **state)
{
	(void)state;
	last = 1000;
	expected = 995;
	tick();
	assert_in_range(refused_until_found(3), 0, CANFS_SEQUENCE_BACK);
}

/* An answer that came through another slot says nothing about this one. */
static void an_answer_may_have_been_another_slots(void **state)
{
	(void)state;
	last = 50;
	expected = 44;
	canfs_sequence_answered(&sequence, last);
	assert_false(call());
	tick();
	assert_in_range(refused_until_found(1), 0, 64);
}

static void whatever_it_expects_is_found(void **state)
{
	(void)state;
	srandom(1);
	for (int i = 0; i < 1000; i++) {
		begin(state);
		last = (uint32_t)random() % 200;
		expected = 1 + (uint32_t)random() % (last + 1);
		if (random() % 2)
			canfs_sequence_answered(&sequence, (uint32_t)random() % (last + 1));
		tick();
		(void)refused_until_found(1 + (unsigned int)random() % 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(who_answers_is_not_looked_for, begin),
		cmocka_unit_test_setup(is_found_after_a_cut, begin),
		cmocka_unit_test_setup(cuts_may_follow_each_other, begin),
		cmocka_unit_test_setup(calls_may_be_lost, begin),
		cmocka_unit_test_setup(many_calls_a_second_do_not_pass_it, begin),
		cmocka_unit_test_setup(is_found_without_a_known_answer, begin),
		cmocka_unit_test_setup(an_answer_may_have_been_another_slots, begin),
		cmocka_unit_test_setup(whatever_it_expects_is_found, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
