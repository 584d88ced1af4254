// SPDX-License-Identifier: LGPL-3.0-or-later
/* The client's side of the reverse auction (CA-NFS §3, §3.2) and its guards against flapping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "pricing/auction.h"
#include "pricing/price.h"

#define DWELL_USEC 200000 /* the default */
#define CLIENT_K   32.0

static struct canfs_auction fresh(void)
{
	struct canfs_auction auction;

	canfs_auction_init(&auction, &canfs_auction_defaults);
	return auction;
}

/* An auction whose verdict has stood since time 0. */
static struct canfs_auction standing(enum canfs_verdict verdict)
{
	struct canfs_auction auction = fresh();
	double server_price = verdict == CANFS_DEFER ? 0.9 : 0.1;

	assert_int_equal(canfs_auction_hold(&auction, 0.5, server_price, 0), verdict);
	return auction;
}

static void test_own_price_has_floor_and_ceiling(void **state)
{
	const struct canfs_auction_terms *terms = &canfs_auction_defaults;
	double before = 0.0;

	(void)state;
	assert_true(canfs_own_price(terms, 0.0, CLIENT_K) == terms->price_min);
	assert_true(canfs_own_price(terms, 1.0, CLIENT_K) == CANFS_PRICE_MAX + terms->epsilon);
	assert_true(canfs_own_price(terms, NAN, CLIENT_K) == CANFS_PRICE_MAX + terms->epsilon);
	for (int step = -10; step <= 1010; step++) {
		double price = canfs_own_price(terms, step / 1000.0, CLIENT_K);

		assert_true(price >= terms->price_min && price >= before);
		assert_true(price <= CANFS_PRICE_MAX + terms->epsilon);
		before = price;
	}
}

static void test_cheaper_place_gets_the_work(void **state)
{
	struct canfs_auction expensive_server = fresh(), cheap_server = fresh();

	(void)state;
	assert_int_equal(expensive_server.verdict, CANFS_HOLD);
	assert_int_equal(canfs_auction_hold(&expensive_server, 0.3, 0.6, 1), CANFS_DEFER);
	assert_int_equal(expensive_server.verdict, CANFS_DEFER);
	assert_int_equal(canfs_auction_hold(&cheap_server, 0.6, 0.3, 1), CANFS_ACCELERATE);
	assert_int_equal(cheap_server.verdict, CANFS_ACCELERATE);
}

static void test_first_auction_is_not_guarded(void **state)
{
	struct canfs_auction auction = fresh();

	(void)state;
	assert_int_equal(canfs_auction_hold(&auction, 0.300, 0.301, 0), CANFS_DEFER);
}

static void test_equal_prices_change_nothing(void **state)
{
	struct canfs_auction first = fresh(), defers = standing(CANFS_DEFER);

	(void)state;
	assert_int_equal(canfs_auction_hold(&first, 0.3, 0.3, 0), CANFS_HOLD);
	assert_int_equal(canfs_auction_hold(&defers, 0.3, 0.3, 10 * DWELL_USEC), CANFS_DEFER);
}

/* §3.2, Pmin: "if neither is congested, operations are performed at the server". */
static void test_both_idle_accelerates(void **state)
{
	struct canfs_auction first = fresh(), defers = standing(CANFS_DEFER);
	double own_price = canfs_own_price(&canfs_auction_defaults, 0.0, CLIENT_K);
	double server_price = canfs_price(0.0, 8);

	(void)state;
	assert_int_equal(canfs_auction_hold(&first, own_price, server_price, 0), CANFS_ACCELERATE);
	/* also out of a deferral, although Pmin is no wider than the hysteresis */
	assert_int_equal(
		canfs_auction_hold(&defers, own_price, server_price, DWELL_USEC), CANFS_ACCELERATE);
}

/* §3.2, Pmax + epsilon: "the client sends the operations to the server". */
static void test_both_overloaded_accelerates(void **state)
{
	struct canfs_auction first = fresh(), defers = standing(CANFS_DEFER);
	double own_price = canfs_own_price(&canfs_auction_defaults, 1.0, CLIENT_K);
	double server_price = canfs_price(1.0, 8);

	(void)state;
	assert_int_equal(canfs_auction_hold(&first, own_price, server_price, 0), CANFS_ACCELERATE);
	assert_int_equal(
		canfs_auction_hold(&defers, own_price, server_price, DWELL_USEC), CANFS_ACCELERATE);
}

static void test_full_client_outbids_a_lying_server(void **state)
{
	struct canfs_auction auction = standing(CANFS_DEFER);
	double own_price = canfs_own_price(&canfs_auction_defaults, 1.0, CLIENT_K);

	(void)state;
	assert_int_equal(canfs_auction_hold(&auction, own_price, 1e6, 1), CANFS_ACCELERATE);
}

static void test_negative_server_price_counts_as_zero(void **state)
{
	struct canfs_auction auction = fresh();

	(void)state;
	assert_int_equal(canfs_auction_hold(&auction, 0.0, -1.0, 0), CANFS_HOLD);
}

static void test_hysteresis(void **state)
{
	struct canfs_auction accelerates = standing(CANFS_ACCELERATE),
			     defers = standing(CANFS_DEFER);
	uint64_t later_usec = 10 * DWELL_USEC;

	(void)state;
	assert_int_equal(
		canfs_auction_hold(&accelerates, 0.5, 0.519, later_usec), CANFS_ACCELERATE);
	assert_int_equal(canfs_auction_hold(&accelerates, 0.5, 0.521, later_usec), CANFS_DEFER);
	assert_int_equal(canfs_auction_hold(&defers, 0.5, 0.501, later_usec), CANFS_DEFER);
	assert_int_equal(canfs_auction_hold(&defers, 0.5, 0.499, later_usec), CANFS_ACCELERATE);
}

static void test_verdict_stands_for_the_dwell_time(void **state)
{
	struct canfs_auction auction = standing(CANFS_DEFER);

	(void)state;
	assert_int_equal(canfs_auction_hold(&auction, 0.5, 0.1, DWELL_USEC - 1), CANFS_DEFER);
	assert_int_equal(canfs_auction_hold(&auction, 0.5, 0.1, DWELL_USEC), CANFS_ACCELERATE);
	assert_int_equal(
		canfs_auction_hold(&auction, 0.5, 0.9, 2 * DWELL_USEC - 1), CANFS_ACCELERATE);
	assert_int_equal(canfs_auction_hold(&auction, 0.5, 0.9, 2 * DWELL_USEC), CANFS_DEFER);
}

static void test_ceiling_bid_does_not_wait(void **state)
{
	struct canfs_auction auction = standing(CANFS_DEFER);
	double own_price = canfs_own_price(&canfs_auction_defaults, 1.0, CLIENT_K);

	(void)state;
	assert_int_equal(canfs_auction_hold(&auction, own_price - 1e-6, 0.9, 1), CANFS_DEFER);
	assert_int_equal(canfs_auction_hold(&auction, own_price, 0.9, 1), CANFS_ACCELERATE);
}

static void test_price_without_a_value_is_no_auction(void **state)
{
	static const double bad[] = { NAN, INFINITY, -INFINITY };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct canfs_auction auction = standing(CANFS_DEFER), first = fresh();

		assert_int_equal(canfs_auction_hold(&auction, bad[i], 0.1, 1000000), CANFS_DEFER);
		assert_int_equal(canfs_auction_hold(&auction, 0.9, bad[i], 1000000), CANFS_DEFER);
		assert_int_equal(canfs_auction_hold(&first, 0.9, bad[i], 0), CANFS_HOLD);
	}
}

/* The verdict is neither changed early by the step nor frozen until the clock has caught up. */
static void test_clock_steps_back(void **state)
{
	struct canfs_auction auction = fresh();
	uint64_t then_usec = UINT64_C(86400000000), now_usec = 5;

	(void)state;
	canfs_auction_hold(&auction, 0.5, 0.9, then_usec);
	assert_int_equal(canfs_auction_hold(&auction, 0.5, 0.1, now_usec), CANFS_DEFER);
	assert_int_equal(
		canfs_auction_hold(&auction, 0.5, 0.1, now_usec + DWELL_USEC - 1), CANFS_DEFER);
	assert_int_equal(
		canfs_auction_hold(&auction, 0.5, 0.1, now_usec + DWELL_USEC), CANFS_ACCELERATE);
}

static void test_reset_forgets_at_once(void **state)
{
	struct canfs_auction auction = standing(CANFS_DEFER);

	(void)state;
	canfs_auction_reset(&auction);
	assert_int_equal(auction.verdict, CANFS_HOLD);
	assert_int_equal(canfs_auction_hold(&auction, 0.5, 0.1, 1), CANFS_ACCELERATE);
}

/* How often the verdict changes in 10 s of auctions, one per 10 ms, around an own price of 0.5. */
static unsigned int changes_in_ten_seconds(double swing)
{
	struct canfs_auction auction = standing(CANFS_ACCELERATE);
	unsigned int changes = 0;

	for (int i = 1; i <= 1000; i++) {
		enum canfs_verdict before = auction.verdict;
		double server_price = 0.5 + (i % 2 ? swing : -swing);

		if (canfs_auction_hold(&auction, 0.5, server_price, (uint64_t)i * 10000) != before)
			changes++;
	}
	return changes;
}

static void test_hovering_price_does_not_flap(void **state)
{
	(void)state;
	/* within the hysteresis: never; beyond it: once per dwell time at most */
	assert_int_equal(changes_in_ten_seconds(0.9 * canfs_auction_defaults.hysteresis), 0);
	assert_in_range(changes_in_ten_seconds(0.4), 1, 10000000 / DWELL_USEC);
}

static void test_verdict_names(void **state)
{
	(void)state;
	assert_string_equal(canfs_verdict_name(CANFS_HOLD), "hold");
	assert_string_equal(canfs_verdict_name(CANFS_ACCELERATE), "accelerate");
	assert_string_equal(canfs_verdict_name(CANFS_DEFER), "defer");
	assert_string_equal(canfs_verdict_name((enum canfs_verdict)7), "hold");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_price_has_floor_and_ceiling),
		cmocka_unit_test(test_cheaper_place_gets_the_work),
		cmocka_unit_test(test_first_auction_is_not_guarded),
		cmocka_unit_test(test_equal_prices_change_nothing),
		cmocka_unit_test(test_both_idle_accelerates),
		cmocka_unit_test(test_both_overloaded_accelerates),
		cmocka_unit_test(test_full_client_outbids_a_lying_server),
		cmocka_unit_test(test_negative_server_price_counts_as_zero),
		cmocka_unit_test(test_hysteresis),
		cmocka_unit_test(test_verdict_stands_for_the_dwell_time),
		cmocka_unit_test(test_ceiling_bid_does_not_wait),
		cmocka_unit_test(test_price_without_a_value_is_no_auction),
		cmocka_unit_test(test_clock_steps_back),
		cmocka_unit_test(test_reset_forgets_at_once),
		cmocka_unit_test(test_hovering_price_does_not_flap),
		cmocka_unit_test(test_verdict_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
