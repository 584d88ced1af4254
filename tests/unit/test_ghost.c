// SPDX-License-Identifier: LGPL-3.0-or-later
/* Ghost caches against an exact LRU cache, and their bounds on traces that mean no good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <cmocka.h>
#include "pricing/ghost.h"
#include "tests/unit/exact_lru.h"

#define PAGES    100000u
#define CACHE    50000u /* pages */
#define ACCESSES 200000u
#define SEED     42
#define MEMORY   (16u << 20)

/* A source of page numbers below 2 * PAGES + ACCESSES. */
struct trace {
	const char *name;
	uint32_t (*next)(struct trace *trace);
	double skew;   /* of the Zipf part */
	uint32_t loop; /* pages of the loop */
	double *zipf;
	uint32_t scanned, looped;
	uint64_t random;
};

static uint32_t next_zipf(struct trace *trace)
{
	return zipf_draw(trace->zipf, PAGES, &trace->random);
}

static uint32_t next_loop(struct trace *trace)
{
	return PAGES + trace->looped++ % trace->loop;
}

static uint32_t next_scan(struct trace *trace)
{
	return 2 * PAGES + trace->scanned++;
}

static uint32_t next_mixed(struct trace *trace)
{
	double x = trace_random(&trace->random);

	return x < 0.5 ? next_zipf(trace) : x < 0.8 ? next_loop(trace) : next_scan(trace);
}

static const struct trace traces[] = {
	{ .name = "uniform", .next = next_zipf, .skew = 0 },
	{ .name = "zipf 0.6", .next = next_zipf, .skew = 0.6 },
	{ .name = "zipf 0.8", .next = next_zipf, .skew = 0.8 },
	{ .name = "zipf 1.0", .next = next_zipf, .skew = 1.0 },
	{ .name = "zipf 1.2", .next = next_zipf, .skew = 1.2 },
	{ .name = "scan", .next = next_scan },
	{ .name = "loop in front", .next = next_loop, .loop = CACHE / 3 },
	{ .name = "loop to the last part", .next = next_loop, .loop = CACHE * 3 / 4 },
	{ .name = "loop to the ghost beyond", .next = next_loop, .loop = CACHE * 5 / 4 },
	{ .name = "loop too long", .next = next_loop, .loop = PAGES },
	{ .name = "mixed", .next = next_mixed, .skew = 0.9, .loop = CACHE / 4 },
	{ .name = "mixed, long loop", .next = next_mixed, .skew = 0.6, .loop = CACHE },
};

struct comparison {
	size_t memory_bytes; /* of each list */
	bool one_file;       /* or else each page is a file of its own */
	unsigned int lists;  /* each sees all of the trace, with a hash of its own */
	uint64_t page_bytes; /* what a trace calls a page is read as a whole */
};

static void read_page(struct canfs_ghost *ghost, uint32_t page, const struct comparison *how)
{
	canfs_ghost_read(ghost, how->one_file ? 1 : page,
		how->one_file ? page * how->page_bytes : 0, how->page_bytes);
}
#define LISTS_MAX 4

static void feed_all(
	struct canfs_ghost **ghosts, const struct comparison *how, uint32_t i, uint32_t page)
{
	for (unsigned int list = 0; list < how->lists; list++) {
		read_page(ghosts[list], page, how);
		/* As the monitor does, once in a while. */
		if (i % 10000 == 0)
			canfs_ghost_resize(ghosts[list], CACHE * how->page_bytes);
	}
}

static struct canfs_ghost_tally take_all(struct canfs_ghost **ghosts, unsigned int lists)
{
	struct canfs_ghost_tally tally = { 0 };

	for (unsigned int list = 0; list < lists; list++)
		canfs_ghost_take(ghosts[list], &tally);
	return tally;
}

/* The first half of the trace warms the caches up. */
static struct canfs_ghost_forecast run(
	struct trace *trace, const struct comparison *how, double exact[3])
{
	struct canfs_ghost *ghosts[LISTS_MAX];
	struct canfs_ghost_tally tally = { 0 };
	struct exact_lru lru;

	trace->zipf = zipf_new(PAGES, trace->skew);
	exact_lru_init(&lru, 2 * PAGES + ACCESSES, ACCESSES);
	for (unsigned int list = 0; list < how->lists; list++)
		assert_int_equal(canfs_ghost_new(&ghosts[list], how->memory_bytes, SEED + list), 0);
	for (uint32_t i = 0; i < ACCESSES; i++) {
		uint32_t page = trace->next(trace);
		uint32_t distance = exact_lru_access(&lru, page);

		if (i == ACCESSES / 2)
			take_all(ghosts, how->lists);
		feed_all(ghosts, how, i, page);
		if (i >= ACCESSES / 2) {
			exact[0] += distance <= CACHE * (1 - CANFS_GHOST_LAST_SHARE);
			exact[1] += distance <= CACHE;
			exact[2] += distance <= CACHE * (1 + CANFS_GHOST_BEYOND_SHARE);
		}
	}
	tally = take_all(ghosts, how->lists);
	for (unsigned int list = 0; list < how->lists; list++) {
		assert_true(canfs_ghost_used_bytes(ghosts[list]) <= how->memory_bytes);
		canfs_ghost_free(ghosts[list]);
	}
	exact_lru_free(&lru);
	free(trace->zipf);
	return canfs_ghost_forecast(&tally);
}

static void compare(const struct comparison *how)
{
	for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
		struct trace trace = traces[i];
		double exact[3] = { 0 };
		struct canfs_ghost_forecast forecast = run(&trace, how, exact);

		for (int c = 0; c < 3; c++)
			exact[c] /= ACCESSES / 2;
		print_message("%-24s exact %.3f %.3f %.3f ghost %.3f %.3f %.3f utilization %.2f\n",
			trace.name, exact[0], exact[1], exact[2], forecast.hit_less, forecast.hit,
			forecast.hit_more, forecast.utilization);
		assert_true(fabs(forecast.hit_less - exact[0]) <= 0.05);
		assert_true(fabs(forecast.hit - exact[1]) <= 0.05);
		assert_true(fabs(forecast.hit_more - exact[2]) <= 0.05);
	}
}

static void forecasts_what_an_lru_cache_hits(void **state)
{
	(void)state;
	compare(&(struct comparison) { MEMORY, true, 1, 4096 });
	compare(&(struct comparison) { MEMORY, false, 1, 4096 });
}

/* 49 GiB: few of all units are in the sample, which must tell as much of them as of a small cache. */
static void forecasts_a_large_cache_from_large_reads(void **state)
{
	(void)state;
	compare(&(struct comparison) { MEMORY, true, 1, 1u << 20 });
	compare(&(struct comparison) { MEMORY, false, 1, 1u << 20 });
}

/* A list of 400 pages errs by 1 / sqrt(400) or so, several of them by less. */
static void forecasts_from_samples_that_outgrew_their_memory(void **state)
{
	(void)state;
	compare(&(struct comparison) { MEMORY / 1024, true, LISTS_MAX, 4096 });
}

/* The hit rates of a cache of so many pages that is read over and over. */
static struct canfs_ghost_forecast loop_over(
	struct canfs_ghost *ghost, uint64_t file, uint32_t pages, unsigned int rounds)
{
	struct canfs_ghost_tally tally = { 0 };

	for (unsigned int round = 0; round < rounds; round++) {
		tally = (struct canfs_ghost_tally) { 0 };
		for (uint32_t page = 0; page < pages; page += 8)
			canfs_ghost_read(ghost, file, (uint64_t)page * 4096, 8 * 4096);
		canfs_ghost_take(ghost, &tally);
	}
	return canfs_ghost_forecast(&tally);
}

static struct canfs_ghost *new_ghost(size_t memory_bytes, uint32_t cache_pages)
{
	struct canfs_ghost *ghost;

	assert_int_equal(canfs_ghost_new(&ghost, memory_bytes, SEED), 0);
	canfs_ghost_resize(ghost, cache_pages * 4096ull);
	return ghost;
}

static void memory_is_worth_what_lies_at_the_end_of_the_cache(void **state)
{
	struct canfs_ghost *ghost = new_ghost(MEMORY, CACHE);

	(void)state;
	/* There is twice as much as anybody reads: a half can be spared. */
	assert_true(loop_over(ghost, 1, CACHE / 3, 4).utilization < 0.01);
	/* None can be spared; all would be won by more; nothing would help. */
	assert_true(loop_over(ghost, 2, CACHE * 3 / 4, 4).utilization > 0.95);
	assert_true(loop_over(ghost, 3, CACHE * 5 / 4, 4).utilization > 0.95);
	assert_true(loop_over(ghost, 4, CACHE * 2, 4).utilization < 0.01);
	canfs_ghost_free(ghost);
}

static void a_cache_that_nobody_reads_is_worth_nothing(void **state)
{
	struct canfs_ghost_tally tally = { .seen = 1e6, .last = 1e6 };

	(void)state;
	assert_true(canfs_ghost_forecast(&tally).utilization > 0.99);
	canfs_ghost_fade(&tally, 1e-6);
	assert_true(canfs_ghost_forecast(&tally).utilization < 0.01);
	assert_true(canfs_ghost_forecast(&tally).hit == 1);
	canfs_ghost_fade(&tally, 0);
	assert_true(canfs_ghost_forecast(&tally).utilization == 0);
	assert_true(canfs_ghost_forecast(&tally).hit == 0);
}

/* A hot page that is sampled by chance, or is not: more may be found than was seen, or less. */
static void forecast_is_a_hit_rate_whatever_was_sampled(void **state)
{
	static const struct canfs_ghost_tally tallies[] = { { 10, 20, 0, 0 }, { 10, 0, 0, 20 },
		{ 10, 20, 20, 20 }, { 0, 1, 1, 1 }, { 1e300, 1e300, 1e300, 1e300 },
		{ INFINITY, INFINITY, 1, 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(tallies) / sizeof(tallies[0]); i++) {
		struct canfs_ghost_forecast f = canfs_ghost_forecast(&tallies[i]);

		assert_true(f.hit_less >= 0 && f.hit_less <= f.hit && f.hit <= f.hit_more);
		assert_true(f.hit_more <= 1 && f.utilization >= 0 && f.utilization <= 1);
	}
}

static void follows_the_size_of_the_cache(void **state)
{
	struct canfs_ghost *ghost = new_ghost(MEMORY, CACHE);
	struct canfs_ghost_forecast forecast = loop_over(ghost, 1, CACHE * 3 / 4, 3);

	(void)state;
	assert_true(forecast.hit_less < 0.05 && forecast.hit > 0.95);
	/* Shrinks: it is still known where what was beyond would be. */
	canfs_ghost_resize(ghost, CACHE / 2 * 4096ull);
	forecast = loop_over(ghost, 1, CACHE * 3 / 4 - 2000, 3);
	assert_true(forecast.hit < 0.05 && forecast.hit_more > 0.95);
	/* Grows, in one step and while it is read. */
	canfs_ghost_resize(ghost, CACHE * 2 * 4096ull);
	forecast = loop_over(ghost, 1, CACHE * 3 / 4, 3);
	assert_true(forecast.hit_less > 0.95);
	for (uint32_t pages = 1; pages < CACHE; pages = pages * 3 / 2 + 1) {
		canfs_ghost_resize(ghost, pages * 4096ull);
		forecast = loop_over(ghost, 1, CACHE / 8, 2);
	}
	assert_true(forecast.hit_less > 0.95);
	canfs_ghost_resize(ghost, 0);
	forecast = loop_over(ghost, 1, CACHE / 8, 2);
	assert_true(forecast.hit_more < 0.05);
	canfs_ghost_free(ghost);
}

static void samples_more_again_when_there_is_room(void **state)
{
	struct canfs_ghost *ghost = new_ghost(MEMORY, 1u << 28);
	uint64_t lowered;

	(void)state;
	for (uint64_t i = 0; i < 1u << 18; i++)
		canfs_ghost_read(ghost, i % 7, i / 7 * (4u << 20), 4u << 20);
	lowered = canfs_ghost_threshold(ghost);
	assert_true(lowered < UINT64_MAX / 4);
	for (int i = 0; i < 20; i++) {
		canfs_ghost_resize(ghost, CACHE * 4096ull);
		loop_over(ghost, 9, CACHE * 2, 1);
	}
	assert_true(canfs_ghost_threshold(ghost) >= UINT64_MAX / 2);
	assert_true(loop_over(ghost, 9, CACHE * 3 / 4, 3).hit > 0.95);
	canfs_ghost_free(ghost);
}

static void memory_is_bounded_whatever_is_read(void **state)
{
	static const size_t memories[] = { CANFS_GHOST_MEMORY_MIN_BYTES, 65536, 1u << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
		struct canfs_ghost *ghost = new_ghost(memories[i], UINT32_MAX);
		struct canfs_ghost_tally tally = { 0 };

		/* All different, then all the same. */
		for (uint32_t n = 0; n < 200000; n++) {
			canfs_ghost_read(ghost, n, 0, 4096);
			if (n % 65536 == 0)
				assert_true(canfs_ghost_used_bytes(ghost) <= memories[i]);
		}
		canfs_ghost_take(ghost, &tally);
		/* A small sample errs. */
		assert_true(canfs_ghost_forecast(&tally).hit_more < 20 / sqrt((double)memories[i]));
		tally = (struct canfs_ghost_tally) { 0 };
		for (uint32_t n = 0; n < 200000; n++)
			canfs_ghost_read(ghost, 1, 0, 4096);
		canfs_ghost_take(ghost, &tally);
		assert_true(canfs_ghost_forecast(&tally).hit_less > 0.95);
		assert_true(canfs_ghost_used_bytes(ghost) <= memories[i]);
		canfs_ghost_free(ghost);
	}
}

static void odd_reads_do_no_harm(void **state)
{
	struct canfs_ghost *ghost = new_ghost(65536, CACHE);
	struct canfs_ghost_tally tally = { 0 };

	(void)state;
	canfs_ghost_read(ghost, 1, 0, 0);
	canfs_ghost_read(ghost, 1, UINT64_MAX, 0);
	canfs_ghost_take(ghost, &tally);
	assert_true(tally.seen == 0 && tally.missed == 0);
	canfs_ghost_read(ghost, 1, UINT64_MAX, UINT64_MAX);
	canfs_ghost_read(ghost, 1, UINT64_MAX - 10, 100);
	canfs_ghost_read(ghost, 1, UINT64_MAX - (1u << 20), UINT64_MAX);
	canfs_ghost_read(ghost, 1, 0, UINT64_MAX);
	canfs_ghost_take(ghost, &tally);
	assert_true(tally.seen <= 3 * (CANFS_GHOST_READ_MAX_BYTES / 4096));
	canfs_ghost_resize(ghost, UINT64_MAX);
	canfs_ghost_read(ghost, 2, 1, 4096); /* two pages, one byte of the second */
	tally = (struct canfs_ghost_tally) { 0 };
	canfs_ghost_take(ghost, &tally);
	assert_true(tally.seen == 2);
	canfs_ghost_free(ghost);
	canfs_ghost_free(NULL);
}

static void refuses_memory_out_of_range(void **state)
{
	struct canfs_ghost *ghost;

	(void)state;
	assert_int_equal(canfs_ghost_new(&ghost, 0, SEED), -EINVAL);
	assert_int_equal(canfs_ghost_new(&ghost, CANFS_GHOST_MEMORY_MIN_BYTES - 1, SEED), -EINVAL);
	assert_int_equal(canfs_ghost_new(&ghost, CANFS_GHOST_MEMORY_MAX_BYTES + 1, SEED), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forecasts_what_an_lru_cache_hits),
		cmocka_unit_test(forecasts_a_large_cache_from_large_reads),
		cmocka_unit_test(forecasts_from_samples_that_outgrew_their_memory),
		cmocka_unit_test(memory_is_worth_what_lies_at_the_end_of_the_cache),
		cmocka_unit_test(a_cache_that_nobody_reads_is_worth_nothing),
		cmocka_unit_test(forecast_is_a_hit_rate_whatever_was_sampled),
		cmocka_unit_test(follows_the_size_of_the_cache),
		cmocka_unit_test(samples_more_again_when_there_is_room),
		cmocka_unit_test(memory_is_bounded_whatever_is_read),
		cmocka_unit_test(odd_reads_do_no_harm),
		cmocka_unit_test(refuses_memory_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
