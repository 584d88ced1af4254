// SPDX-License-Identifier: LGPL-3.0-or-later
/* The herd simulation: does the model keep its books, and is a trial the same twice? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include <errno.h>

#include "bench/herd/equals.h"
#include "bench/herd/measure.h"
#include "bench/herd/reader.h"
#include "client-agent/auction/bidder.h"

#define STEPS 1000 /* 20 s */

static struct herd_setup setup_of(const char *law, unsigned int load_pct, unsigned int seed)
{
	return (struct herd_setup) { .law = herd_law_find(law),
		.clients = 12,
		.load_pct = load_pct,
		.price_age_msec = 100,
		.seed = seed };
}

/* Returns what the disk took. */
static double simulate(struct herd *herd, const struct herd_setup *setup)
{
	double drained = 0;

	assert_non_null(setup->law);
	assert_int_equal(herd_init(herd, setup), 0);
	for (int i = 0; i < STEPS; i++) {
		drained += herd_step(herd);
		assert_true(herd->server.backlog_bytes <= HERD_DIRTY_LIMIT_BYTES);
		assert_true(herd->server.price >= 0 && herd->server.price <= 1);
	}
	return drained;
}

static void check_books(const struct herd_setup *setup)
{
	struct herd herd;
	double drained = simulate(&herd, setup), written = 0, held = 0, uncommitted = 0;

	for (unsigned int i = 0; i < herd.count; i++) {
		const struct herd_client *client = &herd.clients[i];

		assert_true(client->kernel.dirty_bytes >= 0);
		assert_true(client->kernel.leaving_bytes >= -1);
		written += client->writer.written_bytes;
		held += herd_client_held(client);
		uncommitted += client->kernel.uncommitted_bytes;
	}
	assert_true(fabs(written - held - herd.server.backlog_bytes - drained) < 1000);
	assert_true(fabs(uncommitted - herd.server.backlog_bytes) < 1000);
	assert_true(drained > 0);
	herd_fini(&herd);
}

/* Whatever the law: what was written is on a client, on its way, at the server or on the disk. */
static void test_no_byte_is_lost(void **state)
{
	const struct herd_law *law;

	(void)state;
	for (unsigned int l = 0; (law = herd_law_at(l)); l++) {
		struct herd_setup setup = setup_of(law->name, 110, 1);

		check_books(&setup);
		setup.pushed = true;
		check_books(&setup);
	}
}

static void test_a_seed_is_a_trial(void **state)
{
	struct herd_setup setup = setup_of("taper", 80, 7), other = setup_of("taper", 80, 8);
	struct herd herd;
	double first, again, another;

	(void)state;
	first = simulate(&herd, &setup);
	herd_fini(&herd);
	again = simulate(&herd, &setup);
	herd_fini(&herd);
	another = simulate(&herd, &other);
	herd_fini(&herd);
	assert_true(first == again);
	assert_true(first != another);
}

static void test_the_load_is_as_asked(void **state)
{
	struct herd_setup setup = setup_of("stock", 50, 1);
	struct herd herd;
	double written = 0;

	(void)state;
	setup.clients = 600;
	simulate(&herd, &setup);
	for (unsigned int i = 0; i < herd.count; i++)
		written += herd.clients[i].writer.written_bytes;
	herd_fini(&herd);
	written /= STEPS * HERD_STEP_SEC * HERD_DRAIN_BYTES_PER_SEC;
	assert_true(written > 0.4 && written < 0.6);
}

/* All have heard of the last price, but for what the threshold lets pass; and act on it in the next step. */
static void test_pushed_prices(void **state)
{
	struct herd_setup setup = setup_of("taper", 110, 7);
	const double threshold = CANFS_PUSH_THRESHOLD + 1e-6; /* the service keeps floats */
	double polled, pushed, moved = 0;
	struct herd herd;

	(void)state;
	polled = simulate(&herd, &setup);
	herd_fini(&herd);
	setup.pushed = true;
	pushed = simulate(&herd, &setup);
	assert_true(pushed != polled);
	for (int i = 0; i < STEPS; i++) {
		double price = herd.server.prices.quote[CANFS_WRITE].price;

		for (unsigned int k = 0; k < herd.count; k++) {
			const struct herd_agent *agent = &herd.clients[k].agent;

			assert_true(fabs(agent->heard_price - price) <= threshold);
		}
		herd_step(&herd);
		for (unsigned int k = 0; k < herd.count; k++)
			assert_true(fabs(herd.clients[k].agent.server_price - price) <= threshold);
		moved += fabs(herd.server.prices.quote[CANFS_WRITE].price - price);
	}
	assert_true(moved > 1);
	herd_fini(&herd);
	setup.clients = CANFS_SUBSCRIBERS_MAX + 1;
	assert_int_equal(herd_init(&herd, &setup), -EUSERS);
	herd_fini(&herd);
}

static void test_jain(void **state)
{
	struct herd_shares shares = { 0 };

	(void)state;
	assert_true(herd_shares_jain(&shares) == 1);
	herd_shares_add(&shares, 0);
	assert_true(herd_shares_jain(&shares) == 1);
	herd_shares_add(&shares, 5);
	assert_true(herd_shares_jain(&shares) == 0.5); /* one of two has it all */
	herd_shares_add(&shares, 5);
	assert_true(fabs(herd_shares_jain(&shares) - 2.0 / 3) < 1e-9);
}

/* Clients that are alike: of the seconds of which each defers the extremes and the mean agree, and stock defers never. */
static void test_among_equals(void **state)
{
	struct herd_setup setup = setup_of("stock", 110, 1);
	struct herd_equality seen;

	(void)state;
	assert_int_equal(herd_among_equals(&setup, 60, &seen), 0);
	assert_true(seen.deferred_max_sec == 0 && seen.deferred_fairness == 1);
	assert_true(seen.served_fairness > 0.5 && seen.served_fairness < 1);
	for (int pushed = 0; pushed < 2; pushed++) {
		setup = setup_of("taper", 110, 1);
		setup.pushed = pushed;
		assert_int_equal(herd_among_equals(&setup, 60, &seen), 0);
		assert_true(seen.deferred_min_sec >= 0 && seen.deferred_max_sec <= 60);
		assert_true(seen.deferred_sec > seen.deferred_min_sec);
		assert_true(seen.deferred_sec < seen.deferred_max_sec);
		assert_true(seen.deferred_fairness > 0.5 && seen.deferred_fairness < 1);
		assert_true(seen.served_fairness > 0.5 && seen.served_fairness < 1);
	}
}

/* Beside a reader the kernel alone sends all it has at once, the agent's law evenly, and little at bad times. */
static void test_beside_a_reader(void **state)
{
	struct herd_smoothness stock, taper;
	struct herd_setup setup = setup_of("stock", 1, 1);

	(void)state;
	assert_int_equal(herd_beside_reader(&setup, &stock, NULL), 0);
	setup.law = herd_law_find("taper");
	assert_int_equal(herd_beside_reader(&setup, &taper, NULL), 0);
	assert_true(stock.peak_over_mean > 10);
	assert_true(taper.peak_over_mean > 1 && taper.peak_over_mean <= 3);
	assert_true(taper.expensive_share < stock.expensive_share);
	assert_true(taper.left_bytes < CANFS_BACKLOG_REST_BYTES);
	setup.pushed = true;
	assert_int_equal(herd_beside_reader(&setup, &taper, NULL), 0);
	assert_true(taper.peak_over_mean > 1 && taper.peak_over_mean <= 4);
}

static void test_unknown_laws(void **state)
{
	(void)state;
	assert_null(herd_law_find("anarchy"));
	assert_ptr_equal(herd_law_find("stock"), herd_law_at(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_byte_is_lost),
		cmocka_unit_test(test_a_seed_is_a_trial),
		cmocka_unit_test(test_the_load_is_as_asked),
		cmocka_unit_test(test_pushed_prices),
		cmocka_unit_test(test_jain),
		cmocka_unit_test(test_among_equals),
		cmocka_unit_test(test_beside_a_reader),
		cmocka_unit_test(test_unknown_laws),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
