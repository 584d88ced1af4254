// SPDX-License-Identifier: LGPL-3.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "client-agent/auction/pace.h"

#define TICK_USEC 100000
#define MIB       (1 << 20)

/* A server at this price, a client with some data and much room, a tenth of a second. */
static struct canfs_pace_view at_price(double server_price)
{
	return (struct canfs_pace_view) {
		.own_price = 0.02,
		.server_price = server_price,
		.held_bytes = 50ull * MIB,
		.headroom_bytes = 500ull * MIB,
		.elapsed_usec = TICK_USEC,
	};
}

static uint64_t run(struct canfs_pace *pace, const struct canfs_pace_view *view, unsigned int ticks)
{
	uint64_t sent = 0;

	for (unsigned int i = 0; i < ticks; i++) {
		uint64_t bytes = canfs_pace_step(pace, view);

		assert_true(bytes <= CANFS_PACE_BURST_MAX_BYTES);
		assert_int_equal(bytes % CANFS_PACE_CHUNK_BYTES, 0);
		assert_true(pace->rate_bytes_per_sec >= CANFS_PACE_MIN_BYTES_PER_SEC);
		assert_true(pace->rate_bytes_per_sec <= CANFS_PACE_MAX_BYTES_PER_SEC);
		sent += bytes;
	}
	return sent;
}

static const struct canfs_pace_view idle = { .own_price = 0.02,
	.held_bytes = 50ull * MIB,
	.headroom_bytes = 500ull * MIB,
	.elapsed_usec = TICK_USEC };

static void test_nothing_leaves_beyond_the_taper(void **state)
{
	struct canfs_pace_view expensive = at_price(CANFS_PACE_BID_MIN + CANFS_PACE_TAPER);
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	assert_int_equal(run(&pace, &expensive, 50), 0);
	assert_true(run(&pace, &idle, 50) > 0);
	assert_int_equal(run(&pace, &expensive, 1), 0);
}

static void test_the_price_tapers_what_is_sent(void **state)
{
	uint64_t before = UINT64_MAX;

	(void)state;
	for (double price = 0.1; price < 0.75; price += 0.15) {
		struct canfs_pace_view view = at_price(price);
		struct canfs_pace pace;
		uint64_t sent;

		canfs_pace_init(&pace);
		pace.rate_bytes_per_sec = 100 * MIB;
		sent = run(&pace, &view, 10);
		assert_true(sent < before);
		assert_true(sent > 0);
		before = sent;
	}
}

/* Of a link of 100 Mbit/s something is left for others to show, unless the data cannot wait. */
static void test_keeps_to_the_own_network(void **state)
{
	struct canfs_pace_view view = idle, needed = at_price(0), old = idle;
	struct canfs_pace pace;

	(void)state;
	view.network_bytes_per_sec = needed.network_bytes_per_sec = old.network_bytes_per_sec =
		12.5e6;
	needed.own_price = 2 * CANFS_PACE_BID_MIN;
	old.held_usec = CANFS_PACE_DEADLINE_USEC;
	canfs_pace_init(&pace);
	assert_in_range(run(&pace, &view, 100), 90000000, 100000000);
	assert_true(pace.rate_bytes_per_sec <= CANFS_PACE_NETWORK_SHARE * 12.5e6);
	run(&pace, &needed, 100);
	assert_true(pace.rate_bytes_per_sec == 12.5e6);
	run(&pace, &view, 1);
	assert_true(pace.rate_bytes_per_sec == CANFS_PACE_NETWORK_SHARE * 12.5e6);
	run(&pace, &old, 100);
	assert_true(pace.rate_bytes_per_sec == 12.5e6);
	view.network_bytes_per_sec = 1;
	run(&pace, &view, 1);
	assert_true(pace.rate_bytes_per_sec == CANFS_PACE_MIN_BYTES_PER_SEC);
	view.network_bytes_per_sec = 0; /* not known */
	run(&pace, &view, 100);
	assert_true(pace.rate_bytes_per_sec > 12.5e6);
}

static void test_grows_while_cheap_and_fast_if_idle(void **state)
{
	struct canfs_pace_view level = at_price(CANFS_PACE_BID_MIN);
	struct canfs_pace pace, other;

	(void)state;
	canfs_pace_init(&pace);
	canfs_pace_init(&other);
	run(&pace, &idle, 10); /* 1 s */
	run(&other, &level, 10);
	assert_true(pace.rate_bytes_per_sec > 6 * CANFS_PACE_START_BYTES_PER_SEC);
	assert_true(other.rate_bytes_per_sec > CANFS_PACE_START_BYTES_PER_SEC);
	assert_true(other.rate_bytes_per_sec < 1.5 * CANFS_PACE_START_BYTES_PER_SEC);
	run(&pace, &idle, 1000); /* run() looks at the bounds */
}

/* While nothing is sent, others make the server expensive: it says nothing about our share. */
static void test_remembers_half_of_what_was_borne(void **state)
{
	struct canfs_pace_view expensive = at_price(1);
	struct canfs_pace pace;
	double top;

	(void)state;
	canfs_pace_init(&pace);
	run(&pace, &idle, 20);
	top = pace.rate_bytes_per_sec;
	run(&pace, &expensive, 300);
	assert_true(pace.rate_bytes_per_sec > top * 0.49 && pace.rate_bytes_per_sec < top * 0.51);
}

static void test_small_shares_are_single_chunks(void **state)
{
	struct canfs_pace_view level = at_price(CANFS_PACE_BID_MIN + 1e-6);
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	pace.rate_bytes_per_sec = 0.1 * MIB;
	assert_in_range(run(&pace, &level, 1000), 9 * MIB, 10 * MIB); /* 100 s */
	/* It was away for an hour. */
	level.elapsed_usec = 3600ull * 1000000;
	assert_int_equal(canfs_pace_step(&pace, &level), CANFS_PACE_CHUNK_BYTES);
}

/* A log of 0.5 MiB/s on an idle server: a COMMIT for each 4 MiB, not for each chunk. */
static void test_a_trickle_leaves_in_few_commits(void **state)
{
	struct canfs_pace_view view = idle;
	double held = 0, most = 0;
	unsigned int sends = 0;
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	view.fill_bytes_per_sec = 0.5 * MIB;
	for (int i = 0; i < 600; i++) {
		uint64_t bytes;

		held += 0.05 * MIB;
		most = held > most ? held : most;
		view.held_bytes = (uint64_t)held;
		bytes = canfs_pace_step(&pace, &view);
		sends += bytes > 0;
		held -= (double)bytes > held ? held : (double)bytes;
	}
	assert_in_range(sends, 6, 8); /* 30 MiB */
	assert_true(most < CANFS_PACE_WORTH_BYTES + MIB);
}

/* A stream of 33 MB/s: a COMMIT for each 8 MiB, not one at each tick; and as much as without batches. */
static void test_a_stream_leaves_in_batches(void **state)
{
	struct canfs_pace_view level = at_price(CANFS_PACE_BID_MIN);
	uint64_t sent = 0;
	unsigned int sends = 0;
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	for (int i = 0; i < 100; i++) {
		uint64_t bytes;

		pace.rate_bytes_per_sec = 33 * MIB;
		bytes = canfs_pace_step(&pace, &level);
		sends += bytes > 0;
		sent += bytes;
	}
	assert_in_range(sends, 30, 40);
	assert_in_range(sent, 320 * MIB, 340 * MIB);
	/* What is left is less than a batch. */
	level.held_bytes = 2 * MIB;
	pace.credit_bytes = 2 * MIB;
	assert_in_range(canfs_pace_step(&pace, &level), 2 * MIB, 6 * MIB);
}

/* Little, but there is no memory for it, or no more to come. */
static void test_what_does_not_gather(void **state)
{
	struct canfs_pace_view view = idle;
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	view.fill_bytes_per_sec = 0.5 * MIB;
	view.held_bytes = MIB / 2;
	assert_int_equal(run(&pace, &view, 50), 0);
	view.held_bytes = 3 * MIB;
	assert_int_equal(run(&pace, &view, 50), 0);
	view.own_price = 2 * CANFS_PACE_BID_MIN;
	assert_true(run(&pace, &view, 1) > 0);
	view = idle;
	view.held_bytes = MIB / 2;
	view.fill_bytes_per_sec = 0;
	assert_true(run(&pace, &view, 1) > 0);
}

static void test_a_late_caller_gets_no_flood(void **state)
{
	struct canfs_pace_view late = idle;
	struct canfs_pace pace;

	(void)state;
	late.elapsed_usec = 3600ull * 1000000;
	canfs_pace_init(&pace);
	assert_in_range(canfs_pace_step(&pace, &late), 0, 4 * MIB);
	assert_true(pace.rate_bytes_per_sec < 2 * CANFS_PACE_START_BYTES_PER_SEC);
}

static void test_what_is_old_outbids(void **state)
{
	struct canfs_pace_view view = at_price(0.9);
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	assert_int_equal(run(&pace, &view, 50), 0);
	view.held_usec = CANFS_PACE_DEADLINE_USEC * 3 / 4;
	assert_true(run(&pace, &view, 50) > 0);
	view.server_price = 1;
	view.held_usec = 2 * CANFS_PACE_DEADLINE_USEC;
	assert_true(run(&pace, &view, 50) > 0);
}

/* Full within a second: at least what is written leaves, at any price. */
static void test_a_writer_is_not_outrun(void **state)
{
	struct canfs_pace_view view = at_price(1);
	struct canfs_pace pace;

	(void)state;
	canfs_pace_init(&pace);
	view.fill_bytes_per_sec = 100 * MIB;
	view.headroom_bytes = 101 * MIB;
	assert_int_equal(run(&pace, &view, 20), 0);
	view.headroom_bytes = 99 * MIB;
	assert_in_range(run(&pace, &view, 20), 199 * MIB, 200 * MIB);
}

/* A writer of 5 MiB/s: what leaves in each of so many seconds at this price, the most in one of them. */
struct writer {
	struct canfs_pace pace;
	double held_bytes;
	uint64_t age_usec;
	double own_price;
};

static double most_in_a_second(struct writer *writer, double server_price, unsigned int seconds)
{
	struct canfs_pace_view view = at_price(server_price);
	double most = 0;

	while (seconds--) {
		double sent = 0;

		for (int i = 0; i < 10; i++) {
			uint64_t bytes;

			writer->held_bytes += 0.5 * MIB;
			view.held_usec = writer->age_usec += TICK_USEC;
			view.held_bytes = (uint64_t)writer->held_bytes;
			view.fill_bytes_per_sec = 5 * MIB;
			view.own_price = writer->own_price;
			bytes = canfs_pace_step(&writer->pace, &view);
			if ((double)bytes > writer->held_bytes)
				bytes = (uint64_t)writer->held_bytes;
			writer->held_bytes -= (double)bytes;
			sent += (double)bytes;
		}
		most = sent > most ? sent : most;
	}
	return most / MIB;
}

static struct writer writer_at(double own_price)
{
	struct writer writer = { .own_price = own_price };

	canfs_pace_init(&writer.pace);
	return writer;
}

static void test_what_was_held_back_leaves_evenly(void **state)
{
	static const unsigned int spells_sec[] = { 5, 10, 15 };

	(void)state;
	for (size_t i = 0; i < sizeof(spells_sec) / sizeof(spells_sec[0]); i++) {
		struct writer writer = writer_at(0.02);
		unsigned int left_sec = CANFS_PACE_GONE_USEC / 1000000 - spells_sec[i];

		most_in_a_second(&writer, 0.8, spells_sec[i]);
		assert_true(writer.held_bytes > 0.5 * spells_sec[i] * 5 * MIB);
		assert_true(most_in_a_second(&writer, 0, left_sec) <= 3 * 5);
		assert_true(writer.held_bytes < 5 * MIB); /* before the kernel sends it */
		/* Long after, nothing is left of it. */
		most_in_a_second(&writer, 0, 30);
		assert_true(writer.pace.even_bytes_per_sec == 0);
		assert_true(writer.pace.rate_bytes_per_sec > 100 * MIB);
	}
}

/* Neither cheap nor urgent: the rate that sank is not lifted to disturb those that find it expensive. */
static void test_what_was_held_back_waits_for_its_time(void **state)
{
	struct writer writer = writer_at(0.02);

	(void)state;
	most_in_a_second(&writer, 0.8, 10);
	assert_true(most_in_a_second(&writer, 0.3, 3) <= 2);
	assert_true(most_in_a_second(&writer, 0.1, 3) > 5);
}

/* A reader that stops for a moment, as when TCP sends a lost packet again after 0.2 s, comes back. */
static void test_a_pause_does_not_end_a_spell(void **state)
{
	struct canfs_pace_view pause = at_price(0), expensive = at_price(0.8);
	struct writer writer = writer_at(0.02);

	(void)state;
	most_in_a_second(&writer, 0.8, 12);
	pause.held_usec = expensive.held_usec = writer.age_usec;
	assert_in_range(run(&writer.pace, &pause, 4), 0, 8 * MIB);
	assert_true(writer.pace.even_bytes_per_sec == 0);
	assert_in_range(run(&writer.pace, &expensive, 10), 0, 2 * MIB);
	run(&writer.pace, &pause, 6);
	assert_true(writer.pace.even_bytes_per_sec > 0);
}

/* As the times of high prices of a herd are. */
static void test_a_short_spell_bounds_nothing(void **state)
{
	struct writer writer = writer_at(0.02);

	(void)state;
	most_in_a_second(&writer, 0.8, CANFS_PACE_SPELL_USEC / 1000000 - 1);
	most_in_a_second(&writer, 0, 3);
	assert_true(writer.pace.rate_bytes_per_sec > 50 * MIB);
}

static void test_short_memory_is_not_smooth(void **state)
{
	struct writer writer = writer_at(0.02);

	(void)state;
	most_in_a_second(&writer, 0.8, 15);
	writer.own_price = 0.5;
	assert_true(most_in_a_second(&writer, 0, 10) > 30);
}

/* A client that writes more than before is not held up by what was. */
static void test_the_bound_ends(void **state)
{
	struct writer writer = writer_at(0.02);

	(void)state;
	most_in_a_second(&writer, 0.8, 6);
	most_in_a_second(&writer, 0, 1);
	assert_true(writer.pace.even_bytes_per_sec > 0);
	for (int i = 0; i < 10; i++) {
		writer.held_bytes += 100 * MIB;
		most_in_a_second(&writer, 0, 1);
	}
	assert_true(writer.pace.even_bytes_per_sec == 0);
}

static void test_uncommitted_data_closes_the_window(void **state)
{
	struct canfs_pace_view view = idle;
	struct canfs_pace pace;
	double top;

	(void)state;
	canfs_pace_init(&pace);
	run(&pace, &idle, 20);
	top = pace.rate_bytes_per_sec;
	view.in_flight_bytes = (uint64_t)top; /* a second's worth */
	assert_int_equal(canfs_pace_step(&pace, &view), 0);
	for (int i = 0; i < 20; i++)
		canfs_pace_step(&pace, &view);
	assert_true(pace.rate_bytes_per_sec < top);
	/* The least window stays, so that a server whose COMMITs are slow still gets something. */
	canfs_pace_init(&pace);
	view.in_flight_bytes = CANFS_PACE_WINDOW_MIN_BYTES;
	assert_true(run(&pace, &view, 20) > 0);
}

/* The next batch is ready when the server has committed the last: it waits for one of both, not for one after the other. */
static void test_a_batch_is_earned_while_the_last_is_committed(void **state)
{
	struct canfs_pace_view open = at_price(CANFS_PACE_BID_MIN), closed = open;
	struct canfs_pace pace;

	(void)state;
	closed.in_flight_bytes = 40ull * MIB;
	canfs_pace_init(&pace);
	pace.rate_bytes_per_sec = pace.even_bytes_per_sec = 40.0 * MIB;
	pace.even_sec = 60; /* it is after a spell */
	assert_int_equal(run(&pace, &closed, 3), 0);
	assert_in_range(canfs_pace_step(&pace, &open), 8 * MIB, 15 * MIB);
	/* No more than one, however long that took. */
	assert_int_equal(run(&pace, &closed, 20), 0);
	assert_in_range(canfs_pace_step(&pace, &open), 1, 8 * MIB);
}

static void test_blind_pace_is_steady(void **state)
{
	struct canfs_pace pace;
	uint64_t sent = 0;

	(void)state;
	canfs_pace_init(&pace);
	for (int i = 0; i < 100; i++)
		sent += canfs_pace_blind(&pace, 0, TICK_USEC);
	assert_in_range(sent, 318 * (uint64_t)MIB, 320 * (uint64_t)MIB);
	assert_int_equal(canfs_pace_blind(&pace, 1ull << 40, TICK_USEC), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_leaves_beyond_the_taper),
		cmocka_unit_test(test_the_price_tapers_what_is_sent),
		cmocka_unit_test(test_keeps_to_the_own_network),
		cmocka_unit_test(test_grows_while_cheap_and_fast_if_idle),
		cmocka_unit_test(test_remembers_half_of_what_was_borne),
		cmocka_unit_test(test_small_shares_are_single_chunks),
		cmocka_unit_test(test_a_trickle_leaves_in_few_commits),
		cmocka_unit_test(test_a_stream_leaves_in_batches),
		cmocka_unit_test(test_what_does_not_gather),
		cmocka_unit_test(test_a_late_caller_gets_no_flood),
		cmocka_unit_test(test_what_is_old_outbids),
		cmocka_unit_test(test_a_writer_is_not_outrun),
		cmocka_unit_test(test_what_was_held_back_leaves_evenly),
		cmocka_unit_test(test_what_was_held_back_waits_for_its_time),
		cmocka_unit_test(test_a_pause_does_not_end_a_spell),
		cmocka_unit_test(test_a_short_spell_bounds_nothing),
		cmocka_unit_test(test_short_memory_is_not_smooth),
		cmocka_unit_test(test_the_bound_ends),
		cmocka_unit_test(test_uncommitted_data_closes_the_window),
		cmocka_unit_test(test_a_batch_is_earned_while_the_last_is_committed),
		cmocka_unit_test(test_blind_pace_is_steady),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
