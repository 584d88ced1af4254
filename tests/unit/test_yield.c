// SPDX-License-Identifier: LGPL-3.0-or-later
/* When plain streams are left to the kernel: by example, and on a model of a drive that others come to and leave. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ganesha-fsal/prefetch/files.h"
#include "ganesha-fsal/prefetch/yield.h"

#define STEP_SEC 0.25
#define BLOCK    ((uint32_t)65536)
#define BLOCKS   4000u

/* What the drive does in a second. */
struct load {
	unsigned int writes, in_driver, fetches, plain;
	double reads; /* at a time */
};

/* Whether it yields at the end of so many seconds of this. */
static bool after(
	struct canfs_yield *yield, struct canfs_disk_use *use, struct load load, double seconds)
{
	bool yields = yield->yields;

	for (double at = 0; at < seconds; at += STEP_SEC) {
		use->writes += load.writes / 4;
		use->reads_usec += (uint64_t)(load.reads * STEP_SEC * 1e6);
		use->in_driver = load.in_driver;
		use->fetches += load.fetches / 4;
		use->plain = load.plain;
		yields = canfs_yield_step(yield, use, STEP_SEC);
	}
	return yields;
}

/* Streams are always there, more than the drive has room for. */
static const struct load ours = { .in_driver = 4, .plain = 32 },
			 random_reader = { .in_driver = 5, .reads = 1, .plain = 32 },
			 journal = { .writes = 4, .in_driver = 5, .plain = 32 },
			 large_writer = { .writes = 80, .in_driver = 28, .plain = 32 },
			 fsyncs = { .writes = 36, .in_driver = 6, .plain = 32 },
			 small_files = { .in_driver = 32, .reads = 60, .plain = 32 };

static void test_to_nobody_it_does_not(void **state)
{
	struct canfs_yield yield = { .takes = 32 };
	struct canfs_disk_use use = { 0 };

	(void)state;
	assert_false(after(&yield, &use, ours, 10));
	assert_false(after(&yield, &use, random_reader, 10));
	assert_false(after(&yield, &use, journal, 10));
}

static void test_to_others_it_does(void **state)
{
	const struct load others[] = { large_writer, fsyncs, small_files };

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct canfs_yield yield = { .takes = 32 };
		struct canfs_disk_use use = { 0 };

		assert_false(after(&yield, &use, ours, 5));
		assert_true(after(&yield, &use, others[i], 2));
		assert_true(after(&yield, &use, others[i], 20));
	}
}

/* Nor does a pause between two bursts change it; a longer one does. */
static void test_until_they_have_gone_for_a_while(void **state)
{
	struct canfs_yield yield = { .takes = 32 };
	struct canfs_disk_use use = { 0 };

	(void)state;
	assert_true(after(&yield, &use, fsyncs, 5));
	for (int burst = 0; burst < 5; burst++) {
		assert_true(after(&yield, &use, ours, CANFS_YIELD_QUIET_SEC - 1));
		assert_true(after(&yield, &use, fsyncs, 2));
	}
	assert_false(after(&yield, &use, ours, CANFS_YIELD_QUIET_SEC + 1));
}

/* It is their order that makes streams fast on a drive that serves one command after the other, whatever else is there. */
static void test_not_where_the_drive_takes_few(void **state)
{
	struct canfs_yield yield = { 0 };
	struct canfs_disk_use use = { 0 };
	struct load few = large_writer;

	(void)state;
	few.in_driver = 4;
	assert_false(after(&yield, &use, few, 20));
	yield = (struct canfs_yield) { .takes = 1 };
	assert_false(after(
		&yield, &use, large_writer, 20)); /* the kernel says so, whatever waits for it */
	yield = (struct canfs_yield) { 0 };
	assert_true(after(&yield, &use, large_writer, 2)); /* it takes many after all */
	assert_true(after(&yield, &use, few, 2));
}

/* A drive that has room for all that the kernel reads ahead for them needs no order. */
static void test_few_streams_that_are_alone(void **state)
{
	const struct load few = { .in_driver = 4, .plain = 8 },
			  opening = { .in_driver = 5, .plain = 8, .reads = 0.05 };
	struct canfs_yield yield = { .takes = 32 };
	struct canfs_disk_use use = { 0 };

	(void)state;
	assert_false(after(&yield, &use, few, CANFS_YIELD_QUIET_SEC - 1));
	assert_true(after(&yield, &use, few, 2));
	assert_true(after(&yield, &use, opening, 20));
}

/* The first second of a stream on an idle disk, too. */
static void test_a_stream_that_comes_to_an_idle_disk(void **state)
{
	const struct load nobody = { 0 }, one = { .in_driver = 2, .plain = 1, .reads = 0.02 };
	struct canfs_yield yield = { .takes = 32 };
	struct canfs_disk_use use = { 0 };

	(void)state;
	assert_true(after(&yield, &use, nobody, CANFS_YIELD_QUIET_SEC + 1));
	assert_true(after(&yield, &use, one, STEP_SEC));
	assert_true(after(&yield, &use, one, 20));
}

static void test_few_streams_that_are_not_alone(void **state)
{
	const struct load few = { .in_driver = 4, .plain = 8 };
	const struct load not_alone[] = {
		{ .in_driver = 4, .plain = 17 },               /* too many for 32 commands */
		{ .in_driver = 5, .plain = 8, .reads = 0.8 },  /* a random reader */
		{ .in_driver = 4, .plain = 8, .fetches = 40 }, /* a stride */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(not_alone) / sizeof(not_alone[0]); i++) {
		struct canfs_yield yield = { .takes = 32 };
		struct canfs_disk_use use = { 0 };

		assert_false(after(&yield, &use, not_alone[i], 20));
		assert_true(after(&yield, &use, few, 5));
		assert_false(after(&yield, &use, not_alone[i], 2));
		assert_false(after(&yield, &use, few, CANFS_YIELD_QUIET_SEC - 1));
	}
	struct canfs_yield yield = { .takes = 4 };
	struct canfs_disk_use use = { 0 };

	assert_false(after(&yield, &use, few, 20));
}

/* Counters of a device that was replaced begin anew. */
static void test_counters_that_go_back(void **state)
{
	struct canfs_yield yield = { .takes = 32 };
	struct canfs_disk_use use = { .writes = 1000000, .reads_usec = 1000000000 };

	(void)state;
	assert_false(after(&yield, &use, ours, 3));
	use = (struct canfs_disk_use) { 0 };
	assert_false(after(&yield, &use, ours, 3));
}

static void test_parse(void **state)
{
	struct canfs_disk_use use = { .reads_usec = 7, .writes = 8 };

	(void)state;
	assert_int_equal(canfs_parse_disk_use(
				 "  1 2 3 4 50 6 7 8 9 10 11 12 13 14 15 16 17\n", "  3 4\n", &use),
		0);
	assert_int_equal(use.writes, 66);
	assert_int_equal(use.in_driver, 7);
	assert_int_equal(use.reads_usec, 7);
	assert_int_equal(canfs_parse_disk_use("1 2 3 4 50 6 7 8 9 10 11\n", "0 0\n", &use),
		0); /* Linux 4.17 */
	assert_int_equal(use.writes, 50);
	assert_int_equal(canfs_parse_disk_use("1 2 3 4", "0 0", &use), -EPROTO);
	assert_int_equal(canfs_parse_disk_use("", "", &use), -EPROTO);
	assert_int_equal(canfs_parse_disk_use("1 2 3 4 5", "0", &use), -EPROTO);
	assert_int_equal(use.writes, 50);
}

/* Reads so many blocks of a file, step apart; the bytes that are to be fetched, and how many reads are left to the kernel. */
static uint64_t read_file(struct canfs_files *files, uint64_t file, int64_t step,
	unsigned int reads, unsigned int *left)
{
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	struct canfs_files_found found;
	uint64_t bytes = 0, offset = step < 0 ? (uint64_t)(BLOCKS - 1) * BLOCK : 0;

	*left = 0;
	for (unsigned int i = 0; i < reads; i++, offset += (uint64_t)(step * BLOCK)) {
		size_t n = canfs_files_read(
			files, file, offset, BLOCK, (uint64_t)BLOCKS * BLOCK, 1, advice, &found);

		*left += found.left;
		while (n > 0)
			bytes += advice[--n].bytes;
	}
	return bytes;
}

/* Those that the kernel helps, and no others; and again when it is over. */
static void test_plain_streams_are_left(void **state)
{
	const int64_t steps[] = { 1, -1, 8 };
	struct canfs_files_config config = canfs_files_config_for(100);
	struct canfs_files *files;
	unsigned int left;

	(void)state;
	assert_int_equal(canfs_files_new(&files, &config), 0);
	canfs_files_leave_plain(files, true);
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t bytes = read_file(files, 1 + i, steps[i], 200, &left);

		assert_true(steps[i] == 1 ? bytes == 0 : bytes > 0);
		assert_true(steps[i] == 1 ? left > 150 : left == 0);
	}
	assert_in_range(canfs_files_stats(files).left, 150, 200);
	assert_true(canfs_files_stats(files).other_fetches > 0);
	canfs_files_leave_plain(files, false);
	assert_true(read_file(files, 1, 1, 200, &left) > 0);
	assert_int_equal(left, 0);
	canfs_files_free(files);
}

/* One read that overtook others began a cursor of its own. It is no other reader. */
static void test_a_stray_read_is_forgotten(void **state)
{
	struct canfs_files_config config = canfs_files_config_for(100);
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	struct canfs_files *files;
	unsigned int left;

	(void)state;
	assert_int_equal(canfs_files_new(&files, &config), 0);
	canfs_files_leave_plain(files, true);
	canfs_files_read(files, 1, (uint64_t)(BLOCKS - 1) * BLOCK, BLOCK, (uint64_t)BLOCKS * BLOCK,
		1, advice, NULL);
	read_file(files, 1, 1, 50, &left);
	assert_int_equal(left, 0);
	read_file(files, 1, 1, 200, &left);
	assert_in_range(left, 100, 200);
	canfs_files_free(files);
}

/* Of each `window` blocks, which are read in random order, how many reads are left to the kernel. */
static unsigned int read_shuffled(
	struct canfs_files *files, uint64_t file, unsigned int window, unsigned int reads)
{
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	struct canfs_files_found found;
	unsigned int block[64], left = 0, seed = 7;

	assert_true(window <= 64 && reads % window == 0);
	for (unsigned int i = 0; i < reads; i++) {
		unsigned int n = i % window, other;

		for (unsigned int j = 0; n == 0 && j < window; j++) {
			other = (seed = seed * 1103515245 + 12345) / 65536 % (j + 1);
			block[j] = block[other];
			block[other] = i + j;
		}
		canfs_files_read(files, file, (uint64_t)block[n] * BLOCK, BLOCK,
			(uint64_t)BLOCKS * BLOCK, 1, advice, &found);
		left += found.left;
	}
	return left;
}

/* What a few threads of a server mix up the kernel reads ahead all the same; what comes in less order it does not. */
static void test_shuffled_streams_are_not_left(void **state)
{
	struct canfs_files_config config = canfs_files_config_for(100);
	struct canfs_files *files;

	(void)state;
	assert_int_equal(canfs_files_new(&files, &config), 0);
	canfs_files_leave_plain(files, true);
	assert_in_range(read_shuffled(files, 1, 4, 320), 250, 320);
	assert_in_range(read_shuffled(files, 2, 8, 320), 0, 32);
	assert_in_range(read_shuffled(files, 3, 32, 320), 0, 64);
	assert_true(canfs_files_stats(files).other_fetches > 0);
	canfs_files_free(files);
}

/* Each counts once a turn; one that reads backwards does not. */
static void test_plain_streams_are_counted(void **state)
{
	struct canfs_files_config config = canfs_files_config_for(100);
	struct canfs_files *files;
	unsigned int left;

	(void)state;
	assert_int_equal(canfs_files_new(&files, &config), 0);
	for (unsigned int turn = 0; turn < 300; turn++) {
		canfs_files_begin_turn(files);
		assert_int_equal(canfs_files_stats(files).plain_streams, 0);
		for (uint64_t file = 1; file <= turn % 6; file++)
			read_file(files, file, 1, 200, &left);
		read_file(files, 10, -1, 200, &left);
		assert_int_equal(canfs_files_stats(files).plain_streams, turn % 6);
	}
	canfs_files_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_to_nobody_it_does_not),
		cmocka_unit_test(test_to_others_it_does),
		cmocka_unit_test(test_until_they_have_gone_for_a_while),
		cmocka_unit_test(test_not_where_the_drive_takes_few),
		cmocka_unit_test(test_few_streams_that_are_alone),
		cmocka_unit_test(test_a_stream_that_comes_to_an_idle_disk),
		cmocka_unit_test(test_few_streams_that_are_not_alone),
		cmocka_unit_test(test_counters_that_go_back),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_plain_streams_are_left),
		cmocka_unit_test(test_a_stray_read_is_forgotten),
		cmocka_unit_test(test_shuffled_streams_are_not_left),
		cmocka_unit_test(test_plain_streams_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
