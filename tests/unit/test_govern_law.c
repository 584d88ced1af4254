// SPDX-License-Identifier: LGPL-3.0-or-later
/* Does a governed job yield to others, and only to them? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/governed.h"

#define SEEDS 5
#define STEP  (STEP_USEC / 1e6)

/* Where servers do not tell of others, nothing is promised without. */
static const struct canfs_govern_terms with_a_share = {
	.bid = 0.5, .at_least = 0.1, .patience_usec = 30000000
};

static struct scene scene_of(bool notices_changes, bool pushes, unsigned short seed)
{
	return (struct scene) { .terms = with_a_share,
		.notices_changes = notices_changes,
		.pushes = pushes,
		.own_load = 1,
		.work_sec = 60,
		.limit_sec = 600,
		.seed = seed };
}

/* Runs check() on all kinds of server, with several seeds. */
static void on_each_server(void (*check)(struct scene *scene))
{
	for (unsigned short seed = 1; seed <= SEEDS; seed++) {
		for (int kind = 0; kind < 4; kind++) {
			struct scene scene = scene_of(kind & 1, kind & 2, seed);

			check(&scene);
		}
	}
}

static void check_alone(struct scene *scene)
{
	static const double loads[] = { 0.3, 0.7, 1 };

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		struct outcome seen;

		scene->own_load = loads[i];
		seen = simulate(scene);
		assert_true(seen.ran_sec >= 0.9 * seen.took_sec);
	}
}

static void test_alone_it_runs(void **state)
{
	(void)state;
	on_each_server(check_alone);
}

/* What it has sent is on its way for another 0.3 s. */
static void check_alone_with_a_tail(struct scene *scene)
{
	struct outcome seen;

	scene->tail_sec = 0.3;
	seen = simulate(scene);
	assert_true(seen.ran_sec >= 0.9 * seen.took_sec);
}

static void test_alone_with_requests_in_flight(void **state)
{
	(void)state;
	on_each_server(check_alone_with_a_tail);
}

static void check_beside_busy_others(struct scene *scene)
{
	static const double shares[] = { 0.05, 0.1, 0.3, 0.7, 0.9 };

	scene->busy_sec = 1;
	scene->work_sec = 1000;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		struct outcome seen;
		double share;

		scene->terms.at_least = shares[i];
		seen = simulate(scene);
		share = seen.ran_sec / seen.took_sec;
		assert_true(share >= shares[i] && share <= shares[i] + 0.03);
	}
}

static void test_beside_busy_others_it_has_its_share(void **state)
{
	(void)state;
	on_each_server(check_beside_busy_others);
}

/* At a price of about 0.6, and the job's own load beside it. */
static void check_beside_a_steady_load(struct scene *scene)
{
	struct outcome seen;

	scene->busy_sec = 1;
	scene->others_load = 0.75;
	scene->own_load = 0.5;
	scene->tail_sec = 0.1;
	scene->work_sec = 1000;
	seen = simulate(scene);
	assert_true(seen.ran_sec <= 0.3 * seen.took_sec);
}

static void test_beside_a_steady_load_it_yields(void **state)
{
	(void)state;
	on_each_server(check_beside_a_steady_load);
}

/* It could have what they leave, and its share of the rest, at half the rate. */
static void check_beside_half_busy_others(struct scene *scene)
{
	static const double periods_sec[] = { 5, 10, 20, 40 };

	scene->jitter = 0.5;
	for (size_t i = 0; i < sizeof(periods_sec) / sizeof(periods_sec[0]); i++) {
		struct outcome seen;

		scene->busy_sec = scene->idle_sec = periods_sec[i];
		seen = simulate(scene);
		assert_true(seen.took_sec <= 2.3 * scene->work_sec);
		assert_true(seen.beside_sec <= 0.6 * seen.others_busy_sec);
	}
}

static void test_beside_half_busy_others_it_uses_the_rest(void **state)
{
	(void)state;
	on_each_server(check_beside_half_busy_others);
}

/* Told of others, it is quick to yield and to go on, though it has no share of the time. */
static void check_told_of_others(struct scene *scene)
{
	static const double periods_sec[] = { 5, 10, 20, 40 };

	scene->pushes = scene->tells_others = true;
	scene->terms = canfs_govern_defaults;
	assert_true(simulate(scene).ran_sec >= 0.92 * simulate(scene).took_sec);
	scene->jitter = 0.5;
	scene->work_sec = 300;
	scene->limit_sec = 1200;
	for (size_t i = 0; i < sizeof(periods_sec) / sizeof(periods_sec[0]); i++) {
		struct outcome seen;

		scene->busy_sec = scene->idle_sec = periods_sec[i];
		seen = simulate(scene);
		assert_true(seen.took_sec <= 2.3 * scene->work_sec);
		/* A quarter of a second of each time, and what patience brings. */
		assert_true(seen.beside_sec <=
			    seen.others_busy_sec * (0.25 / periods_sec[i] + 0.5 / 30));
	}
}

static void test_others_that_are_told_of_are_yielded_to(void **state)
{
	(void)state;
	on_each_server(check_told_of_others);
}

/*
 * Where prices are averages over less or more than the law takes them for. A plain one over 4 s falls too slowly to be found
 * out within a second: alone the job runs for three fifths of the time.
 */
static void check_other_averages(struct scene *scene)
{
	static const double taus_sec[] = { 1, 4 };

	for (size_t i = 0; i < sizeof(taus_sec) / sizeof(taus_sec[0]); i++) {
		struct scene beside = *scene;
		struct outcome seen;
		double share;

		scene->tau_sec = beside.tau_sec = taus_sec[i];
		seen = simulate(scene);
		share = seen.ran_sec / seen.took_sec;
		assert_true(share >= (taus_sec[i] > 2 && !scene->notices_changes ? 0.55 : 0.9));
		beside.busy_sec = 1;
		beside.work_sec = 1000;
		seen = simulate(&beside);
		share = seen.ran_sec / seen.took_sec;
		assert_true(share >= 0.1 && share <= 0.13);
	}
}

static void test_servers_that_average_otherwise(void **state)
{
	(void)state;
	on_each_server(check_other_averages);
}

static void check_patience(struct scene *scene)
{
	static const double shares[] = { 0, 0.001, 0.1 };

	scene->busy_sec = 1;
	scene->terms.patience_usec = 7000000;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		struct outcome seen;

		scene->terms.at_least = shares[i];
		seen = simulate(scene);
		assert_true(seen.longest_pause_sec <= 7 + STEP);
		assert_true(seen.longest_pause_sec >= (shares[i] < 0.1 ? 7 - STEP : 1));
		assert_true(seen.ran_sec > 0.06 * seen.took_sec);
	}
}

static void test_no_pause_is_longer_than_patience(void **state)
{
	(void)state;
	on_each_server(check_patience);
}

static void check_never_paused(struct scene *scene)
{
	scene->busy_sec = 1;
	scene->terms.at_least = 1;
	assert_int_equal(simulate(scene).pauses, 0);
	scene->terms = with_a_share;
	scene->terms.bid = 1;
	assert_int_equal(simulate(scene).pauses, 0);
}

static void test_terms_that_pause_nothing(void **state)
{
	(void)state;
	on_each_server(check_never_paused);
}

static struct canfs_govern_price price_of(double price, uint64_t usec)
{
	return (struct canfs_govern_price) { .price = price, .usec = usec, .others = -1 };
}

/* Steps of 100 ms with a price that came with each. Returns when it is as wanted, or fails. */
static double until(struct canfs_govern_law *law, bool paused, double price, double limit_sec)
{
	for (double sec = 0.1; sec <= limit_sec; sec += 0.1) {
		uint64_t now_usec = law->stepped_usec + 100000;

		canfs_govern_law_step(law, price_of(price, now_usec), now_usec);
		if (law->is_paused == paused)
			return sec;
	}
	fail_msg("not %s within %g s", paused ? "paused" : "running", limit_sec);
	return 0;
}

static void test_reasons(void **state)
{
	struct canfs_govern_law law;

	(void)state;
	canfs_govern_law_init(&law, &with_a_share, 1000000);
	assert_int_equal(law.reason, CANFS_GOVERN_START);
	until(&law, true, 0.9, 10);
	assert_int_equal(law.reason, CANFS_GOVERN_HIGH);
	assert_true(until(&law, false, 0.4, 10) < 0.3);
	assert_int_equal(law.reason, CANFS_GOVERN_LOW);
	until(&law, true, 0.9, 30);
	until(&law, false, 0.9, 10);
	assert_int_equal(law.reason, CANFS_GOVERN_SHARE);
	until(&law, true, 0.9, 10);
	assert_true(until(&law, false, NAN, 10) < 0.2);
	assert_int_equal(law.reason, CANFS_GOVERN_NO_PRICE);
}

/* A price from before the pause says nothing of it. */
static void test_an_old_price_is_no_answer(void **state)
{
	struct canfs_govern_price low = price_of(0.1, 0);
	struct canfs_govern_law law;

	(void)state;
	canfs_govern_law_init(&law, &with_a_share, 1000000);
	until(&law, true, 0.9, 10);
	low.usec = law.since_usec;
	assert_true(canfs_govern_law_step(&law, low, law.since_usec + 100000));
	low.usec++;
	assert_false(canfs_govern_law_step(&law, low, law.since_usec + 200000));
}

/* Where others leave at once all but what is above the bid, that is no sign that it goes on to fall. */
static void test_a_fall_that_stops_above_the_bid(void **state)
{
	struct canfs_govern_law law;

	(void)state;
	canfs_govern_law_init(&law, &with_a_share, 1000000);
	until(&law, true, 1, 10);
	assert_true(until(&law, false, 0.65, 10) > 2);
	assert_int_equal(law.reason, CANFS_GOVERN_SHARE);
}

/* A server may compute its prices every 20 ms, and push each. */
static void test_prices_in_quick_succession(void **state)
{
	struct canfs_govern_law law;
	uint64_t paused_usec;

	(void)state;
	canfs_govern_law_init(&law, &with_a_share, 1000000);
	until(&law, true, 1, 10);
	paused_usec = law.since_usec;
	while (law.is_paused) {
		uint64_t now_usec = law.stepped_usec + 20000;
		double sec = (double)(now_usec - paused_usec) / 1e6;

		assert_true(sec < 0.5);
		canfs_govern_law_step(&law, price_of(exp(-sec / 2), now_usec), now_usec);
	}
	assert_int_equal(law.reason, CANFS_GOVERN_FALLS);
}

/* Pushed is what moves: two steps down, and then the same for as long as nothing comes. */
static void test_silence_is_no_fall(void **state)
{
	static const uint64_t pushed_usec[] = { 100000, 200000, 1100000, 2000000 };
	struct canfs_govern_price price = price_of(0.9, 0);
	struct canfs_govern_law law;
	uint64_t paused_usec;
	size_t next = 0;

	(void)state;
	canfs_govern_law_init(&law, &with_a_share, 1000000);
	until(&law, true, 1, 10);
	paused_usec = law.since_usec;
	for (uint64_t usec = 10000; usec < 2500000; usec += 10000) {
		if (next < sizeof(pushed_usec) / sizeof(pushed_usec[0]) &&
			usec == pushed_usec[next]) {
			price.price = next == 0 ? 0.9 : 0.8;
			price.usec = paused_usec + usec;
			next++;
		}
		assert_true(canfs_govern_law_step(&law, price, paused_usec + usec));
	}
}

static void test_without_a_price_it_is_not_paused(void **state)
{
	struct canfs_govern_law law;
	uint64_t now_usec = 1000000;

	(void)state;
	canfs_govern_law_init(&law, &with_a_share, now_usec);
	for (int i = 0; i < 1000; i++) {
		now_usec += 100000;
		assert_false(canfs_govern_law_step(&law, price_of(NAN, 0), now_usec));
	}
}

/* A step is due when the law says, and not before. */
static void test_due(void **state)
{
	struct canfs_govern_terms terms = { .bid = 0.5, .at_least = 0, .patience_usec = 7000000 };
	struct canfs_govern_law law;
	uint64_t due_usec;

	(void)state;
	canfs_govern_law_init(&law, &terms, 1000000);
	due_usec = canfs_govern_law_due_usec(&law);
	assert_true(due_usec > 1000000 && due_usec < 10000000);
	assert_false(canfs_govern_law_step(&law, price_of(0.9, due_usec - 1), due_usec - 1));
	assert_true(canfs_govern_law_step(&law, price_of(0.9, due_usec - 1), due_usec));
	assert_true(canfs_govern_law_due_usec(&law) == due_usec + 7000000);
	terms.at_least = 1;
	canfs_govern_law_init(&law, &terms, 1000000);
	assert_true(canfs_govern_law_due_usec(&law) == UINT64_MAX);
}

/* Somebody else has come, and no further price tells: what it is has been said. */
static void test_a_rise_is_heeded_in_time(void **state)
{
	struct canfs_govern_law law;
	uint64_t due_usec;

	(void)state;
	canfs_govern_law_init(&law, &with_a_share, 1000000);
	do {
		until(&law, true, 0.6, 30);
		until(&law, false, 0.1, 10);
	} while (law.run_sec < 1.4);
	due_usec = canfs_govern_law_due_usec(&law);
	assert_true(due_usec <= law.since_usec + 1000001);
	assert_false(canfs_govern_law_step(
		&law, price_of(0.9, law.since_usec + 300000), law.since_usec + 300000));
	due_usec = canfs_govern_law_due_usec(&law);
	assert_true(due_usec <= law.since_usec + 1000001);
	assert_true(canfs_govern_law_step(&law, price_of(0.9, law.since_usec + 300000), due_usec));
}

/* Whatever prices come, and whenever: what is promised holds. */
static void test_bounds_at_random_prices(void **state)
{
	unsigned short random[3] = { 1, 2, 3 };

	(void)state;
	for (int trial = 0; trial < 50; trial++) {
		struct canfs_govern_terms terms = { erand48(random), erand48(random) * 0.5,
			1000000 + (uint64_t)(erand48(random) * 2e7) };
		double ran_sec = 0, total_sec = 0;
		struct canfs_govern_law law;
		uint64_t now_usec = 1000000;

		canfs_govern_law_init(&law, &terms, now_usec);
		while (total_sec < 300) {
			uint64_t due_usec = canfs_govern_law_due_usec(&law);
			uint64_t step_usec = 1 + (uint64_t)(erand48(random) * 150000);
			bool paused = law.is_paused;

			assert_true(due_usec >= now_usec);
			if (step_usec > due_usec - now_usec)
				step_usec = due_usec - now_usec;
			now_usec += step_usec;
			total_sec += (double)step_usec / 1e6;
			ran_sec += paused ? 0 : (double)step_usec / 1e6;
			canfs_govern_law_step(&law, price_of(erand48(random), now_usec), now_usec);
			assert_true(
				!law.is_paused || now_usec - law.since_usec < terms.patience_usec);
		}
		assert_true(ran_sec >= terms.at_least * total_sec - law.slice_sec);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone_it_runs),
		cmocka_unit_test(test_alone_with_requests_in_flight),
		cmocka_unit_test(test_beside_busy_others_it_has_its_share),
		cmocka_unit_test(test_beside_a_steady_load_it_yields),
		cmocka_unit_test(test_beside_half_busy_others_it_uses_the_rest),
		cmocka_unit_test(test_others_that_are_told_of_are_yielded_to),
		cmocka_unit_test(test_servers_that_average_otherwise),
		cmocka_unit_test(test_no_pause_is_longer_than_patience),
		cmocka_unit_test(test_terms_that_pause_nothing),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_an_old_price_is_no_answer),
		cmocka_unit_test(test_a_fall_that_stops_above_the_bid),
		cmocka_unit_test(test_prices_in_quick_succession),
		cmocka_unit_test(test_silence_is_no_fall),
		cmocka_unit_test(test_without_a_price_it_is_not_paused),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_a_rise_is_heeded_in_time),
		cmocka_unit_test(test_bounds_at_random_prices),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
