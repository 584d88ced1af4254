// SPDX-License-Identifier: LGPL-3.0-or-later
/* What the prefetcher makes of access patterns: how much of what is read was there before, how much is wasted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "bench/prefetch/replay.h"
#include "tests/unit/patterns.h"

#define ARRIVAL_READS 4

struct outcome {
	struct canfs_replay_result result;
	struct canfs_files_stats stats;
	double coverage, waste;
};

static struct canfs_files_config small_table(void)
{
	struct canfs_files_config config = canfs_files_defaults;

	config.files = 1000;
	config.cursors = 1000;
	return config;
}

static struct outcome replay(const struct pattern *pattern, const struct canfs_files_config *config)
{
	struct outcome outcome;
	struct canfs_files *files;
	struct canfs_replay *replay;

	assert_int_equal(canfs_files_new(&files, config), 0);
	replay = canfs_replay_new(files, ARRIVAL_READS);
	assert_non_null(replay);
	for (size_t i = 0; i < pattern->reads; i++) {
		const struct pattern_read *read = &pattern->read[i];

		assert_int_equal(canfs_replay_read(replay, read->file, read->offset, read->bytes,
					 pattern->file_bytes),
			0);
	}
	outcome.result = canfs_replay_result(replay);
	outcome.stats = canfs_files_stats(files);
	outcome.coverage = canfs_replay_coverage(&outcome.result);
	outcome.waste = canfs_replay_waste(&outcome.result);
	canfs_replay_free(replay);
	canfs_files_free(files);
	return outcome;
}

/* One stream, strided if step > bytes; or `streams`. Then it is disordered. */
struct access {
	const char *name;
	uint64_t bytes, step;
	unsigned int streams;
	unsigned int swap_pct, shuffle, slots;
	double coverage; /* at least */
	bool backwards;
};

static const struct access accesses[] = {
	{ "sequential", 64 * KIB, .coverage = 0.99 },
	{ "sequential, 8 KB", 8 * KIB, .coverage = 0.99 },
	{ "sequential, 1 MB", MIB, .coverage = 0.88 },
	{ "backwards", 64 * KIB, .backwards = true, .coverage = 0.99 },
	{ "backwards, 8 KB", 8 * KIB, .backwards = true, .coverage = 0.99 },
	{ "backwards, 8 slots", 64 * KIB, .backwards = true, .slots = 8, .coverage = 0.95 },
	{ "swaps, 2 %", 64 * KIB, .swap_pct = 2, .coverage = 0.99 },
	{ "swaps, 6 %", 64 * KIB, .swap_pct = 6, .coverage = 0.99 },
	{ "swaps, 10 %", 64 * KIB, .swap_pct = 10, .coverage = 0.99 },
	{ "shuffled, window of 8", 64 * KIB, .shuffle = 8, .coverage = 0.97 },
	{ "shuffled, window of 32", 64 * KIB, .shuffle = 32, .coverage = 0.95 },
	{ "8 slots", 64 * KIB, .slots = 8, .coverage = 0.95 },
	{ "8 slots, 8 KB", 8 * KIB, .slots = 8, .coverage = 0.98 },
	{ "8 slots, 256 KB", 256 * KIB, .slots = 8, .coverage = 0.85 },
	{ "2 streams", 64 * KIB, .streams = 2, .coverage = 0.98 },
	{ "4 streams", 64 * KIB, .streams = 4, .coverage = 0.98 },
	{ "8 streams", 64 * KIB, .streams = 8, .coverage = 0.95 },
	{ "8 streams, 8 slots", 64 * KIB, .streams = 8, .slots = 8, .coverage = 0.93 },
	{ "32 streams, 8 KB", 8 * KIB, .streams = 32, .coverage = 0.95 },
	{ "stride of 2", 64 * KIB, 128 * KIB, .coverage = 0.98 },
	{ "stride of 4", 64 * KIB, 256 * KIB, .coverage = 0.97 },
	{ "stride of 8", 64 * KIB, 512 * KIB, .coverage = 0.95 },
	{ "stride of 2, 8 slots", 64 * KIB, 128 * KIB, .slots = 8, .coverage = 0.9 },
	{ "stride of 4, swaps", 64 * KIB, 256 * KIB, .swap_pct = 10, .coverage = 0.95 },
	{ "stride, backwards", 64 * KIB, 256 * KIB, .backwards = true, .coverage = 0.97 },
	{ "uneven stride", 64 * KIB, 100 * KIB, .coverage = 0.97 },
	{ "stride of small reads", 8 * KIB, 512 * KIB, .coverage = 0.95 },
	{ "stride of far reads", 8 * KIB, MIB, .coverage = 0.88 },
	{ "stride with hardly a gap", 64 * KIB, 66 * KIB, .coverage = 0.98 },
};

static struct pattern make(const struct access *access, uint64_t file_bytes)
{
	struct pattern pattern = { .file_bytes = file_bytes, .random = 1 };

	if (access->streams > 0)
		pattern_streams(&pattern, access->bytes, access->streams);
	else
		pattern_stride(
			&pattern, access->bytes, access->step > 0 ? access->step : access->bytes);
	if (access->backwards)
		pattern_reverse(&pattern);
	pattern_swap(&pattern, access->swap_pct);
	if (access->shuffle > 0)
		pattern_shuffle(&pattern, access->shuffle);
	if (access->slots > 0)
		pattern_slots(&pattern, access->slots);
	return pattern;
}

static unsigned int failures; /* all are told before a test fails */

static void assert_no_failures(void)
{
	unsigned int n = failures;

	failures = 0;
	assert_int_equal(n, 0);
}

static void expect_between(
	const char *name, const char *what, double value, double least, double most)
{
	if (value >= least && value <= most)
		return;
	print_error("%s: %s is %.4f, not %.4f to %.4f\n", name, what, value, least, most);
	failures++;
}

static void covers_what_is_regular_and_wastes_nothing_of_it(void **state)
{
	struct canfs_files_config config = small_table();

	(void)state;
	for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		struct pattern pattern = make(&accesses[i], 96 * MIB);
		struct outcome outcome = replay(&pattern, &config);

		expect_between(
			accesses[i].name, "coverage", outcome.coverage, accesses[i].coverage, 1);
		expect_between(accesses[i].name, "waste", outcome.waste, 0, 0.05);
		pattern_free(&pattern);
	}
	assert_no_failures();
}

static void does_so_with_the_units_of_an_ssd(void **state)
{
	struct canfs_files_config config = small_table();

	(void)state;
	config.unit_bytes = 1 << 20;
	for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		struct pattern pattern;
		struct outcome outcome;

		if (accesses[i].bytes > 64 * KIB) /* a read is more than is fetched ahead */
			continue;
		pattern = make(&accesses[i], 96 * MIB);
		outcome = replay(&pattern, &config);
		expect_between(accesses[i].name, "coverage", outcome.coverage,
			accesses[i].coverage - 0.07, 1);
		expect_between(accesses[i].name, "waste", outcome.waste, 0, 0.05);
		pattern_free(&pattern);
	}
	assert_no_failures();
}

/* Several readers at the same place: what one reads again is no stream of its own. */
static void readers_in_lockstep_are_not_in_each_others_way(void **state)
{
	struct canfs_files_config config = small_table();

	(void)state;
	for (unsigned int seed = 1; seed <= 5; seed++) {
		struct pattern pattern = { .file_bytes = 32 * MIB, .random = 1000 * seed };
		struct outcome outcome;

		pattern_stride(&pattern, 16 * KIB, 16 * KIB);
		pattern_repeat(&pattern, 4);
		pattern_slots(&pattern, 16);
		outcome = replay(&pattern, &config);
		expect_between("lockstep", "coverage", outcome.coverage, 0.98, 1);
		expect_between("lockstep", "waste", outcome.waste, 0, 0.01);
		pattern_free(&pattern);
	}
	assert_no_failures();
}

/* With gaps only what will be read is fetched; gaps that are hardly any are. */
static void fetches_no_gaps_worth_the_name(void **state)
{
	static const struct access wide = { .bytes = 64 * KIB, .step = 128 * KIB },
				   narrow = { .bytes = 64 * KIB, .step = 66 * KIB };
	struct canfs_files_config config = small_table();
	struct pattern pattern = make(&wide, 96 * MIB);
	struct outcome outcome = replay(&pattern, &config);

	(void)state;
	assert_int_equal(outcome.result.wasted, 0);
	pattern_free(&pattern);
	pattern = make(&narrow, 96 * MIB);
	outcome = replay(&pattern, &config);
	assert_true(outcome.result.advice < pattern.reads / 4);
	pattern_free(&pattern);
}

static void random_reads_are_not_prefetched_for(void **state)
{
	static const struct {
		const char *name;
		uint64_t bytes, file_bytes;
	} cases[] = {
		{ "random 4 KB of 64 MB", 4 * KIB, 64 * MIB },
		{ "random 8 KB of 1 GB", 8 * KIB, 1024 * MIB },
		{ "random 64 KB of 256 MB", 64 * KIB, 256 * MIB },
		{ "random 64 KB of 1 GB", 64 * KIB, 1024 * MIB },
		{ "random 1 MB of 16 GB", MIB, 16384 * MIB },
	};
	struct canfs_files_config config = small_table();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct pattern pattern = { .file_bytes = cases[i].file_bytes,
				.random = seed };
			struct outcome outcome;

			pattern_random_reads(&pattern, cases[i].bytes, 2000);
			outcome = replay(&pattern, &config);
			expect_between(cases[i].name, "prefetched per byte read",
				(double)outcome.result.prefetched / (double)outcome.result.read, 0,
				0.02);
			pattern_free(&pattern);
		}
	}
	assert_no_failures();
}

/* A random reader and sequential ones, of the same file: neither is taken for the other. */
static void finds_streams_among_random_reads(void **state)
{
	struct canfs_files_config config = small_table();
	struct pattern pattern = { .file_bytes = 1024 * MIB, .random = 1 };
	struct outcome outcome;

	(void)state;
	for (uint64_t offset = 0; offset < 32 * MIB; offset += 64 * KIB) {
		for (uint64_t i = 0; i < 4; i++)
			pattern_add(&pattern, 1, i * 128 * MIB + offset, 64 * KIB);
		pattern_add(&pattern, 1,
			512 * MIB + pattern_random(&pattern, 512 * MIB / (8 * KIB)) * 8 * KIB,
			8 * KIB);
	}
	outcome = replay(&pattern, &config);
	expect_between("mixed", "coverage", outcome.coverage, 0.93, 1);
	/* What was on its way to the four when the trace ends. */
	assert_true(outcome.result.wasted * CANFS_REPLAY_PAGE_BYTES <= 4 * 16 * MIB);
	pattern_free(&pattern);
	assert_no_failures();
}

/* Adversaries: programs that follow a stream just until it is prefetched for, and leave it. */
struct trick {
	unsigned int files, streams;   /* at a time */
	unsigned int run_min, run_max; /* reads */
	uint32_t bytes;
	int32_t step_times;                 /* of bytes; negative: backwards */
	unsigned int random_pct, again_pct; /* reads elsewhere; runs where a run was left */
};

static struct pattern play(const struct trick *trick, uint64_t total_bytes, uint64_t seed)
{
	struct pattern pattern = { .file_bytes = (uint64_t)1 << 36, .random = seed };
	struct {
		uint64_t file, offset;
		unsigned int left;
	} stream[16] = { 0 };
	uint64_t sum = 0;

	while (sum < total_bytes) {
		for (unsigned int i = 0; i < trick->streams; i++, sum += trick->bytes) {
			if (stream[i].left == 0) {
				stream[i].left = trick->run_min +
						 (unsigned int)pattern_random(&pattern,
							 trick->run_max - trick->run_min + 1);
				if (pattern_random(&pattern, 100) >= trick->again_pct) {
					stream[i].file = pattern_random(&pattern, trick->files);
					stream[i].offset = (pattern_random(&pattern, 1000) + 1000)
							   << 24;
				}
			}
			if (pattern_random(&pattern, 100) < trick->random_pct) {
				pattern_add(&pattern, stream[i].file,
					pattern_random(&pattern, (uint64_t)1 << 20) << 16,
					trick->bytes);
				continue;
			}
			pattern_add(&pattern, stream[i].file, stream[i].offset, trick->bytes);
			stream[i].offset += (uint64_t)((int64_t)trick->step_times * trick->bytes);
			stream[i].left--;
		}
	}
	return pattern;
}

static struct trick random_trick(struct pattern *random)
{
	static const int32_t steps[] = { 1, 1, 1, -1, 2, -2, 4, 33, 100 };
	struct trick trick = {
		.files = (unsigned int)1 << pattern_random(random, 10),
		.streams = 1 + (unsigned int)pattern_random(random, 16),
		.run_min =
			2 + (unsigned int)pattern_random(random, 1u << pattern_random(random, 7)),
		.bytes = (uint32_t)(8 * KIB) << pattern_random(random, 8),
		.step_times = steps[pattern_random(random, sizeof(steps) / sizeof(steps[0]))],
		.random_pct = (unsigned int)pattern_random(random, 3) * 10,
		.again_pct = (unsigned int)pattern_random(random, 3) * 30,
	};

	trick.run_max = trick.run_min + (unsigned int)pattern_random(random, trick.run_min + 1);
	return trick;
}

/* The worst of many, and then what is found near it. */
static void tricks_cannot_waste_much(void **state)
{
	const uint64_t total_bytes = 2048 * (uint64_t)MIB;
	struct canfs_files_config config = small_table();
	struct pattern random = { .random = 2003 };
	struct trick worst = { 0 };
	double most = 0;

	(void)state;
	for (unsigned int i = 0; i < 60; i++) {
		struct trick trick = random_trick(&random);
		struct pattern pattern;
		struct outcome outcome;

		if (i >= 40) { /* near the worst */
			trick = worst;
			trick.run_min =
				2 + (unsigned int)pattern_random(&random, 2 * worst.run_min);
			trick.run_max = trick.run_min + worst.run_max - worst.run_min;
			trick.streams = 1 + (unsigned int)pattern_random(&random, 16);
			trick.files = 1 + (unsigned int)pattern_random(&random, 2 * worst.files);
		}
		if (trick.bytes < 64 * KIB) /* enough of them would take long */
			trick.bytes = 64 * KIB;
		pattern = play(&trick, total_bytes, i);
		outcome = replay(&pattern, &config);
		if (outcome.waste > most) {
			most = outcome.waste;
			worst = trick;
		}
		pattern_free(&pattern);
	}
	print_message("worst: %.1f %% wasted (files %u, streams %u, runs of %u to %u reads of %u, "
		      "step %d)\n",
		100 * most, worst.files, worst.streams, worst.run_min, worst.run_max, worst.bytes,
		worst.step_times);
	expect_between("tricks", "waste", most, 0.001, 0.25);
	assert_no_failures();
}

/* A heuristic that was tricked recovers: the file is read in sequence again. */
static void a_file_comes_back_from_debt(void **state)
{
	struct canfs_files_config config = small_table();
	struct pattern pattern = { .file_bytes = (uint64_t)1 << 36, .random = 1 };
	struct outcome before, after;

	(void)state;
	for (unsigned int i = 0; i < 100; i++) { /* runs of 1 MB, all over the file */
		uint64_t offset = pattern_random(&pattern, 1 << 12) << 24;

		for (unsigned int n = 0; n < 16; n++)
			pattern_add(&pattern, 1, offset + n * 64 * KIB, 64 * KIB);
	}
	before = replay(&pattern, &config);
	for (uint64_t offset = 0; offset < 512 * MIB; offset += 64 * KIB)
		pattern_add(&pattern, 1, offset, 64 * KIB);
	after = replay(&pattern, &config);
	assert_true((after.result.covered - before.result.covered) * CANFS_REPLAY_PAGE_BYTES >
		    192 * MIB);
	expect_between("all of it", "waste", after.waste, 0, 0.05);
	pattern_free(&pattern);
	assert_no_failures();
}

/* The table's own account agrees with what became of the pages. */
static void keeps_honest_accounts(void **state)
{
	static const struct access orderly = { .bytes = 64 * KIB };
	struct canfs_files_config config = small_table();
	struct pattern pattern = make(&orderly, 64 * MIB);
	struct outcome outcome = replay(&pattern, &config);

	(void)state;
	assert_int_equal(
		outcome.stats.fetched_bytes, outcome.result.prefetched * CANFS_REPLAY_PAGE_BYTES);
	assert_int_equal(outcome.stats.used_bytes, outcome.stats.fetched_bytes);
	assert_int_equal(outcome.stats.wasted_bytes, 0);
	assert_int_equal(outcome.stats.reads, pattern.reads);
	assert_int_equal(outcome.stats.matched, pattern.reads - 1);
	pattern_free(&pattern);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(covers_what_is_regular_and_wastes_nothing_of_it),
		cmocka_unit_test(does_so_with_the_units_of_an_ssd),
		cmocka_unit_test(readers_in_lockstep_are_not_in_each_others_way),
		cmocka_unit_test(fetches_no_gaps_worth_the_name),
		cmocka_unit_test(random_reads_are_not_prefetched_for),
		cmocka_unit_test(finds_streams_among_random_reads),
		cmocka_unit_test(tricks_cannot_waste_much),
		cmocka_unit_test(a_file_comes_back_from_debt),
		cmocka_unit_test(keeps_honest_accounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
