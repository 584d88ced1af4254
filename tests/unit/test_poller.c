// SPDX-License-Identifier: LGPL-3.0-or-later
/* When a question is due (CA-NFS §3.4), and what counts as a price. The wire is test_fsstat.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>

#include "client-agent/auction/poller.h"

static struct canfs_poller asked_at(uint64_t now_usec)
{
	return (struct canfs_poller) {
		.terms = canfs_poller_defaults,
		.phase = 1,
		.questions = 1,
		.asked_usec = now_usec,
		.publisher = { .valid = CANFS_TAGS_TO_BELIEVE, .believed = true },
		.tag = { .write = 0.5 },
		.tag_usec = now_usec,
	};
}

static void test_first_question_is_due_at_once(void **state)
{
	struct canfs_poller poller = { .terms = canfs_poller_defaults, .phase = 1 };

	(void)state;
	assert_int_equal(canfs_poller_due_usec(&poller, 0, CANFS_STAKE_NONE), 0);
}

static void test_ten_rpcs_or_ten_seconds(void **state)
{
	struct canfs_poller poller = asked_at(1000000);

	(void)state;
	assert_int_equal(
		canfs_poller_due_usec(&poller, CANFS_POLLER_RPCS - 1, CANFS_STAKE_NONE), 11000000);
	assert_int_equal(
		canfs_poller_due_usec(&poller, CANFS_POLLER_RPCS, CANFS_STAKE_NONE), 2000000);
}

static void test_who_holds_data_keeps_asking(void **state)
{
	struct canfs_poller poller = asked_at(1000000);

	(void)state;
	assert_int_equal(canfs_poller_due_usec(&poller, 0, CANFS_STAKE_LARGE), 1250000);
	assert_int_equal(
		canfs_poller_due_usec(&poller, CANFS_POLLER_RPCS, CANFS_STAKE_LARGE), 1100000);
}

/* Nothing of it is sent before the next price but one. */
static void test_a_small_stake_asks_once_a_second(void **state)
{
	struct canfs_poller poller = asked_at(1000000);

	(void)state;
	assert_int_equal(canfs_poller_due_usec(&poller, 0, CANFS_STAKE_SMALL), 2000000);
	assert_int_equal(
		canfs_poller_due_usec(&poller, CANFS_POLLER_RPCS, CANFS_STAKE_SMALL), 2000000);
}

static void test_belief_is_settled_quickly(void **state)
{
	struct canfs_poller poller = asked_at(1000000);

	(void)state;
	poller.publisher = (struct canfs_publisher) { .valid = 1 };
	assert_int_equal(canfs_poller_due_usec(&poller, 0, CANFS_STAKE_NONE), 1100000);
	assert_null(canfs_poller_price(&poller, 1000000));
}

static void test_a_server_without_prices_is_left_alone(void **state)
{
	struct canfs_poller poller = asked_at(1000000);

	(void)state;
	poller.publisher = (struct canfs_publisher) { 0 };
	assert_int_equal(canfs_poller_due_usec(&poller, 1000, CANFS_STAKE_LARGE), 11000000);
}

static void test_failures_back_off_to_the_idle_interval(void **state)
{
	struct canfs_poller poller = asked_at(0);
	uint64_t last = 0;

	(void)state;
	for (unsigned int failures = 1; failures < 100; failures++) {
		poller.failures = failures;
		uint64_t due = canfs_poller_due_usec(&poller, 1000, CANFS_STAKE_LARGE);
		assert_true(due >= last && due <= poller.terms.idle_usec);
		last = due;
	}
	assert_int_equal(last, poller.terms.idle_usec);
}

static void test_an_old_price_is_none(void **state)
{
	struct canfs_poller poller = asked_at(1000000);

	(void)state;
	assert_non_null(canfs_poller_price(&poller, 1000000 + poller.terms.lost_usec));
	assert_null(canfs_poller_price(&poller, 1000001 + poller.terms.lost_usec));
}

/* The clock stood still meanwhile: by it the price would still be good. */
static void test_a_price_from_before_a_suspend_is_none(void **state)
{
	struct canfs_poller poller = asked_at(100000000);

	(void)state;
	poller.failures = 9;
	canfs_poller_forget_price(&poller);
	assert_null(canfs_poller_price(&poller, 100000001));
	assert_true(canfs_poller_due_usec(&poller, 0, CANFS_STAKE_NONE) < 100000001);
	assert_true(poller.publisher.believed); /* one new price is enough */
}

static void test_a_dead_server_is_asked_without_blocking(void **state)
{
	struct sockaddr_in nowhere = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct canfs_fsstat_target target = { .nfs_port = 1, .mount_port = 1, .path = "/" };
	struct canfs_poller poller;

	(void)state;
	memcpy(&target.address, &nowhere, sizeof(nowhere));
	assert_int_equal(canfs_poller_init(&poller, &target, &canfs_poller_defaults, 7), 0);
	for (uint64_t now = 1; now < 100000000;
		now += 1000000) /* its deadline is 2 s of our clock */
		assert_false(canfs_poller_tick(&poller, now, 0, CANFS_STAKE_LARGE));
	assert_null(canfs_poller_price(&poller, 1));
	assert_true(poller.failures > 3 && poller.questions < 40);
	canfs_poller_fini(&poller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_question_is_due_at_once),
		cmocka_unit_test(test_ten_rpcs_or_ten_seconds),
		cmocka_unit_test(test_who_holds_data_keeps_asking),
		cmocka_unit_test(test_a_small_stake_asks_once_a_second),
		cmocka_unit_test(test_belief_is_settled_quickly),
		cmocka_unit_test(test_a_server_without_prices_is_left_alone),
		cmocka_unit_test(test_failures_back_off_to_the_idle_interval),
		cmocka_unit_test(test_an_old_price_is_none),
		cmocka_unit_test(test_a_price_from_before_a_suspend_is_none),
		cmocka_unit_test(test_a_dead_server_is_asked_without_blocking),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
