// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Two servers of one back end, over real sockets: what one is waiting for makes the other expensive, and when nobody waits any more,
 * neither goes on because the other does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/address.h"
#include "common/clock.h"
#include "server/market/sampler.h"
#include "server/monitors/peers.h"
#include "server/monitors/responses.h"
#include "server/price-service/price_service.h"
#include "tests/unit/fake_root.h"

#define SEC        UINT64_C(1000000)
#define STEP_USEC  20000
#define SERVERS    2
#define STEPS_MAX  1000 /* 20 s, for what must come */
#define AT_A_TIME  4
#define READ_USEC  5000
#define READ_BYTES 8192

struct server {
	struct canfs_sampler *sampler;
	struct canfs_price_table *prices;
	struct canfs_price_service *service;
};

static struct fake_root root;
static struct server servers[SERVERS];
static struct canfs_shared_classes classes; /* all who ask are in one, of a premium */

static void say(const char *message)
{
	(void)message;
}

static struct canfs_sampler_config config_of(const struct server *peer)
{
	struct canfs_sampler_config config = { .interval_ms = STEP_USEC / 1000,
		.publish = true,
		.monitors = 1u << CANFS_BACKEND,
		.setup.root = root.path,
		.say = say };
	const struct in_addr here = { .s_addr = htonl(INADDR_LOOPBACK) };

	if (peer) {
		config.setup.peers[config.setup.peer_count++] = canfs_map_ipv4(&here);
		config.setup.peer_port = canfs_price_service_port(peer->service);
	}
	return config;
}

static int with_export(void *host, const char *name, uint32_t nfs_version,
	const struct sockaddr_storage *client,
	void (*use)(struct canfs_price_table *prices, void *arg), void *arg)
{
	struct server *server = host;

	(void)client;
	if (nfs_version != 3 || strcmp(name, "/volume") != 0)
		return -ENOENT;
	use(server->prices, arg);
	return 0;
}

static int set_up(void **state)
{
	struct canfs_classes all = { .count = 0 };
	char error[CANFS_CLASS_ERROR_MAX];

	(void)state;
	fake_root_make(&root);
	assert_int_equal(canfs_classes_add_word(&all, "127.0.0.0/8", NULL, NULL, error), 0);
	assert_int_equal(canfs_classes_end(&all, "local", 50, error), 0);
	canfs_shared_classes_set(&classes, &all);
	for (int i = 0; i < SERVERS; i++) {
		struct server *server = &servers[i];
		const struct canfs_sampler_config config = config_of(NULL);
		const struct canfs_price_service_config service = {
			.with_export = with_export, .host = server, .classes = &classes
		};

		assert_int_equal(canfs_sampler_new(&server->sampler, &config), 0);
		assert_int_equal(canfs_price_table_open(
					 &server->prices, server->sampler, "/volume", 0, NULL),
			0);
		assert_int_equal(canfs_price_service_start(&server->service, &service), 0);
		canfs_sampler_tell(server->sampler, canfs_price_service_posted, server->service);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < SERVERS; i++) {
		struct server *server = &servers[i];

		canfs_sampler_tell(server->sampler, NULL, NULL);
		if (server->service)
			canfs_price_service_forget(server->service, server->prices);
		canfs_price_service_stop(server->service);
		canfs_price_table_close(server->prices);
		canfs_sampler_free(server->sampler);
	}
	canfs_shared_classes_free(&classes);
	fake_root_remove(&root);
	return 0;
}

static void ask_each_other(void)
{
	for (int i = 0; i < SERVERS; i++) {
		const struct canfs_sampler_config config = config_of(&servers[1 - i]);

		assert_int_equal(
			canfs_sampler_reload(servers[i].sampler, &config, canfs_now_usec()), 1);
	}
}

/* Reads that wait for each other, as many as a step has time for. */
static void read_at(struct server *server, unsigned int at_a_time)
{
	struct canfs_responses *responses = canfs_price_table_responses(server->prices);

	for (unsigned int n = 0; n < at_a_time; n++)
		canfs_response_begin(responses);
	for (unsigned int n = 0; n < at_a_time; n++)
		canfs_response_end(
			responses, CANFS_RESPONSE_READ, READ_BYTES, n, (n + 1) * READ_USEC);
}

static void step(unsigned int at_a_time)
{
	read_at(&servers[0], at_a_time);
	usleep(STEP_USEC);
	for (int i = 0; i < SERVERS; i++)
		canfs_sampler_step(servers[i].sampler, canfs_now_usec());
}

static struct canfs_tag tag_of(const struct server *server)
{
	struct canfs_tag tag;

	assert_true(canfs_price_table_peek(server->prices, canfs_now_usec(), &tag));
	return tag;
}

static double price_at(const struct server *server)
{
	return tag_of(server).write;
}

static void begin_reading(void)
{
	for (int i = 0; i < 30; i++)
		step(1); /* what one takes by itself */
	for (int steps = 0; price_at(&servers[0]) < 0.8; steps++) {
		assert_true(steps < STEPS_MAX);
		step(AT_A_TIME);
	}
}

/* Until what the first is waiting for has come to the second. */
static void await_expensive_peer(void)
{
	for (int steps = 0; price_at(&servers[1]) < 0.8; steps++) {
		assert_true(steps < STEPS_MAX);
		step(AT_A_TIME);
	}
}

static void what_one_waits_for_is_expensive_at_the_other(void **state)
{
	int steps;

	(void)state;
	ask_each_other();
	begin_reading();
	await_expensive_peer();
	assert_int_equal(tag_of(&servers[0]).bottleneck, CANFS_BACKEND);
	assert_int_equal(tag_of(&servers[1]).bottleneck, CANFS_PEER);
	/* And no longer than that, though each asks the other, at whatever premium. */
	for (steps = 0; price_at(&servers[0]) > 0.01 || price_at(&servers[1]) > 0.01; steps++) {
		assert_true(steps < STEPS_MAX);
		step(0);
	}
}

static void servers_that_do_not_ask_are_apart(void **state)
{
	(void)state;
	begin_reading();
	for (int i = 0; i < 20; i++)
		step(AT_A_TIME);
	assert_true(price_at(&servers[1]) == 0);
}

/* One that is gone says nothing, after two seconds. */
static void one_that_is_gone_says_nothing(void **state)
{
	int steps;

	(void)state;
	ask_each_other();
	begin_reading();
	await_expensive_peer();
	canfs_sampler_tell(servers[0].sampler, NULL, NULL);
	canfs_price_service_stop(servers[0].service);
	servers[0].service = NULL;
	for (steps = 0; price_at(&servers[1]) > 0; steps++) {
		assert_true(steps < STEPS_MAX);
		step(AT_A_TIME);
	}
}

static char last_said[512];
static unsigned int lines;

static void note_line(const char *message)
{
	snprintf(last_said, sizeof(last_said), "%s", message);
	lines++;
}

static struct canfs_peers *peers_here(uint16_t port, const char *name)
{
	const struct in_addr here = { .s_addr = htonl(INADDR_LOOPBACK) };
	struct canfs_monitor_setup setup = {
		.name = name, .peer_count = 1, .peer_port = port, .say = note_line
	};
	struct canfs_peers *peers;

	setup.peers[0] = canfs_map_ipv4(&here);
	lines = 0;
	assert_int_equal(canfs_peers_open(&peers, &setup), 0);
	return peers;
}

static void ask_until_line(struct canfs_peers *peers, unsigned int line)
{
	for (int steps = 0; lines < line; steps++) {
		assert_true(steps < STEPS_MAX);
		step(0);
		(void)canfs_peers_utilization(peers, canfs_now_usec());
	}
	assert_int_equal(lines, line);
}

static void the_log_says_who_is_heard(void **state)
{
	struct canfs_peers *peers =
		peers_here(canfs_price_service_port(servers[0].service), "/volume");
	uint64_t gone_usec;

	(void)state;
	ask_until_line(peers, 1);
	assert_string_equal(last_said, "peer 127.0.0.1 of /volume sends prices");
	canfs_sampler_tell(servers[0].sampler, NULL, NULL);
	canfs_price_service_stop(servers[0].service);
	servers[0].service = NULL;
	gone_usec = canfs_now_usec();
	(void)canfs_peers_utilization(peers, gone_usec + 9 * SEC);
	assert_int_equal(lines, 1);
	for (unsigned int sec = 10; sec < 20; sec++)
		(void)canfs_peers_utilization(peers, gone_usec + sec * SEC);
	assert_int_equal(lines, 2);
	assert_non_null(strstr(last_said, "peer 127.0.0.1 of /volume "));
	assert_null(strstr(last_said, "sends prices"));
	canfs_peers_close(peers);
}

/* The first of two exports of a file system asks for both. When it is removed, the other one asks, by its own name. */
static void an_heir_asks_by_its_own_name(void **state)
{
	struct canfs_sampler_config config = config_of(&servers[0]);
	struct canfs_price_table *first, *second;
	struct canfs_sampler *sampler;

	(void)state;
	lines = 0;
	config.say = note_line;
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	assert_int_equal(canfs_price_table_open(&first, sampler, "/first", 7, NULL), 0);
	assert_int_equal(canfs_price_table_open(&second, sampler, "/volume", 7, NULL), 0);
	canfs_price_table_close(first);
	for (int steps = 0; lines == 0; steps++) {
		assert_true(steps < STEPS_MAX);
		step(0);
		canfs_sampler_step(sampler, canfs_now_usec());
	}
	assert_string_equal(last_said, "peer 127.0.0.1 of /volume sends prices");
	canfs_price_table_close(second);
	canfs_sampler_free(sampler);
}

/* 12 s of peers that do not tell, for an answer is soon there. */
static void ask_in_vain(struct canfs_peers *peers)
{
	for (unsigned int half_sec = 0; half_sec < 24; half_sec++) {
		(void)canfs_peers_utilization(peers, canfs_now_usec() + half_sec * SEC / 2);
		usleep(STEP_USEC);
	}
	assert_int_equal(lines, 1);
}

static void the_log_says_why_nothing_is_heard(void **state)
{
	uint16_t port = canfs_price_service_port(servers[0].service);
	struct canfs_peers *peers = peers_here(port, "/another");

	(void)state;
	ask_in_vain(peers);
	assert_string_equal(last_said, "peer 127.0.0.1 of /another refuses: no such CANFS export, "
				       "or this server is no Peer there");
	canfs_peers_close(peers);
	peers = peers_here(port, "/volume");
	ask_in_vain(peers); /* no price was ever made there */
	assert_string_equal(last_said, "peer 127.0.0.1 of /volume publishes no prices for it");
	canfs_peers_close(peers);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_one_waits_for_is_expensive_at_the_other),
		TEST(servers_that_do_not_ask_are_apart),
		TEST(one_that_is_gone_says_nothing),
		TEST(the_log_says_who_is_heard),
		TEST(an_heir_asks_by_its_own_name),
		TEST(the_log_says_why_nothing_is_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
