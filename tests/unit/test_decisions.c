// SPDX-License-Identifier: LGPL-3.0-or-later
/* The ring of decisions: bounded, the latest first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "client-agent/auction/decisions.h"

static const struct canfs_decision *note(struct canfs_decisions *ring, unsigned int i)
{
	return canfs_decisions_note(ring, i, "write-back", "accelerate", "defer",
		(struct canfs_bids) { 0.4, NAN, NAN }, "number %u", i);
}

static void test_an_empty_ring(void **state)
{
	struct canfs_decisions ring = { 0 };

	(void)state;
	assert_int_equal(canfs_decisions_count(&ring), 0);
	assert_null(canfs_decisions_at(&ring, 0));
}

static void test_what_was_noted(void **state)
{
	struct canfs_decisions ring = { 0 };
	const struct canfs_decision *decision = note(&ring, 5);

	(void)state;
	assert_ptr_equal(canfs_decisions_at(&ring, 0), decision);
	assert_null(canfs_decisions_at(&ring, 1));
	assert_int_equal(decision->at_usec, 5);
	assert_string_equal(decision->what, "write-back");
	assert_string_equal(decision->from, "accelerate");
	assert_string_equal(decision->to, "defer");
	assert_string_equal(decision->reason, "number 5");
	assert_true(decision->bids.server_price == 0.4 && isnan(decision->bids.own_price));
}

static void test_the_oldest_gives_way(void **state)
{
	struct canfs_decisions ring = { 0 };

	(void)state;
	for (unsigned int i = 0; i < 3 * CANFS_DECISIONS_MAX + 5; i++)
		note(&ring, i);
	assert_int_equal(canfs_decisions_count(&ring), CANFS_DECISIONS_MAX);
	for (unsigned int i = 0; i < CANFS_DECISIONS_MAX; i++)
		assert_int_equal(
			canfs_decisions_at(&ring, i)->at_usec, 3 * CANFS_DECISIONS_MAX + 4 - i);
	assert_null(canfs_decisions_at(&ring, CANFS_DECISIONS_MAX));
}

static void test_long_texts_are_cut(void **state)
{
	struct canfs_decisions ring = { 0 };
	char text[1000];
	const struct canfs_decision *decision;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	decision = canfs_decisions_note(
		&ring, 1, text, text, text, (struct canfs_bids) { 0 }, "%s", text);
	assert_int_equal(strlen(decision->what), sizeof(decision->what) - 1);
	assert_int_equal(strlen(decision->from), sizeof(decision->from) - 1);
	assert_int_equal(strlen(decision->to), sizeof(decision->to) - 1);
	assert_int_equal(strlen(decision->reason), sizeof(decision->reason) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_ring),
		cmocka_unit_test(test_what_was_noted),
		cmocka_unit_test(test_the_oldest_gives_way),
		cmocka_unit_test(test_long_texts_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
