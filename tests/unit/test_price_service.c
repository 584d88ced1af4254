// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The price service and a subscription to it, over real sockets: what comes when, and who gets nothing. The market's steps are made
 * here; time is only waited for where a datagram must arrive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client-agent/auction/poller.h"
#include "common/clock.h"
#include "protocol/subscription.h"
#include "server/price-service/price_service.h"
#include "tests/unit/datagrams.h"
#include "tests/unit/fake_root.h"

#define SECOND   UINT64_C(1000000)
#define ANY_PORT 0

static struct fake_root root;
static struct canfs_sampler *sampler;
static struct canfs_price_table *prices; /* of /srv/data */
static struct canfs_price_service *service;
static bool admits;
static struct canfs_shared_classes classes;

static void say(const char *message)
{
	(void)message;
}

static int with_export(void *host, const char *name, uint32_t nfs_version,
	const struct sockaddr_storage *client,
	void (*use)(struct canfs_price_table *prices, void *arg), void *arg)
{
	(void)host;
	assert_int_equal(client->ss_family, AF_INET);
	if (!admits)
		return -EACCES;
	if (nfs_version != 3 || strcmp(name, "/srv/data") != 0)
		return -ENOENT;
	use(prices, arg);
	return 0;
}

/* Whose price is that of so much dirty memory. */
static void step(unsigned int dirty_pages)
{
	char text[128];

	snprintf(text, sizeof(text), "nr_dirty %u\nnr_writeback 0\nnr_dirty_threshold 100\n",
		dirty_pages);
	fake_root_write(&root, "/proc/vmstat", text);
	canfs_sampler_step(sampler, canfs_now_usec());
}

static void start_service(void)
{
	struct canfs_price_service_config config = {
		.port = ANY_PORT, .with_export = with_export, .classes = &classes
	};

	assert_int_equal(canfs_price_service_start(&service, &config), 0);
	canfs_sampler_tell(sampler, canfs_price_service_posted, service);
}

static void stop_service(void)
{
	canfs_sampler_tell(sampler, NULL, NULL);
	canfs_price_service_stop(service);
}

static int set_up(void **state)
{
	struct canfs_sampler_config market = { .interval_ms = 100,
		.publish = true,
		.monitors = 1u << CANFS_MEMORY,
		.setup.root = root.path,
		.say = say };

	(void)state;
	fake_root_make(&root);
	admits = true;
	assert_int_equal(canfs_sampler_new(&sampler, &market), 0);
	assert_int_equal(canfs_price_table_open(&prices, sampler, "/srv/data", 0, NULL), 0);
	start_service();
	step(50);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	canfs_price_service_forget(service, prices);
	stop_service();
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
	canfs_shared_classes_free(&classes);
	fake_root_remove(&root);
	return 0;
}

static struct canfs_price_service_counters counters(void)
{
	struct canfs_price_service_counters now;

	canfs_price_service_count(service, &now);
	return now;
}

static void subscribe(struct canfs_subscription *subscription)
{
	struct sockaddr_storage server = loopback(0);

	assert_int_equal(canfs_subscription_open(subscription, &server,
				 canfs_price_service_port(service), 3, "/srv/data", false, 1),
		0);
}

/* Until there are new prices. */
static void await_prices(struct canfs_subscription *subscription)
{
	while (!canfs_subscription_tick(subscription, canfs_now_usec()))
		assert_true(wait_for_datagram(subscription->fd));
}

static double price_of(const struct canfs_subscription *subscription)
{
	return subscription->prices.quote[CANFS_WRITE].price;
}

/* What has not moved is pushed as well, once in a while. */
static void await_price(struct canfs_subscription *subscription, double price)
{
	do
		await_prices(subscription);
	while (price_of(subscription) != price);
}

static void moves_are_pushed(void **state)
{
	struct canfs_subscription subscription;
	double half;

	(void)state;
	subscribe(&subscription);
	await_prices(&subscription);
	assert_true(canfs_subscription_is_current(&subscription, canfs_now_usec()));
	assert_int_equal(subscription.calls, 2); /* the first one for the cookie */
	assert_int_equal(subscription.prices.quote[CANFS_WRITE].bottleneck, CANFS_MEMORY);
	half = price_of(&subscription);
	assert_true(half > 0 && half < 1);
	step(100);
	await_price(&subscription, 1);
	step(50);
	await_price(&subscription, half);
	assert_true(subscription.pushes >= 2);
	assert_int_equal(subscription.calls, 2);
	assert_int_equal(counters().of_table.subscribers, 1);
	while (counters().pushes < 2) /* counted after they are sent */
		usleep(1000);
	canfs_subscription_close(&subscription);
	while (counters().of_table.subscribers > 0)
		usleep(1000);
}

/* Everybody here is of one class, or of none. */
static void set_premium(int premium_pct)
{
	struct canfs_classes now = { .count = 0 };
	char error[CANFS_CLASS_ERROR_MAX];

	if (premium_pct != 0) {
		assert_int_equal(canfs_classes_add_word(&now, "127.0.0.0/8", NULL, NULL, error), 0);
		assert_int_equal(canfs_classes_end(&now, "local", premium_pct, error), 0);
	}
	assert_int_equal(canfs_shared_classes_set(&classes, &now), 1);
}

static void a_class_is_told_its_premium(void **state)
{
	struct canfs_subscription subscription;
	double market;

	(void)state;
	subscribe(&subscription);
	await_prices(&subscription);
	market = price_of(&subscription);
	/* A subscriber of before is told of the classes that hold now. */
	set_premium(50);
	step(50);
	await_prices(&subscription);
	assert_true(fabs(price_of(&subscription) - market * 1.5) < 1e-9);
	canfs_subscription_close(&subscription);
	/* A new one has it in the first answer. */
	set_premium(-50);
	subscribe(&subscription);
	await_prices(&subscription);
	assert_true(fabs(price_of(&subscription) - market / 2) < 1e-9);
	step(100);
	await_prices(&subscription);
	assert_float_equal(price_of(&subscription), 0.5, 1e-6);
	set_premium(0);
	step(100);
	await_prices(&subscription);
	assert_true(price_of(&subscription) == 1);
	assert_true(classes.told > 0);
	canfs_subscription_close(&subscription);
}

static void a_drained_server_gives_no_discount(void **state)
{
	struct canfs_settings before, after;
	struct canfs_subscription subscription;

	(void)state;
	set_premium(-50);
	subscribe(&subscription);
	await_prices(&subscription);
	assert_true(price_of(&subscription) < 0.5);
	canfs_sampler_settings(sampler, &before);
	after = before;
	after.drain = true;
	assert_int_equal(canfs_sampler_set(sampler, &before, &after), 0);
	step(50);
	await_prices(&subscription);
	assert_true(price_of(&subscription) == 1);
	canfs_subscription_close(&subscription);
}

static void whoever_is_not_admitted_gets_nothing(void **state)
{
	struct canfs_subscription subscription;

	(void)state;
	admits = false;
	subscribe(&subscription);
	while (subscription.status != CANFS_STATUS_ACCESS) {
		assert_false(canfs_subscription_tick(&subscription, canfs_now_usec()));
		if (subscription.status != CANFS_STATUS_ACCESS)
			assert_true(wait_for_datagram(subscription.fd));
	}
	assert_false(canfs_subscription_is_current(&subscription, canfs_now_usec()));
	/* It is counted once the answer is on its way. */
	while (counters().denied == 0)
		usleep(1000);
	assert_int_equal(counters().denied, 1);
	assert_int_equal(counters().of_table.subscribers, 0);
	step(100);
	/* Not again at once, and then again. */
	canfs_subscription_tick(&subscription, canfs_now_usec());
	assert_int_equal(subscription.calls, 2);
	canfs_subscription_tick(&subscription, canfs_now_usec() + 2 * SECOND);
	assert_int_equal(subscription.calls, 3);
	canfs_subscription_close(&subscription);
}

/* The service answers the call after whatever it had to tell before that. */
static bool is_told_anything(struct canfs_subscription *subscription)
{
	struct canfs_subscription another;
	uint64_t pushes = subscription->pushes;

	subscribe(&another);
	await_prices(&another);
	canfs_subscription_close(&another);
	canfs_subscription_tick(subscription, canfs_now_usec());
	return subscription->pushes != pushes;
}

static void an_export_that_goes_is_told_of_no_more(void **state)
{
	struct canfs_subscription subscription;

	(void)state;
	subscribe(&subscription);
	await_prices(&subscription);
	canfs_price_service_forget(service, prices);
	assert_int_equal(counters().of_table.subscribers, 0);
	step(100);
	step(50);
	assert_false(is_told_anything(&subscription));
	canfs_subscription_close(&subscription);
}

/* However seldom the market computes: a subscriber that hears nothing for two seconds would give up. */
static void what_does_not_move_is_pushed_too(void **state)
{
	struct canfs_subscription subscription;
	uint64_t begin_usec = canfs_now_usec();

	(void)state;
	subscribe(&subscription);
	await_prices(&subscription);
	await_prices(&subscription); /* without a step */
	assert_int_equal(subscription.pushes, 1);
	assert_in_range(canfs_now_usec() - begin_usec, CANFS_PUSH_QUIET_USEC, UINT64_MAX);
	canfs_subscription_close(&subscription);
}

/* Prices that are not published are not pushed either. */
static void without_prices_there_is_nothing_to_push(void **state)
{
	struct canfs_subscription told, refused;
	struct canfs_settings before, after;
	double price;

	(void)state;
	subscribe(&told);
	await_prices(&told);
	price = price_of(&told);
	canfs_sampler_settings(sampler, &before);
	after = before;
	after.publish = false;
	assert_int_equal(canfs_sampler_set(sampler, &before, &after), 0);
	step(60);
	subscribe(&refused);
	while (refused.status != CANFS_STATUS_NONE) {
		assert_false(canfs_subscription_tick(&refused, canfs_now_usec()));
		if (refused.status != CANFS_STATUS_NONE)
			assert_true(wait_for_datagram(refused.fd));
	}
	assert_int_equal(counters().of_table.subscribers, 1);
	canfs_subscription_tick(&told, canfs_now_usec());
	assert_true(price_of(&told) == price);
	canfs_subscription_close(&refused);
	canfs_subscription_close(&told);
}

/* FSSTAT is refused here: what is pushed is the only source. */
static void a_poller_takes_what_is_pushed(void **state)
{
	struct canfs_poller_terms terms = canfs_poller_defaults;
	struct canfs_fsstat_target target = {
		.address = loopback(0), .nfs_port = 1, .mount_port = 1, .path = "/srv/data"
	};
	uint64_t now_usec = canfs_now_usec();
	struct canfs_poller poller;

	(void)state;
	terms.service_port = canfs_price_service_port(service);
	assert_int_equal(canfs_poller_init(&poller, &target, &terms, 7), 0);
	assert_false(canfs_poller_tick(&poller, now_usec, 0, CANFS_STAKE_LARGE));
	assert_int_equal(poller.subscription.calls, 0); /* before NFS knows us */
	poller.unanswered++;
	while (!canfs_poller_tick(&poller, now_usec, 0, CANFS_STAKE_LARGE))
		assert_true(wait_for_datagram(poller.subscription.fd));
	assert_non_null(canfs_poller_price(&poller, now_usec));
	assert_string_equal(canfs_poller_source(&poller, now_usec), "service");
	assert_int_equal(canfs_poller_price(&poller, now_usec)->bottleneck, CANFS_MEMORY);

	/* Current though nothing has moved for longer than a question would take; not when nothing is heard. */
	assert_true(canfs_poller_is_current(&poller, now_usec + CANFS_PUSH_LOST_USEC - 1));
	assert_false(canfs_poller_is_current(&poller, now_usec + CANFS_PUSH_LOST_USEC));
	assert_non_null(canfs_poller_price(&poller, now_usec + terms.lost_usec));
	assert_null(canfs_poller_price(&poller, now_usec + terms.lost_usec + 1));
	assert_null(canfs_poller_source(&poller, now_usec + terms.lost_usec + 1));

	/* A service that says that there is none for us is believed at once. */
	admits = false;
	canfs_subscription_forget(&poller.subscription);
	while (canfs_poller_price(&poller, now_usec)) {
		canfs_poller_tick(&poller, now_usec, 0, CANFS_STAKE_LARGE);
		if (canfs_poller_price(&poller, now_usec))
			assert_true(wait_for_datagram(poller.subscription.fd));
	}
	canfs_poller_fini(&poller);
}

static void nobody_at_the_port_is_no_answer(void **state)
{
	struct sockaddr_storage server = loopback(0);
	uint16_t port = canfs_price_service_port(service);
	struct canfs_subscription subscription;

	(void)state;
	stop_service();
	assert_int_equal(
		canfs_subscription_open(&subscription, &server, port, 3, "/srv/data", false, 1), 0);
	canfs_subscription_tick(&subscription, 100 * SECOND);
	assert_true(wait_for_datagram(subscription.fd));
	assert_false(canfs_subscription_tick(&subscription, 100 * SECOND));
	assert_false(canfs_subscription_tick(&subscription, 100 * SECOND + SECOND / 2));
	assert_int_equal(subscription.calls, 1);
	canfs_subscription_tick(&subscription, 102 * SECOND);
	assert_int_equal(subscription.calls, 2);
	canfs_subscription_close(&subscription);
	start_service(); /* for tear_down() */
}

static void count_neighbour(void *arg, const struct in6_addr *address)
{
	char text[INET6_ADDRSTRLEN];

	assert_string_equal(inet_ntop(AF_INET6, address, text, sizeof(text)), "::ffff:10.0.0.3");
	++*(int *)arg;
}

static void whoever_does_not_answer_arp_is_unreachable(void **state)
{
	char text[] =
		"IP address       HW type     Flags       HW address            Mask     Device\n"
		"10.0.0.2         0x1         0x2         52:54:00:12:35:02     *        eth0\n"
		"10.0.0.3         0x1         0x0         00:00:00:00:00:00     *        eth0\n"
		"10.0.0.4         0x1         \n"
		"no address       0x1         0x0         00:00:00:00:00:00     *        eth0\n"
		"\n10.0.0.5 0x1";
	FILE *arp = fmemopen(text, strlen(text), "r");
	int count = 0;

	(void)state;
	canfs_unanswered_arp(arp, count_neighbour, &count);
	assert_int_equal(count, 1);
	fclose(arp);
}

/* Whatever is sent to it, it sends no more back, and goes on. */
static void nothing_is_amplified(void **state)
{
	struct sockaddr_storage server = loopback(canfs_price_service_port(service));
	uint8_t call[CANFS_DATAGRAM_MAX], reply[CANFS_DATAGRAM_MAX];
	struct canfs_price_request asked = { .nfs_version = 3, .export_name = "/srv/data" };
	size_t bytes = canfs_price_encode_call(call, 7, CANFS_PRICE_SUBSCRIBE, &asked);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t before;

	(void)state;
	assert_int_equal(connect(fd, (struct sockaddr *)&server, sizeof(struct sockaddr_in)), 0);
	for (size_t cut = 0; cut <= bytes; cut++) {
		before = counters().calls + counters().malformed;
		assert_int_equal(send(fd, call, cut, 0), cut);
		while (counters().calls + counters().malformed == before)
			usleep(100);
		for (ssize_t got; (got = recv(fd, reply, sizeof(reply), MSG_DONTWAIT)) >= 0;)
			assert_true((size_t)got <= cut);
	}
	assert_int_equal(counters().of_table.subscribers, 0);
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(moves_are_pushed),
		TEST(a_class_is_told_its_premium),
		TEST(a_drained_server_gives_no_discount),
		TEST(whoever_is_not_admitted_gets_nothing),
		TEST(an_export_that_goes_is_told_of_no_more),
		TEST(what_does_not_move_is_pushed_too),
		TEST(without_prices_there_is_nothing_to_push),
		TEST(a_poller_takes_what_is_pushed),
		TEST(nobody_at_the_port_is_no_answer),
		TEST(whoever_does_not_answer_arp_is_unreachable),
		TEST(nothing_is_amplified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
