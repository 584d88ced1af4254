// SPDX-License-Identifier: LGPL-3.0-or-later
/* The table of active files: its bounds, which entry gives way, accounts, and many threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <cmocka.h>
#include "ganesha-fsal/read/prefetch/files.h"
#include "tests/unit/patterns.h"

#define BLOCK   ((uint32_t)(64 * KIB))
#define LARGE   ((uint64_t)1 << 40)
#define THREADS 4

static struct canfs_files_config table_of(uint32_t n, uint32_t cursors)
{
	struct canfs_files_config config = canfs_files_defaults;

	config.files = n;
	config.cursors = cursors;
	return config;
}

static struct canfs_files *new_table(uint32_t n, uint32_t cursors)
{
	struct canfs_files_config config = table_of(n, cursors);
	struct canfs_files *files;

	assert_int_equal(canfs_files_new(&files, &config), 0);
	return files;
}

/* Blocks [begin, end) of a file; returns the bytes that are to be fetched, and the last advice. */
static uint64_t read_blocks(struct canfs_files *files, uint64_t file, uint64_t begin, uint64_t end,
	double scale, struct canfs_advice *last)
{
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	uint64_t bytes = 0;

	for (uint64_t block = begin; block < end; block++) {
		size_t n = canfs_files_read(
			files, file, block * BLOCK, BLOCK, LARGE, scale, false, advice, NULL);

		for (size_t i = 0; i < n; i++) {
			bytes += advice[i].bytes;
			if (last)
				*last = advice[i];
		}
	}
	return bytes;
}

static void refuses_a_bad_config(void **state)
{
	static const struct canfs_files_config bad[] = {
		{ 0, 0, 1 << 20, 2, 1 << 20 },
		{ CANFS_FILES_MAX + 1, 0, 1 << 20, 2, 1 << 20 },
		{ 1000, CANFS_FILES_MAX + 1, 1 << 20, 2, 1 << 20 },
		{ 1000, 1000, (64 << 10) - 1, 2, 1 << 20 },
		{ 1000, 1000, (64 << 20) + 1, 2, 1 << 20 },
		{ 1000, 1000, 1 << 20, 0, 1 << 20 },
		{ 1000, 1000, 1 << 20, 9, 1 << 20 },
		{ 1000, 1000, 1 << 20, 2, (64 << 10) - 1 },
		{ 1000, 1000, 1 << 20, 2, (16 << 20) + 1 },
	};
	struct canfs_files *files = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(canfs_files_new(&files, &bad[i]), -EINVAL);
	assert_null(files);
	canfs_files_free(NULL);
}

static void a_million_files_fit_256_mb(void **state)
{
	struct canfs_files *files;

	(void)state;
	assert_int_equal(canfs_files_new(&files, &canfs_files_defaults), 0);
	assert_int_equal(canfs_files_defaults.files, 1000000);
	assert_true(canfs_files_stats(files).memory_bytes <= 256000000);
	for (uint64_t file = 1; file <= 20000; file++)
		read_blocks(files, file, 0, 1, 1, NULL);
	assert_int_equal(canfs_files_stats(files).files, 20000);
	canfs_files_free(files);
}

static void has_room_for_as_many_files_as_it_says(void **state)
{
	struct canfs_files *files = new_table(10000, 100);

	(void)state;
	for (unsigned int block = 0; block < 8; block++) {
		for (uint64_t file = 0; file < 10000; file++)
			read_blocks(files, file * 4096, block, block + 1, 1, NULL);
	}
	/* A few may have had no place of their own. */
	assert_true(canfs_files_stats(files).files >= 9900);
	assert_true(canfs_files_stats(files).matched >= 7 * 9800);
	canfs_files_free(files);
}

static void who_was_read_longest_ago_gives_way(void **state)
{
	struct canfs_files *files = new_table(1000, 1000);
	struct canfs_files_stats stats;

	(void)state;
	read_blocks(files, 1, 0, 10, 1, NULL);
	for (uint64_t file = 2; file < 20000; file++) {
		read_blocks(files, file, 0, 1, 1, NULL);
		if (file % 100 == 0) /* still active */
			read_blocks(files, 1, 10 + file / 100, 11 + file / 100, 1, NULL);
	}
	stats = canfs_files_stats(files);
	assert_true(stats.files <= 1500);
	assert_true(stats.cursors <= 2500);
	/* Never lost: all of its reads but the first were expected. */
	assert_true(stats.matched >= 200);
	canfs_files_free(files);
}

/* One file takes all the cursors it may have, and others take them back. */
static void cursors_are_a_common_pool(void **state)
{
	struct canfs_files *files = new_table(64, 16);
	struct canfs_advice last = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 40; i++)
		read_blocks(files, 1, i * i * 10007, i * i * 10007 + 1, 1, NULL);
	assert_int_equal(canfs_files_stats(files).cursors, 1 + 16);
	for (uint64_t i = 0; i < 8; i++)
		for (uint64_t stream = 0; stream < 8; stream++)
			read_blocks(files, 2, stream << 20 | i, (stream << 20 | i) + 1, 1, &last);
	assert_true(canfs_files_stats(files).fetched_bytes > 0);
	assert_true(canfs_files_stats(files).cursors <= 2 + 16);
	canfs_files_free(files);
}

static void works_without_a_pool(void **state)
{
	struct canfs_files *files = new_table(1, 0);

	(void)state;
	for (uint64_t file = 0; file < 5; file++)
		assert_true(read_blocks(files, file, 0, 10, 1, NULL) > 0);
	assert_int_equal(canfs_files_stats(files).files, 1);
	canfs_files_free(files);
}

static void reads_as_far_as_the_scale_says(void **state)
{
	static const double scale_0[] = { 0, -1, NAN };
	struct canfs_files *files = new_table(1000, 1000);
	uint64_t all = read_blocks(files, 1, 0, 200, 1, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(scale_0) / sizeof(scale_0[0]); i++)
		assert_int_equal(read_blocks(files, 2 + i, 0, 200, scale_0[i], NULL), 0);
	/* It has learnt the pattern nevertheless. */
	assert_true(read_blocks(files, 2, 200, 201, 1, NULL) >= 4 * MIB);
	assert_true(read_blocks(files, 10, 0, 200, 0.25, NULL) < all - 4 * MIB);
	assert_true(read_blocks(files, 11, 0, 200, 1e300, NULL) <= all);
	canfs_files_free(files);
}

static void no_read_is_no_read(void **state)
{
	struct canfs_files *files = new_table(1000, 1000);
	struct canfs_advice advice[CANFS_ADVICE_MAX];

	(void)state;
	assert_int_equal(canfs_files_read(files, 1, 0, 0, LARGE, 1, false, advice, NULL), 0);
	assert_int_equal(
		canfs_files_read(files, 1, LARGE, BLOCK, LARGE, 1, false, advice, NULL), 0);
	assert_int_equal(canfs_files_read(files, 1, UINT64_MAX, UINT32_MAX, UINT64_MAX, 1, false,
				 advice, NULL),
		0);
	assert_int_equal(canfs_files_stats(files).reads, 0);
	canfs_files_changed(files, 1, 0);
	canfs_files_not_fetched(files, 1, 0, 0, 1);
	canfs_files_was_there(files, 1, UINT32_MAX, 1);
	assert_int_equal(canfs_files_stats(files).files, 0);
	canfs_files_free(files);
}

static void what_was_not_fetched_is_not_charged(void **state)
{
	struct canfs_files *files = new_table(1000, 1000);
	struct canfs_advice last = { 0 }, again[CANFS_ADVICE_MAX];
	uint64_t fetched = read_blocks(files, 1, 0, 100, 1, &last), block = 100;

	(void)state;
	canfs_files_not_fetched(files, 1, last.cursor, last.offset, last.bytes);
	assert_int_equal(canfs_files_stats(files).fetched_bytes, fetched - last.bytes);
	while (canfs_files_read(files, 1, block++ * BLOCK, BLOCK, LARGE, 1, false, again, NULL) ==
		0)
		assert_true(block < 400);
	assert_int_equal(again[0].offset, last.offset);
	fetched = canfs_files_stats(files).fetched_bytes;
	canfs_files_not_fetched(files, 2, again[0].cursor, again[0].offset, MIB); /* another's */
	canfs_files_not_fetched(files, 1, again[0].cursor + 1, again[0].offset, MIB);
	assert_int_equal(canfs_files_stats(files).fetched_bytes, fetched);
	canfs_files_was_there(files, 1, again[0].cursor, 4096);
	assert_int_equal(canfs_files_stats(files).fetched_bytes, fetched - 4096);
	canfs_files_free(files);
}

static void what_has_changed_is_not_counted_on(void **state)
{
	struct canfs_files *files = new_table(1000, 1000);
	struct canfs_advice again = { 0 };
	struct canfs_files_stats stats;
	const uint64_t next = 100 * (uint64_t)BLOCK;

	(void)state;
	read_blocks(files, 1, 0, 100, 1, NULL);
	canfs_files_changed(files, 1, next + MIB);
	stats = canfs_files_stats(files);
	assert_int_equal(stats.fetched_bytes - stats.used_bytes, MIB);
	assert_int_equal(stats.wasted_bytes, 0);
	read_blocks(files, 1, 100, 101, 1, &again);
	assert_true(again.offset >= next + MIB);
	canfs_files_free(files);
}

/* Clients have several READs in flight, and a server's threads change their order: the first four may even descend. */
static void goes_up_whatever_the_order_of_the_first_reads(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2 * 256; i++) {
		unsigned int order[4] = { i & 3, i >> 2 & 3, i >> 4 & 3, i >> 6 & 3 };
		uint64_t begin = i < 256 ? 0 : 1000, furthest = 0;
		struct canfs_files *files;

		if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) != 15)
			continue;
		files = new_table(1000, 1000);
		for (unsigned int n = 0; n < 12; n++) {
			struct canfs_advice advice[CANFS_ADVICE_MAX];
			size_t pieces =
				canfs_files_read(files, 1, (begin + (n < 4 ? order[n] : n)) * BLOCK,
					BLOCK, LARGE, 1, false, advice, NULL);

			for (size_t j = 0; j < pieces; j++) {
				if (advice[j].offset + advice[j].bytes > furthest)
					furthest = advice[j].offset + advice[j].bytes;
			}
		}
		assert_true(furthest >= (begin + 16) * BLOCK);
		canfs_files_free(files);
	}
}

/* A file is read in parts, each by another, up or down: what is fetched for one is not of the next one's part. */
static void stops_where_another_reader_began(void **state)
{
	const uint64_t part = 300;

	(void)state;
	for (unsigned int down = 0; down < 2; down++) {
		struct canfs_files *files = new_table(1000, 1000);
		uint64_t fetched[4] = { 0 };

		for (uint64_t n = 0; n < 4 * part; n++) {
			struct canfs_advice advice[CANFS_ADVICE_MAX];
			uint64_t of = n % 4, block = 1000 + of * part + n / 4;
			size_t pieces =
				canfs_files_read(files, 1, (down ? 10000 - block : block) * BLOCK,
					BLOCK, LARGE, 1, false, advice, NULL);

			for (size_t i = 0; i < pieces; i++)
				fetched[of] += advice[i].bytes;
		}
		for (unsigned int of = 0; of < 3; of++)
			assert_true(fetched[of] <= part * BLOCK);
		assert_true(fetched[3] > part * BLOCK); /* nobody is beyond */
		if (!down)                              /* one goes on all the same */
			assert_true(read_blocks(files, 1, 1000 + part, 1064 + part, 1, NULL) > 0);
		canfs_files_free(files);
	}
}

/* The file is read anew: that somebody began there before is no reason to stop. */
static void a_file_that_is_read_again_is_read_ahead_again(void **state)
{
	struct canfs_files *files = new_table(1000, 1000);
	uint64_t first, again;

	(void)state;
	first = read_blocks(files, 1, 0, 200, 1, NULL);
	again = read_blocks(files, 1, 0, 200, 1, NULL);
	assert_true(again >= first - 8 * BLOCK);
	canfs_files_free(files);
}

/* Forward, backward, and forward again: a reader that has come to its end is not in the way of the next. */
static void a_file_that_is_read_each_way_in_turn_is_read_ahead_each_time(void **state)
{
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	const uint64_t file_bytes = 12 * MIB;

	(void)state;
	for (uint32_t read = BLOCK; read <= MIB; read *= 2) {
		struct canfs_files *files = new_table(1000, 1000);

		for (unsigned int pass = 0; pass < 8; pass++) {
			uint64_t bytes = 0;

			for (uint64_t at = 0; at < file_bytes; at += read) {
				uint64_t offset = pass % 2 == 0 ? at : file_bytes - read - at;
				size_t n = canfs_files_read(
					files, 1, offset, read, file_bytes, 1, false, advice, NULL);

				while (n > 0)
					bytes += advice[--n].bytes;
			}
			assert_true(bytes >= file_bytes - 5 * (uint64_t)read);
		}
		canfs_files_free(files);
	}
}

/* In sequence, and left half-way; over and over. */
static void a_file_that_wastes_gets_less_and_then_nothing(void **state)
{
	struct canfs_files *files = new_table(1000, 1000);
	struct canfs_files_stats stats;
	uint64_t last = 0;

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		last = read_blocks(files, 1, i << 16, (i << 16) + 32, 1, NULL);
	assert_int_equal(last, 0);
	stats = canfs_files_stats(files);
	assert_true(stats.wasted_bytes < 3200 * (uint64_t)BLOCK / 20 + 8 * MIB);
	/* Its neighbour has nothing to do with it. */
	assert_true(read_blocks(files, 2, 0, 100, 1, NULL) > 4 * MIB);
	/* And it comes back: a twentieth of what is read in sequence is what it may risk. */
	assert_true(read_blocks(files, 1, 200 << 16, (200 << 16) + 10000, 1, NULL) > 64 * MIB);
	canfs_files_free(files);
}

/* In a small file many a random read is near another by accident: that is no reason to compare all with more cursors. */
static void random_reads_keep_few_cursors(void **state)
{
	struct canfs_files *files = new_table(1000, 1000);
	struct pattern random = { 0 };
	struct canfs_advice advice[CANFS_ADVICE_MAX];

	(void)state;
	for (unsigned int i = 0; i < 10000; i++)
		canfs_files_read(files, 1, pattern_random(&random, 256 * MIB / 4096) * 4096, 4096,
			256 * MIB, 1, false, advice, NULL);
	assert_true(canfs_files_stats(files).matched > 100);
	assert_int_equal(canfs_files_stats(files).cursors, 16);
	canfs_files_free(files);
}

/* None of them leads anywhere at first, but it takes all of them to know. */
static void as_many_readers_as_cursors_may_begin_together(void **state)
{
	struct canfs_files *files = new_table(1000, 1000);
	uint64_t fetched[64] = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 8; i++) {
		for (uint64_t reader = 0; reader < 64; reader++) {
			uint64_t block = reader * reader * 3011 + i;

			fetched[reader] += read_blocks(files, 1, block, block + 1, 1, NULL);
		}
	}
	for (unsigned int reader = 0; reader < 64; reader++)
		assert_true(fetched[reader] > 0);
	canfs_files_free(files);
}

struct worker {
	pthread_t thread;
	struct canfs_files *files;
	struct pattern random;
};

static void *work(void *arg)
{
	struct worker *worker = arg;

	for (unsigned int i = 0; i < 30000; i++) {
		struct canfs_advice advice[CANFS_ADVICE_MAX] = { 0 };
		uint64_t file = pattern_random(&worker->random, 40);
		uint64_t what = pattern_random(&worker->random, 100);

		/* Even files are read at random, odd ones in sequence, by all. */
		canfs_files_read(worker->files, file,
			(file & 1 ? i / 40 : pattern_random(&worker->random, 1 << 20)) * BLOCK,
			BLOCK, LARGE, 1, false, advice, NULL);
		if (what < 10)
			canfs_files_not_fetched(worker->files, file, advice[0].cursor,
				advice[0].offset, advice[0].bytes);
		else if (what < 20)
			canfs_files_was_there(worker->files, file, advice[0].cursor, 4096);
		else if (what < 22)
			canfs_files_changed(worker->files, file, advice[0].offset);
	}
	return NULL;
}

/* For ThreadSanitizer; few places, so that files give way all the time. */
static void threads_read_while_somebody_looks(void **state)
{
	struct canfs_files *files = new_table(30, 20);
	struct worker workers[THREADS];
	struct canfs_files_stats stats;

	(void)state;
	for (uint64_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker) { .files = files, .random.random = i };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned int i = 0; i < 200; i++) {
		stats = canfs_files_stats(files);
		assert_true(stats.files <= 45 && stats.cursors <= 65);
		assert_true(stats.used_bytes + stats.wasted_bytes <= stats.fetched_bytes);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	stats = canfs_files_stats(files);
	assert_int_equal(stats.reads, THREADS * 30000);
	assert_true(stats.matched > 0 && stats.fetched_bytes > 0);
	canfs_files_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_a_bad_config),
		cmocka_unit_test(a_million_files_fit_256_mb),
		cmocka_unit_test(has_room_for_as_many_files_as_it_says),
		cmocka_unit_test(who_was_read_longest_ago_gives_way),
		cmocka_unit_test(cursors_are_a_common_pool),
		cmocka_unit_test(works_without_a_pool),
		cmocka_unit_test(reads_as_far_as_the_scale_says),
		cmocka_unit_test(no_read_is_no_read),
		cmocka_unit_test(what_was_not_fetched_is_not_charged),
		cmocka_unit_test(what_has_changed_is_not_counted_on),
		cmocka_unit_test(goes_up_whatever_the_order_of_the_first_reads),
		cmocka_unit_test(stops_where_another_reader_began),
		cmocka_unit_test(a_file_that_is_read_again_is_read_ahead_again),
		cmocka_unit_test(a_file_that_is_read_each_way_in_turn_is_read_ahead_each_time),
		cmocka_unit_test(a_file_that_wastes_gets_less_and_then_nothing),
		cmocka_unit_test(random_reads_keep_few_cursors),
		cmocka_unit_test(as_many_readers_as_cursors_may_begin_together),
		cmocka_unit_test(threads_read_while_somebody_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
