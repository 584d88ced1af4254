// SPDX-License-Identifier: LGPL-3.0-or-later
/* The price service's table of subscribers: which of them get prices, and when. */
#include "tests/unit/subscribers_scene.h"

#include <errno.h>
#include <malloc.h>

#include "server/price-service/cookie.h"

static struct canfs_subscribers *table;

static int set_up(void **state)
{
	(void)state;
	table = canfs_subscribers_new(NULL);
	return table ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	canfs_subscribers_free(table);
	return 0;
}

static struct canfs_prices prices_of(double write)
{
	return (struct canfs_prices) { .others = -1,
		.quote = { [CANFS_WRITE] = { write, CANFS_DISK },
			[CANFS_READAHEAD] = { 0.5, CANFS_DISK } } };
}

static struct canfs_price_request request_of(uint8_t token)
{
	struct canfs_price_request request = {
		.nfs_version = 3, .export_name = "/a", .lease_sec = 60, .threshold = 0.01
	};

	memset(request.token, token, sizeof(request.token));
	return request;
}

/* Told the price with its premium. */
static int renew_with(uint32_t host, uint16_t port, struct canfs_price_table *export,
	int premium_pct, double write, uint64_t now_usec)
{
	struct canfs_endpoint endpoint = endpoint_of(host, port);
	struct canfs_price_request request = request_of(1);
	struct canfs_prices prices = prices_of(write);

	canfs_premium_to_prices(premium_pct, &prices);
	return canfs_subscribers_renew(
		table, &endpoint, export, &request, premium_pct, &prices, now_usec);
}

static int renew(uint32_t host, uint16_t port, struct canfs_price_table *export, double write,
	uint64_t now_usec)
{
	return renew_with(host, port, export, 0, write, now_usec);
}

static struct {
	unsigned int count;
	struct canfs_price_push last;
	struct canfs_due due; /* the last one */
	double write[4];      /* last price told to hosts 0 ... 3 */
} sent;

static void send_push(void *arg, const struct canfs_due *due)
{
	uint8_t host = due->endpoint.client.sin6_addr.s6_addr[15];

	(void)arg;
	sent.count++;
	sent.last = due->push;
	sent.due = *due;
	if (host < 4)
		sent.write[host] = due->push.prices.quote[CANFS_WRITE].price;
}

static bool drains;

/* How many are told. */
static unsigned int push(
	struct canfs_price_table *export, struct canfs_prices prices, uint64_t now_usec)
{
	sent.count = 0;
	canfs_subscribers_push(table, export, &prices, drains, now_usec, send_push, NULL);
	return sent.count;
}

static void a_move_beyond_the_threshold_is_told(void **state)
{
	struct canfs_prices log = prices_of(0.2);

	(void)state;
	assert_int_equal(renew(1, 700, export_a, 0.2, SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.2), SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.205), SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.195), SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.211), SECOND), 1);
	assert_int_equal(sent.last.number, 1);
	assert_true(sent.last.prices.quote[CANFS_WRITE].price == 0.211);
	/* Measured from what was told, not from what was last. */
	assert_int_equal(push(export_a, prices_of(0.218), SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.222), SECOND), 1);
	assert_int_equal(sent.last.number, 2);
	log.quote[CANFS_WRITE] = (struct canfs_quote) { 0.222, CANFS_LOG };
	assert_int_equal(push(export_a, log, SECOND), 1);
	assert_int_equal(push(export_a, log, SECOND), 0);
}

/* What each was told last is compared with what it would be told now: with its own premium. */
static void premiums_are_told_and_compared(void **state)
{
	struct canfs_classes classes = { .count = 0 };
	char error[CANFS_CLASS_ERROR_MAX];

	(void)state;
	assert_int_equal(renew_with(1, 700, export_a, 0, 0.2, SECOND), 0);
	assert_int_equal(renew_with(2, 700, export_a, 100, 0.2, SECOND), 0);
	assert_int_equal(renew_with(3, 700, export_a, -50, 0.2, SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.2), SECOND), 0);
	/* By 0.008 on the whole, 0.016 for one of them, 0.004 for another. */
	assert_int_equal(push(export_a, prices_of(0.208), SECOND), 1);
	assert_float_equal(sent.write[2], 0.416, 1e-6);
	assert_int_equal(push(export_a, prices_of(0.3), SECOND), 3);
	assert_float_equal(sent.write[1], 0.3, 1e-6);
	assert_float_equal(sent.write[2], 0.6, 1e-6);
	assert_float_equal(sent.write[3], 0.15, 1e-6);
	/* One is told the highest price already. */
	assert_int_equal(push(export_a, prices_of(0.6), SECOND), 3);
	assert_true(sent.write[2] == 1);
	assert_int_equal(push(export_a, prices_of(0.9), SECOND), 2);
	/* Nobody has a discount now. */
	drains = true;
	assert_int_equal(push(export_a, prices_of(1), SECOND), 2);
	assert_true(sent.write[1] == 1 && sent.write[3] == 1);
	drains = false;

	/* Other classes hold: who is told something else is due. */
	assert_int_equal(push(export_a, prices_of(0.2), SECOND), 3);
	assert_int_equal(canfs_classes_add_word(&classes, "fd00::3", NULL, NULL, error), 0);
	assert_int_equal(canfs_classes_end(&classes, "batch", 200, error), 0);
	canfs_subscribers_classify(table, &classes);
	assert_int_equal(push(export_a, prices_of(0.2), SECOND), 2);
	assert_float_equal(sent.write[2], 0.2, 1e-6);
	assert_float_equal(sent.write[3], 0.6, 1e-6);
	assert_int_equal(push(export_a, prices_of(0.2), SECOND), 0);
}

static void told_by(struct canfs_clients *clients, uint32_t host, uint64_t usec)
{
	struct canfs_endpoint endpoint = endpoint_of(host, 700);

	struct canfs_client_load *load =
		canfs_clients_load(clients, (const struct sockaddr *)&endpoint.client);

	canfs_client_begin(load, CANFS_WAIT_READ, 0);
	canfs_client_end(load, CANFS_WAIT_READ, usec);
}

/* Who wants to know is told at once when others come and go; its own operations are no others'. */
static void others_that_come_and_go_are_told(void **state)
{
	struct canfs_clients *clients = canfs_clients_new();
	struct canfs_endpoint endpoint = endpoint_of(1, 700);
	struct canfs_price_request request = request_of(1);
	struct canfs_prices prices = prices_of(0.2);

	(void)state;
	canfs_subscribers_free(table);
	table = canfs_subscribers_new(clients);
	request.others = true;
	prices.others = 0;
	assert_int_equal(
		canfs_subscribers_renew(table, &endpoint, export_a, &request, 0, &prices, SECOND),
		0);
	assert_int_equal(renew(3, 700, export_a, 0.2, SECOND), 0);
	canfs_clients_measure(clients, SECOND);

	told_by(clients, 1, SECOND / 10);
	canfs_clients_measure(clients, SECOND + SECOND / 10);
	assert_int_equal(push(export_a, prices_of(0.2), SECOND), 0);
	told_by(clients, 2, SECOND / 10);
	canfs_clients_measure(clients, SECOND + 2 * SECOND / 10);
	assert_int_equal(push(export_a, prices_of(0.2), SECOND), 1);
	assert_float_equal(sent.last.prices.others, 1, 1e-6);
	assert_int_equal(push(export_a, prices_of(0.2), SECOND), 0);
	canfs_clients_measure(clients, SECOND + 3 * SECOND / 10);
	assert_int_equal(push(export_a, prices_of(0.2), SECOND), 1);
	assert_float_equal(sent.last.prices.others, 0, 1e-6);
	assert_int_equal(push(export_a, prices_of(0.9), SECOND), 2);
	canfs_clients_free(clients);
}

static void silence_is_broken_each_second(void **state)
{
	(void)state;
	assert_int_equal(renew(1, 700, export_a, 0.2, SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.2), SECOND + CANFS_PUSH_QUIET_USEC - 1), 0);
	assert_int_equal(push(export_a, prices_of(0.2), SECOND + CANFS_PUSH_QUIET_USEC), 1);
	assert_int_equal(push(export_a, prices_of(0.2), SECOND + CANFS_PUSH_QUIET_USEC + 1), 0);
}

static void each_export_has_its_own(void **state)
{
	(void)state;
	assert_int_equal(renew(1, 700, export_a, 0.2, SECOND), 0);
	assert_int_equal(renew(1, 700, export_b, 0.2, SECOND), 0);
	assert_int_equal(renew(2, 700, export_b, 0.2, SECOND), 0);
	assert_int_equal(canfs_subscribers_count(table).subscribers, 3);
	assert_int_equal(push(export_a, prices_of(0.9), SECOND), 1);
	assert_int_equal(push(export_b, prices_of(0.9), SECOND), 2);
	canfs_subscribers_forget(table, export_b);
	assert_int_equal(canfs_subscribers_count(table).subscribers, 1);
	assert_ptr_equal(canfs_subscribers_next_export(table, NULL), export_a);
	assert_null(canfs_subscribers_next_export(table, export_a));
	assert_int_equal(push(export_b, prices_of(0.1), SECOND), 0);
}

static void leases_end(void **state)
{
	struct canfs_endpoint first = endpoint_of(1, 700);

	(void)state;
	assert_int_equal(renew(1, 700, export_a, 0.2, SECOND), 0);
	assert_int_equal(renew(2, 700, export_a, 0.2, 2 * SECOND), 0);
	assert_int_equal(renew(1, 700, export_a, 0.2, 30 * SECOND), 0);
	/* Three quarters of the lease without a renewal. */
	canfs_subscribers_expire(table, 47 * SECOND - 1);
	assert_int_equal(canfs_subscribers_count(table).subscribers, 2);
	canfs_subscribers_expire(table, 47 * SECOND);
	assert_int_equal(canfs_subscribers_count(table).subscribers, 1);
	canfs_subscribers_end(table, &first.client, export_b);
	assert_int_equal(canfs_subscribers_count(table).subscribers, 1);
	canfs_subscribers_end(table, &first.client, export_a);
	assert_int_equal(canfs_subscribers_count(table).subscribers, 0);
	assert_null(canfs_subscribers_next_export(table, NULL));
}

/* Suspects: clients that are late, and those whose host cannot be reached, until they renew. */
static void suspects_are_told_apart(void **state)
{
	struct canfs_endpoint first = endpoint_of(1, 700), stranger = endpoint_of(9, 700);

	(void)state;
	assert_int_equal(renew(1, 700, export_a, 0.2, SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.4), 37 * SECOND), 1);
	assert_false(sent.due.is_suspect);
	assert_ptr_equal(sent.due.export, export_a);
	assert_int_equal(push(export_a, prices_of(0.5), 39 * SECOND), 1);
	assert_true(sent.due.is_suspect);
	assert_int_equal(renew(1, 700, export_a, 0.5, 40 * SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.6), 40 * SECOND), 1);
	assert_false(sent.due.is_suspect);
	canfs_subscribers_unreachable(table, &stranger.client.sin6_addr);
	canfs_subscribers_unreachable(table, &first.client.sin6_addr);
	assert_int_equal(push(export_a, prices_of(0.7), 40 * SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.7), 41 * SECOND), 1);
	assert_true(sent.due.is_suspect);
	assert_int_equal(renew(1, 700, export_a, 0.7, 41 * SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.8), 41 * SECOND), 1);
	assert_false(sent.due.is_suspect);
}

/* The same address and port on two links belong to two clients. */
static void link_local_clients_are_told_apart(void **state)
{
	struct canfs_endpoint endpoint = endpoint_of(1, 700);
	struct canfs_price_request request = request_of(1);
	struct canfs_prices prices = prices_of(0.2);
	struct canfs_cookies cookies;
	uint8_t cookie[CANFS_COOKIE_BYTES];

	(void)state;
	assert_int_equal(canfs_cookies_init(&cookies), 0);
	assert_int_equal(inet_pton(AF_INET6, "fe80::1", &endpoint.client.sin6_addr), 1);
	endpoint.client.sin6_scope_id = 1;
	canfs_cookie_make(&cookies, &endpoint.client, SECOND, cookie);
	assert_int_equal(
		canfs_subscribers_renew(table, &endpoint, export_a, &request, 0, &prices, SECOND),
		0);
	endpoint.client.sin6_scope_id = 2;
	assert_false(canfs_cookie_is_good(&cookies, &endpoint.client, SECOND, cookie));
	assert_int_equal(
		canfs_subscribers_renew(table, &endpoint, export_a, &request, 0, &prices, SECOND),
		0);
	assert_int_equal(canfs_subscribers_count(table).subscribers, 2);
	canfs_subscribers_end(table, &endpoint.client, export_a);
	assert_int_equal(push(export_a, prices_of(0.5), SECOND), 1);
	assert_int_equal(sent.due.endpoint.client.sin6_scope_id, 1);
}

static void what_was_not_sent_is_due_again(void **state)
{
	struct canfs_due lost;

	(void)state;
	assert_int_equal(renew(1, 700, export_a, 0.2, SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.4), SECOND), 1);
	lost = sent.due;
	assert_int_equal(push(export_a, prices_of(0.4), SECOND), 0);
	canfs_subscribers_unsent(table, &lost);
	assert_int_equal(push(export_a, prices_of(0.4), SECOND), 1);
	assert_int_equal(sent.last.number, 2);
	canfs_subscribers_forget(table, export_a);
	canfs_subscribers_unsent(table, &lost);
	assert_int_equal(canfs_subscribers_count(table).subscribers, 0);
}

static void another_token_counts_anew(void **state)
{
	struct canfs_endpoint endpoint = endpoint_of(1, 700);
	struct canfs_price_request request = request_of(2);
	struct canfs_prices prices = prices_of(0.5);

	(void)state;
	assert_int_equal(renew(1, 700, export_a, 0.2, SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.4), SECOND), 1);
	assert_int_equal(renew(1, 700, export_a, 0.4, SECOND), 0);
	assert_int_equal(push(export_a, prices_of(0.5), SECOND), 1);
	assert_int_equal(sent.last.number, 2);
	assert_int_equal(
		canfs_subscribers_renew(table, &endpoint, export_a, &request, 0, &prices, SECOND),
		0);
	assert_int_equal(push(export_a, prices_of(0.6), SECOND), 1);
	assert_int_equal(sent.last.number, 1);
	assert_memory_equal(sent.last.token, request.token, sizeof(request.token));
}

static void one_address_has_its_share(void **state)
{
	(void)state;
	for (uint16_t i = 0; i < CANFS_SUBSCRIBERS_OF_CLIENT; i++)
		assert_int_equal(renew(1, (uint16_t)(700 + i), export_a, 0.2, SECOND), 0);
	assert_int_equal(renew(1, 900, export_a, 0.2, SECOND), -EUSERS);
	assert_int_equal(renew(1, 700, export_a, 0.2, SECOND), 0);
	assert_int_equal(renew(2, 900, export_a, 0.2, SECOND), 0);
}

/* The one that was renewed least recently makes room, and memory is what the manual says. */
static void the_table_is_bounded(void **state)
{
	struct mallinfo2 before = mallinfo2(), after;

	(void)state;
	for (uint32_t i = 0; i < CANFS_SUBSCRIBERS_MAX; i++)
		assert_int_equal(renew(i, 700, export_a, 0.2, SECOND), 0);
	after = mallinfo2();
	assert_true(
		after.uordblks - before.uordblks <= 4 << 20); /* valgrind and sanitizers say 0 */
	assert_int_equal(renew(0, 700, export_a, 0.2, SECOND), 0); /* so that 1 is the oldest */
	assert_int_equal(renew(CANFS_SUBSCRIBERS_MAX, 700, export_a, 0.2, SECOND), 0);
	assert_int_equal(canfs_subscribers_count(table).subscribers, CANFS_SUBSCRIBERS_MAX);
	assert_int_equal(canfs_subscribers_count(table).displaced, 1);
	assert_int_equal(renew(0, 700, export_a, 0.2, SECOND), 0);
	assert_int_equal(canfs_subscribers_count(table).displaced, 1);
	assert_int_equal(renew(1, 700, export_a, 0.2, SECOND), 0);
	assert_int_equal(canfs_subscribers_count(table).displaced, 2);
}

/* A home directory each: all are told in one turn, and what goes takes nobody along. */
static void each_may_have_an_export_of_its_own(void **state)
{
	static char homes[CANFS_SUBSCRIBERS_MAX];
	struct mallinfo2 before = mallinfo2(), after;
	struct canfs_price_table *export = NULL;
	unsigned int told = 0;

	(void)state;
	for (uint32_t i = 0; i < CANFS_SUBSCRIBERS_MAX; i++)
		assert_int_equal(renew(i, 700, (void *)&homes[i], 0.2, SECOND), 0);
	after = mallinfo2();
	assert_true(after.uordblks - before.uordblks <=
		    (4 << 20) + CANFS_SUBSCRIBERS_MAX * CANFS_WATCHED_EXPORT_BYTES);
	for (uint32_t i = 0; i < CANFS_SUBSCRIBERS_MAX; i += 2)
		canfs_subscribers_forget(table, (void *)&homes[i]);
	while ((export = canfs_subscribers_next_export(table, export))) {
		assert_int_equal(((char *)export - homes) % 2, 1);
		told += push(export, prices_of(0.9), SECOND);
	}
	assert_int_equal(told, CANFS_SUBSCRIBERS_MAX / 2);
	assert_int_equal(canfs_subscribers_count(table).subscribers, told);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_move_beyond_the_threshold_is_told),
		TEST(premiums_are_told_and_compared),
		TEST(others_that_come_and_go_are_told),
		TEST(silence_is_broken_each_second),
		TEST(each_export_has_its_own),
		TEST(leases_end),
		TEST(suspects_are_told_apart),
		TEST(what_was_not_sent_is_due_again),
		TEST(link_local_clients_are_told_apart),
		TEST(another_token_counts_anew),
		TEST(one_address_has_its_share),
		TEST(the_table_is_bounded),
		TEST(each_may_have_an_export_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
