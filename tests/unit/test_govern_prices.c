// SPDX-License-Identifier: LGPL-3.0-or-later
/* The prices that a job goes by, of a server that pushes them: which is in force, and when there is something to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canfsctl/run/prices.h"
#include "tests/unit/liar.h"

#define SECOND UINT64_C(1000000)

/* Its NFS answers nobody. */
static struct canfs_job_prices *prices_of(const struct liar *liar)
{
	const struct canfs_fsstat_target endpoint = { .address = liar->address,
		.nfs_port = 1,
		.mount_port = 1,
		.version = 3,
		.path = "/srv/data" };
	struct canfs_job_prices *prices = calloc(1, sizeof(*prices));

	assert_non_null(prices);
	prices->service_port = liar_port(liar);
	assert_int_equal(canfs_job_prices_add_endpoints(prices, "liar:/srv/data", &endpoint, 1), 0);
	return prices;
}

static void end(struct canfs_job_prices *prices, struct liar *liar)
{
	canfs_job_prices_fini(prices);
	free(prices);
	close(liar->fd);
}

static uint64_t due_usec(const struct canfs_job_prices *prices, uint64_t now_usec)
{
	struct pollfd polled[CANFS_JOB_POLLED_MAX];
	uint64_t due = UINT64_MAX;

	assert_int_equal(canfs_job_prices_poll(prices, polled, now_usec, &due), 2);
	assert_int_equal(polled[1].fd, prices->server[0].poller.subscription.fd);
	return due;
}

static void tick_after_datagram(struct canfs_job_prices *prices, uint64_t now_usec)
{
	assert_true(wait_for_datagram(prices->server[0].poller.subscription.fd));
	canfs_job_prices_tick(prices, now_usec);
}

/* Until NFS has been asked, and the service. */
static void subscribe(
	struct canfs_job_prices *prices, struct liar *liar, uint64_t now_usec, double price)
{
	for (int i = 0; prices->server[0].poller.subscription.calls == 0; i++) {
		assert_true(i < 1000);
		poll(NULL, 0, 1); /* for the loopback to refuse the connection */
		canfs_job_prices_tick(prices, now_usec);
	}
	assert_true(due_usec(prices, now_usec) > now_usec);
	liar_hear_call(liar);
	liar_answer(liar, liar->call.xid, price);
	tick_after_datagram(prices, now_usec);
}

static void test_what_is_pushed_is_in_force(void **state)
{
	const struct canfs_job_server *server = NULL;
	uint64_t now_usec = 100 * SECOND;
	struct canfs_govern_price price;
	struct canfs_job_prices *prices;
	struct liar liar;

	(void)state;
	liar_open(&liar);
	prices = prices_of(&liar);
	assert_true(isnan(canfs_job_prices_now(prices, now_usec, NULL).price));
	subscribe(prices, &liar, now_usec, 0.25);
	price = canfs_job_prices_now(prices, now_usec + SECOND, &server);
	assert_true(price.price == 0.25 && price.usec == now_usec);
	assert_ptr_equal(server, &prices->server[0]);
	assert_int_equal(canfs_job_prices_source(server, now_usec), CANFS_SOURCE_SERVICE);
	assert_int_equal(canfs_job_prices_state(prices, now_usec), CANFS_JOB_PRICES_IN_FORCE);

	now_usec += SECOND;
	liar_push(&liar, 1, 0.75);
	tick_after_datagram(prices, now_usec);
	price = canfs_job_prices_now(prices, now_usec, NULL);
	assert_true(price.price == 0.75 && price.usec == now_usec);

	canfs_job_prices_forget(prices);
	assert_true(isnan(canfs_job_prices_now(prices, now_usec, NULL).price));
	end(prices, &liar);
}

/* Nothing to do but to listen, until it has been silent for too long, and then not in a hurry; what it said last holds. */
static void test_when_something_is_due(void **state)
{
	uint64_t now_usec = 100 * SECOND, lost_usec = now_usec + CANFS_PUSH_LOST_USEC;
	uint64_t held_until_usec = now_usec + 10 * SECOND;
	struct canfs_job_prices *prices;
	uint64_t questions, calls = 1;
	struct liar liar;

	(void)state;
	liar_open(&liar);
	prices = prices_of(&liar);
	subscribe(prices, &liar, now_usec, 0.25);
	questions = prices->server[0].poller.questions;
	assert_int_equal(due_usec(prices, now_usec), lost_usec);
	for (; now_usec < lost_usec; now_usec += SECOND / 10) {
		canfs_job_prices_tick(prices, now_usec);
		assert_int_equal(due_usec(prices, now_usec), lost_usec);
	}
	assert_int_equal(prices->server[0].poller.questions, questions);
	assert_int_equal(prices->server[0].poller.subscription.calls, calls);
	canfs_job_prices_tick(prices, now_usec);
	assert_int_equal(prices->server[0].poller.subscription.calls, calls + 1);
	assert_int_equal(prices->server[0].poller.questions, questions + 1);
	for (int i = 0; i < 100; i++) {
		poll(NULL, 0, 1);
		canfs_job_prices_tick(prices, now_usec);
		assert_true(due_usec(prices, now_usec) > now_usec);
		assert_int_equal(canfs_job_prices_state(prices, now_usec),
			now_usec <= held_until_usec ? CANFS_JOB_PRICES_IN_FORCE
						    : CANFS_JOB_PRICES_SILENT);
		now_usec += SECOND / 10;
	}
	end(prices, &liar);
}

/* It is to be said of a server that has several endpoints, too. */
static void test_a_server_that_answered_and_is_gone(void **state)
{
	struct canfs_fsstat_target endpoints[2];
	struct canfs_job_prices *prices = calloc(1, sizeof(*prices));
	struct canfs_poller *poller = &prices->server[0].poller;
	const char *why = NULL;

	(void)state;
	endpoints[0] = endpoints[1] = (struct canfs_fsstat_target) {
		.address = loopback(1), .nfs_port = 1, .mount_port = 1, .path = "/"
	};
	assert_int_equal(canfs_job_prices_add_endpoints(prices, "gone:/", endpoints, 2), 0);
	assert_int_equal(canfs_job_prices_state(prices, SECOND), CANFS_JOB_PRICES_ASKED);
	poller->answers = 1;
	poller->publisher.valid = 1;
	assert_int_equal(canfs_job_prices_state(prices, SECOND), CANFS_JOB_PRICES_ASKED);
	poller->failures = 1;
	assert_int_equal(canfs_job_prices_state(prices, SECOND), CANFS_JOB_PRICES_SILENT);
	assert_ptr_equal(canfs_job_prices_silent(prices, &why), &prices->server[0]);
	canfs_job_prices_fini(prices);
	free(prices);
}

static void test_port_0_is_no_service(void **state)
{
	struct liar liar = { .fd = -1, .address = loopback(1) };
	struct canfs_job_prices *prices = prices_of(&liar);

	(void)state;
	canfs_job_prices_fini(prices);
	prices->service_port = 0;
	assert_int_equal(canfs_job_prices_add_endpoints(prices, "nobody:/",
				 &(struct canfs_fsstat_target) { .address = liar.address,
					 .nfs_port = 1,
					 .mount_port = 1,
					 .path = "/" },
				 1),
		0);
	for (uint64_t now_usec = SECOND; now_usec < 10 * SECOND; now_usec += SECOND)
		canfs_job_prices_tick(prices, now_usec);
	assert_int_equal(prices->server[0].poller.subscription.fd, -1);
	assert_int_equal(prices->server[0].poller.subscription.calls, 0);
	canfs_job_prices_fini(prices);
	free(prices);
}

/* Hundreds of binds of one super block need one question. */
static void test_the_servers_of_mounts(void **state)
{
	struct canfs_job_prices *prices = calloc(1, sizeof(*prices));
	struct canfs_mount mount = { .version = 3,
		.address.ss_family = AF_INET,
		.mountpoint = "/nonexistent",
		.export_path = "/" };

	(void)state;
	assert_non_null(prices);
	for (unsigned int i = 0; i < 300; i++) {
		mount.bdi.minor = 41 + i / 100;
		snprintf(mount.source, sizeof(mount.source), "srv:/export/%u", i);
		assert_int_equal(canfs_job_prices_add_mount(prices, &mount), 0);
	}
	assert_int_equal(prices->n, 3);
	mount.bdi.minor = 99;
	strcpy(mount.source, "srv:/export/200");
	assert_int_equal(canfs_job_prices_add_mount(prices, &mount), 0); /* by its name */
	assert_int_equal(prices->n, 3);
	for (unsigned int i = 3; i <= CANFS_JOB_SERVERS_MAX; i++) {
		mount.bdi.minor++;
		snprintf(mount.source, sizeof(mount.source), "other:/export/%u", i);
		assert_int_equal(canfs_job_prices_add_mount(prices, &mount),
			i < CANFS_JOB_SERVERS_MAX ? 0 : -ENOSPC);
	}
	canfs_job_prices_fini(prices);
	free(prices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_servers_of_mounts),
		cmocka_unit_test(test_what_is_pushed_is_in_force),
		cmocka_unit_test(test_when_something_is_due),
		cmocka_unit_test(test_a_server_that_answered_and_is_gone),
		cmocka_unit_test(test_port_0_is_no_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
