// SPDX-License-Identifier: LGPL-3.0-or-later
/* What others use of a client's own link, as its write-back and its read-ahead meet it: 100 Mbit/s. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client-agent/auction/own_network.h"
#include "pricing/auction.h"
#include "pricing/price.h"

#define SPEED     12.5e6
#define STEP_USEC 100000
#define MIB       (1 << 20)

/* Bytes per second; of what write-back sends only payload is counted. */
struct flow {
	double received, sent, background;
	uint64_t in_flight_bytes;
};

struct scene {
	struct canfs_own_network network;
	uint64_t now_usec;
	struct canfs_own_network_counters counters;
};

static void step(struct scene *scene, const struct flow *flow)
{
	const double sec = STEP_USEC / 1e6;

	scene->now_usec += STEP_USEC;
	scene->counters.received_bytes += (uint64_t)(flow->received * sec);
	scene->counters.sent_bytes += (uint64_t)(flow->sent * sec);
	scene->counters.background_bytes = (uint64_t)(flow->background * sec);
	scene->counters.in_flight_bytes = flow->in_flight_bytes;
	canfs_own_network_add(&scene->network, &scene->counters, scene->now_usec);
}

/* Ten seconds of it, after a quiet one; returns the utilization that write-back meets. */
static double write_meets(struct scene *scene, struct flow flow)
{
	static const struct flow quiet = { 0 };

	*scene = (struct scene) { .now_usec = 1000000 };
	canfs_own_network_init(&scene->network);
	for (int i = 0; i < 10; i++)
		step(scene, &quiet);
	for (int i = 0; i < 100; i++)
		step(scene, &flow);
	return canfs_own_network_write(&scene->network, SPEED);
}

/* As it is counted while so much is written back: with headers, and ACKs the other way. */
static struct flow write_back(double payload)
{
	return (struct flow) { .received = 0.03 * payload,
		.sent = 1.05 * payload,
		.background = payload,
		.in_flight_bytes = 4 * MIB };
}

static void assert_near(double value, double expected)
{
	assert_float_equal(value, expected, 0.01);
}

static void test_nobody_is_there(void **state)
{
	struct scene scene;

	(void)state;
	assert_near(write_meets(&scene, (struct flow) { 0 }), 0);
}

static void test_write_back_is_not_expensive_for_itself(void **state)
{
	struct scene scene;

	(void)state;
	for (double payload = 1e6; payload < SPEED / 1.05; payload += 1e6)
		assert_near(write_meets(&scene, write_back(payload)), 0);
}

/* Only whole messages are counted, when they are answered: that must not be taken for others, from the first one on. */
static void test_what_is_counted_late_is_still_ours(void **state)
{
	struct scene scene;
	struct flow flow = write_back(10e6);

	(void)state;
	write_meets(&scene, (struct flow) { 0 });
	for (int i = 0; i < 100; i++) {
		flow.background = i % 2 ? 20e6 : 0;
		step(&scene, &flow);
		assert_true(canfs_own_network_price(canfs_own_network_write(&scene.network, SPEED),
				    SPEED) < canfs_auction_defaults.price_min);
	}
}

static void test_others_share_the_direction(void **state)
{
	struct scene scene;
	struct flow flow = { .sent = 0.6 * SPEED };

	(void)state;
	assert_near(write_meets(&scene, flow), 0.6);
	flow = write_back(0.4 * SPEED);
	flow.sent += 0.55 * SPEED;
	assert_in_range((int)(100 * write_meets(&scene, flow)), 35, 55);
}

/* A reader that waits for each reply is hurt by write-back: what it uses becomes less, what it wants does not. */
static void test_a_reader_does_not_become_cheaper_when_it_is_hurt(void **state)
{
	struct scene scene;

	(void)state;
	assert_near(write_meets(&scene, (struct flow) { .received = 0.7 * SPEED }), 0.7);
	for (double share = 0.1; share < 0.85; share += 0.1) {
		struct flow flow = write_back(share * SPEED / 1.05);

		flow.received += (1 - share) * 0.7 * SPEED;
		assert_in_range((int)(100 * write_meets(&scene, flow)), 60, 75);
	}
}

static void test_a_link_that_is_more_than_full_is_full(void **state)
{
	struct scene scene;

	(void)state;
	assert_near(write_meets(&scene, (struct flow) { .received = 3 * SPEED }), 1);
	assert_near(write_meets(&scene, (struct flow) { .sent = 3 * SPEED }), 1);
}

static void test_own_readers_do_not_pay_for_themselves(void **state)
{
	struct scene scene;

	(void)state;
	write_meets(&scene, (struct flow) { .received = 0.9 * SPEED });
	assert_near(canfs_own_network_readahead(&scene.network, 0.86 * SPEED, SPEED), 0);
	assert_near(canfs_own_network_readahead(&scene.network, 0, SPEED), 0.9);
	assert_in_range(
		(int)(100 * canfs_own_network_readahead(&scene.network, 0.3 * SPEED, SPEED)), 35,
		60);
	/* Write-back goes the other way. */
	write_meets(&scene, write_back(11e6));
	assert_near(canfs_own_network_readahead(&scene.network, 0, SPEED), 0.03);
}

static void test_what_is_not_known_costs_nothing(void **state)
{
	struct scene scene;

	(void)state;
	write_meets(&scene, (struct flow) { .received = SPEED, .sent = SPEED });
	assert_true(canfs_own_network_write(&scene.network, 0) == 0);
	assert_true(canfs_own_network_readahead(&scene.network, 0, 0) == 0);
	canfs_own_network_init(&scene.network);
	step(&scene, &(struct flow) { .received = SPEED }); /* the first one: since when? */
	assert_true(canfs_own_network_write(&scene.network, SPEED) == 0);
}

/* A slow link is expensive early, a fast one late, as any network of many. */
static void test_price_by_speed(void **state)
{
	(void)state;
	assert_near(canfs_own_network_price(0.5, SPEED), 0.47);
	assert_near(canfs_own_network_price(0.5, 10 * SPEED), 0.33);
	assert_near(canfs_own_network_price(0.5, 100 * SPEED), 0.15);
	assert_true(canfs_own_network_price(0.5, 1e12) == canfs_price(0.5, 64));
	assert_near(canfs_own_network_price(1, SPEED), 1);
	assert_true(canfs_own_network_price(0, SPEED) == 0);
	assert_true(canfs_own_network_price(0.5, 0) <= 0.5);
}

/* An interface was taken away, and another one has its name. */
static void test_counters_that_begin_anew(void **state)
{
	struct scene scene;

	(void)state;
	write_meets(&scene, (struct flow) { .received = 0.1 * SPEED });
	scene.counters.received_bytes = 0;
	step(&scene, &(struct flow) { 0 });
	assert_true(canfs_own_network_write(&scene.network, SPEED) < 0.1);
	step(&scene, &(struct flow) { 0 });
	assert_true(canfs_own_network_write(&scene.network, SPEED) < 0.1);
	/* And a clock that stands still. */
	canfs_own_network_add(&scene.network, &scene.counters, scene.now_usec);
	assert_true(canfs_own_network_write(&scene.network, SPEED) < 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_is_there),
		cmocka_unit_test(test_write_back_is_not_expensive_for_itself),
		cmocka_unit_test(test_what_is_counted_late_is_still_ours),
		cmocka_unit_test(test_others_share_the_direction),
		cmocka_unit_test(test_a_reader_does_not_become_cheaper_when_it_is_hurt),
		cmocka_unit_test(test_a_link_that_is_more_than_full_is_full),
		cmocka_unit_test(test_own_readers_do_not_pay_for_themselves),
		cmocka_unit_test(test_what_is_not_known_costs_nothing),
		cmocka_unit_test(test_price_by_speed),
		cmocka_unit_test(test_counters_that_begin_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
