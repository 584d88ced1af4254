// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * A subscription beside a server that is not ours: when it asks, and what forged, repeated and lost datagrams do. Time is made
 * up, and only waited for where a datagram must arrive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client-agent/auction/poller.h"
#include "protocol/subscription.h"
#include "tests/unit/liar.h"

#define SECOND UINT64_C(1000000)

static double price_of(const struct canfs_subscription *subscription)
{
	return subscription->prices.quote[CANFS_WRITE].price;
}

static void answer_ok(struct liar *liar, uint32_t xid)
{
	liar_answer(liar, xid, 0);
}

static void push_number(struct liar *liar, uint32_t number, uint8_t spoil)
{
	liar->call.request.token[0] ^= spoil;
	liar_push(liar, number, number / 100.0);
	liar->call.request.token[0] ^= spoil;
}

static bool tick_after_datagram(struct canfs_subscription *subscription, uint64_t now_usec)
{
	assert_true(wait_for_datagram(subscription->fd));
	return canfs_subscription_tick(subscription, now_usec);
}

static void open_liar(struct liar *liar, struct canfs_subscription *subscription)
{
	liar_open(liar);
	assert_int_equal(canfs_subscription_open(subscription, &liar->address, liar_port(liar), 3,
				 "/srv/data", false, 1),
		0);
}

static void subscribe_to_liar(
	struct liar *liar, struct canfs_subscription *subscription, uint64_t now_usec)
{
	open_liar(liar, subscription);
	assert_false(canfs_subscription_tick(subscription, now_usec));
	liar_hear_call(liar);
	answer_ok(liar, liar->call.xid);
	assert_true(tick_after_datagram(subscription, now_usec));
}

static void what_is_forged_late_or_no_datagram_changes_nothing(void **state)
{
	struct canfs_subscription subscription;
	uint64_t now_usec = 100 * SECOND;
	struct liar liar;

	(void)state;
	subscribe_to_liar(&liar, &subscription, now_usec);
	push_number(&liar, 3, 0);
	assert_true(tick_after_datagram(&subscription, now_usec));
	assert_true(price_of(&subscription) == 0.03);
	assert_int_equal(subscription.lost, 2);

	push_number(&liar, 3, 0);
	assert_false(tick_after_datagram(&subscription, now_usec));
	push_number(&liar, 2, 0);
	assert_false(tick_after_datagram(&subscription, now_usec));
	assert_int_equal(subscription.late, 2);
	push_number(&liar, 4, 1);
	assert_false(tick_after_datagram(&subscription, now_usec));
	answer_ok(&liar, liar.call.xid + 1); /* nobody has asked again */
	assert_false(tick_after_datagram(&subscription, now_usec));
	assert_int_equal(subscription.forged, 2);
	answer_ok(&liar, liar.call.xid); /* it came before */
	assert_false(tick_after_datagram(&subscription, now_usec));
	assert_int_equal(subscription.late, 3);
	liar_send(&liar, "?", 1);
	assert_false(tick_after_datagram(&subscription, now_usec));
	assert_int_equal(subscription.malformed, 1);
	assert_true(price_of(&subscription) == 0.03);
	canfs_subscription_close(&subscription);
	close(liar.fd);
}

static void silence_begins_anew_with_another_token(void **state)
{
	struct canfs_subscription subscription;
	uint64_t now_usec = 100 * SECOND;
	struct canfs_price_call first;
	struct liar liar;

	(void)state;
	subscribe_to_liar(&liar, &subscription, now_usec);
	first = liar.call;
	now_usec += CANFS_PUSH_LOST_USEC - 1;
	assert_true(canfs_subscription_is_current(&subscription, now_usec));
	canfs_subscription_tick(&subscription, now_usec);
	assert_int_equal(subscription.calls, 1);
	now_usec++;
	assert_false(canfs_subscription_is_current(&subscription, now_usec));
	canfs_subscription_tick(&subscription, now_usec);
	liar_hear_call(&liar);
	assert_memory_not_equal(
		liar.call.request.token, first.request.token, sizeof(first.request.token));
	/* Without an answer it is asked less and less. */
	for (unsigned int asked = 2; asked < 7; asked++) {
		assert_int_equal(subscription.calls, asked);
		now_usec += SECOND / 2 << (asked - 2);
		canfs_subscription_tick(&subscription, now_usec);
		assert_int_equal(subscription.calls, asked);
		now_usec += SECOND << (asked - 2);
		canfs_subscription_tick(&subscription, now_usec);
	}
	canfs_subscription_close(&subscription);
	close(liar.fd);
}

/* A push each second until the lease is to be renewed, which the server has heard then. */
static void push_until_renewal(
	struct liar *liar, struct canfs_subscription *subscription, uint64_t *now_usec)
{
	while (subscription->calls == 1 && *now_usec < subscription->lease_end_usec) {
		*now_usec += SECOND;
		push_number(liar, subscription->number + 1, 0);
		assert_true(tick_after_datagram(subscription, *now_usec));
	}
	liar_hear_call(liar);
}

static void a_lease_is_renewed_at_its_half(void **state)
{
	struct canfs_subscription subscription;
	uint64_t now_usec = 100 * SECOND, end_usec = 160 * SECOND;
	struct liar liar;

	(void)state;
	subscribe_to_liar(&liar, &subscription, now_usec);
	push_until_renewal(&liar, &subscription, &now_usec);
	assert_in_range(end_usec - now_usec, 20 * SECOND, 40 * SECOND);
	answer_ok(&liar, liar.call.xid);
	assert_true(tick_after_datagram(&subscription, now_usec));
	assert_true(canfs_subscription_is_current(&subscription, now_usec));
	assert_true(subscription.lease_end_usec > end_usec);
	canfs_subscription_close(&subscription);
	close(liar.fd);
}

static void a_reply_does_not_undo_a_push_that_has_overtaken_it(void **state)
{
	struct canfs_subscription subscription;
	uint64_t now_usec = 100 * SECOND;
	struct liar liar;

	(void)state;
	subscribe_to_liar(&liar, &subscription, now_usec);
	push_until_renewal(&liar, &subscription, &now_usec);
	push_number(&liar, 99, 0);
	assert_true(tick_after_datagram(&subscription, now_usec + 1));
	answer_ok(&liar, liar.call.xid); /* of price 0 */
	assert_false(tick_after_datagram(&subscription, now_usec + 2));
	assert_true(price_of(&subscription) == 0.99);
	assert_true(subscription.lease_end_usec == now_usec + 2 + 60 * SECOND);
	canfs_subscription_close(&subscription);
	close(liar.fd);
}

/* A server goes on to push until the lease ends. */
static void pushes_after_a_refusal_are_not_forged(void **state)
{
	struct canfs_price_result refusal = { .status = CANFS_STATUS_ACCESS };
	struct canfs_subscription subscription;
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	uint64_t now_usec = 100 * SECOND;
	struct liar liar;

	(void)state;
	subscribe_to_liar(&liar, &subscription, now_usec);
	push_until_renewal(&liar, &subscription, &now_usec);
	liar_send(&liar, datagram, canfs_price_encode_reply(datagram, &liar.call, &refusal));
	assert_false(tick_after_datagram(&subscription, now_usec));
	assert_false(canfs_subscription_is_current(&subscription, now_usec));
	push_number(&liar, subscription.number + 1, 0);
	assert_false(tick_after_datagram(&subscription, now_usec));
	assert_int_equal(subscription.forged, 0);
	assert_int_equal(subscription.late, 1);
	canfs_subscription_close(&subscription);
	close(liar.fd);
}

/* Anybody can send that the port is closed. */
static void a_refused_port_ends_no_subscription(void **state)
{
	struct canfs_subscription subscription;
	uint64_t now_usec = 100 * SECOND;
	struct liar liar;

	(void)state;
	subscribe_to_liar(&liar, &subscription, now_usec);
	close(liar.fd);
	assert_int_equal(send(subscription.fd, "", 1, 0), 1);
	assert_true(wait_for_datagram(subscription.fd)); /* the error */
	assert_false(canfs_subscription_tick(&subscription, now_usec));
	assert_true(canfs_subscription_is_current(&subscription, now_usec));
	canfs_subscription_close(&subscription);
}

/* As after a change of this host's address. */
static void a_dead_socket_is_replaced(void **state)
{
	struct canfs_subscription subscription;
	uint64_t now_usec = 100 * SECOND;
	struct liar liar;
	int dead = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	(void)state;
	subscribe_to_liar(&liar, &subscription, now_usec);
	assert_int_equal(dup2(dead, subscription.fd), subscription.fd);
	close(dead);
	now_usec += CANFS_PUSH_LOST_USEC;
	assert_false(canfs_subscription_tick(&subscription, now_usec));
	liar_hear_call(&liar);
	answer_ok(&liar, liar.call.xid);
	assert_true(tick_after_datagram(&subscription, now_usec));
	canfs_subscription_close(&subscription);
	close(liar.fd);
}

/* While prices are pushed FSSTAT is asked once in pushed_usec, however much a client holds. */
static void pushes_spare_questions(void **state)
{
	struct canfs_poller poller = { .terms = canfs_poller_defaults,
		.phase = 1,
		.source = CANFS_SOURCE_SERVICE,
		.questions = 1,
		.asked_usec = 100 * SECOND,
		.publisher = { .valid = CANFS_TAGS_TO_BELIEVE, .believed = true } };
	struct canfs_fsstat_target target = { .address = loopback(0),
		.nfs_port = 1,
		.path = "/srv/data",
		.handle = (const uint8_t *)"h",
		.handle_len = 1 };
	struct canfs_subscription *subscription = &poller.subscription;

	(void)state;
	assert_int_equal(canfs_fsstat_new(&poller.fsstat, &target), 0);
	*subscription =
		(struct canfs_subscription) { .fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
			.lease_end_usec = UINT64_MAX,
			.ask_usec = UINT64_MAX };
	for (uint64_t now_usec = 100 * SECOND; now_usec < 130 * SECOND; now_usec += SECOND / 10) {
		subscription->answered_usec = now_usec;
		canfs_poller_tick(&poller, now_usec, 1000, CANFS_STAKE_LARGE);
		assert_int_equal(poller.questions, 1);
	}
	canfs_poller_tick(&poller, 130 * SECOND, 1000, CANFS_STAKE_LARGE);
	assert_int_equal(poller.questions, 2);
	subscription->lease_end_usec = 0; /* nobody to tell of the end */
	canfs_poller_fini(&poller);
}

static void a_closed_port_is_told(void **state)
{
	struct canfs_subscription subscription;
	uint64_t now_usec = 100 * SECOND;
	struct liar liar;

	(void)state;
	open_liar(&liar, &subscription);
	close(liar.fd);
	assert_false(canfs_subscription_tick(&subscription, now_usec));
	assert_int_equal(subscription.network_error, 0);
	assert_false(tick_after_datagram(&subscription, now_usec)); /* it comes back */
	assert_int_equal(subscription.network_error, ECONNREFUSED);
	assert_false(canfs_subscription_is_current(&subscription, now_usec));
	canfs_subscription_close(&subscription);
	subscribe_to_liar(&liar, &subscription, now_usec);
	assert_int_equal(subscription.network_error, 0);
	canfs_subscription_close(&subscription);
	close(liar.fd);
}

static void port_0_is_no_service(void **state)
{
	struct sockaddr_storage server = loopback(0);
	struct canfs_subscription subscription;

	(void)state;
	assert_int_equal(
		canfs_subscription_open(&subscription, &server, 0, 3, "/srv/data", false, 1), 0);
	assert_false(canfs_subscription_has_service(&subscription));
	assert_false(canfs_subscription_tick(&subscription, SECOND));
	assert_false(canfs_subscription_is_current(&subscription, SECOND));
	canfs_subscription_forget(&subscription);
	canfs_subscription_close(&subscription);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_forged_late_or_no_datagram_changes_nothing),
		cmocka_unit_test(silence_begins_anew_with_another_token),
		cmocka_unit_test(a_lease_is_renewed_at_its_half),
		cmocka_unit_test(a_reply_does_not_undo_a_push_that_has_overtaken_it),
		cmocka_unit_test(pushes_after_a_refusal_are_not_forged),
		cmocka_unit_test(a_refused_port_ends_no_subscription),
		cmocka_unit_test(a_dead_socket_is_replaced),
		cmocka_unit_test(pushes_spare_questions),
		cmocka_unit_test(a_closed_port_is_told),
		cmocka_unit_test(port_0_is_no_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
