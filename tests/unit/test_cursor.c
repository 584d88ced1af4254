// SPDX-License-Identifier: LGPL-3.0-or-later
/* One cursor: SlowDown (Ellard & Seltzer 2003, 6.2), what it takes for its own, and what it wants fetched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ganesha-fsal/read/prefetch/cursor.h"

#define KIB    1024u
#define BLOCK  (64 * KIB)
#define MIB    (1024 * KIB)
#define REACH  (2 * MIB)
#define AHEAD  (8 * MIB)
#define MIDDLE ((uint64_t)1 << 30) /* somewhere in a large file */
#define LARGE  ((uint64_t)1 << 40)

static struct canfs_followed read_at(struct canfs_cursor *cursor, uint64_t offset)
{
	return canfs_cursor_follow(cursor, offset, BLOCK, REACH);
}

/* n reads in sequence from MIDDLE on; block is the next one's number. */
static struct canfs_cursor sequential(unsigned int n)
{
	struct canfs_cursor cursor;

	canfs_cursor_begin(&cursor, MIDDLE, BLOCK, 1);
	for (unsigned int i = 1; i < n; i++)
		read_at(&cursor, MIDDLE + (uint64_t)i * BLOCK);
	return cursor;
}

static uint64_t distance(const struct canfs_cursor *cursor, int64_t block)
{
	return canfs_cursor_distance(cursor, MIDDLE + (uint64_t)(block * BLOCK), BLOCK, REACH);
}

/* All pieces are fetched at once; returns the bytes. */
static uint64_t fetch(
	struct canfs_cursor *cursor, uint64_t ahead_bytes, struct canfs_piece piece[4])
{
	struct canfs_reach reach = { ahead_bytes, 4 * MIB, canfs_cursor_end(cursor, LARGE) };
	size_t n = canfs_cursor_fetch(cursor, &reach, piece, 4);
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += piece[i].bytes;
	return bytes;
}

static void is_a_cache_line(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct canfs_cursor), 64);
}

static void knows_its_way_after_three_reads(void **state)
{
	struct canfs_piece piece[4];
	struct canfs_cursor cursor = sequential(2);

	(void)state;
	assert_int_equal(cursor.heading, CANFS_LEARNING);
	assert_int_equal(canfs_cursor_ahead(&cursor, AHEAD), 0);
	assert_int_equal(fetch(&cursor, AHEAD, piece), 0);
	cursor = sequential(3);
	assert_int_equal(cursor.heading, CANFS_UP);
	assert_int_equal(cursor.seqcount, 3);
	assert_int_equal(distance(&cursor, 3), 0);
}

static void seqcount_rises_at_the_expected_offset_up_to_127(void **state)
{
	struct canfs_cursor cursor = sequential(10);

	(void)state;
	assert_int_equal(cursor.seqcount, 10);
	cursor = sequential(200);
	assert_int_equal(cursor.seqcount, CANFS_SEQCOUNT_MAX);
}

static void seqcount_stays_near_it(void **state)
{
	struct canfs_cursor cursor = sequential(20);

	(void)state;
	for (unsigned int block = 21; block < 21 + CANFS_CURSOR_TOLERANCE; block++) {
		assert_true(distance(&cursor, block) < UINT64_MAX);
		read_at(&cursor, MIDDLE + (uint64_t)block * BLOCK);
		assert_int_equal(cursor.seqcount, 20);
	}
	/* What they waited for comes: all were in sequence. */
	assert_int_equal(read_at(&cursor, MIDDLE + 20 * (uint64_t)BLOCK).sequential,
		(1 + CANFS_CURSOR_TOLERANCE) * BLOCK);
	assert_int_equal(cursor.seqcount, 20 + 1 + CANFS_CURSOR_TOLERANCE);
	/* And more may wait the next time. */
	assert_true(cursor.tolerance > CANFS_CURSOR_TOLERANCE);
}

static void seqcount_halves_when_a_read_is_given_up(void **state)
{
	struct canfs_cursor cursor = sequential(20);

	(void)state;
	for (unsigned int block = 21; block <= 21 + CANFS_CURSOR_TOLERANCE; block++)
		read_at(&cursor, MIDDLE + (uint64_t)block * BLOCK);
	/* Half of 20, and those that had waited. */
	assert_int_equal(cursor.seqcount, 10 + 1 + CANFS_CURSOR_TOLERANCE);
	assert_int_equal(distance(&cursor, 22 + CANFS_CURSOR_TOLERANCE), 0);
}

static void what_leaves_holes_chops_it_down_to_learning(void **state)
{
	struct canfs_cursor cursor = sequential(127);
	unsigned int reads = 0;

	(void)state;
	for (uint64_t block = 128; cursor.heading != CANFS_LEARNING; block += 3, reads++) {
		read_at(&cursor, MIDDLE + block * BLOCK);
		assert_true(reads < 100);
	}
	assert_int_equal(cursor.outstanding, 0);
}

static void takes_what_is_near_and_nothing_else(void **state)
{
	struct canfs_cursor cursor = sequential(20);

	(void)state;
	assert_int_equal(distance(&cursor, 20), 0);
	assert_int_equal(distance(&cursor, 21), BLOCK);
	assert_true(distance(&cursor, 20 + 31) < UINT64_MAX); /* 2 MB of 64 KB */
	assert_true(distance(&cursor, 20 + 64) == UINT64_MAX);
	assert_true(distance(&cursor, 19) < UINT64_MAX); /* once more */
	assert_true(distance(&cursor, -20) == UINT64_MAX);
}

/* And two repeats. */
static void takes_late_as_many_as_it_has_given_up(void **state)
{
	struct canfs_cursor cursor = sequential(20);

	(void)state;
	for (unsigned int block = 21; block <= 21 + CANFS_CURSOR_TOLERANCE; block++)
		read_at(&cursor, MIDDLE + (uint64_t)block * BLOCK);
	assert_true(distance(&cursor, -20) == UINT64_MAX); /* too late */
	for (unsigned int i = 0; i < 1 + 2; i++) {
		assert_true(distance(&cursor, 20) < UINT64_MAX);
		read_at(&cursor, MIDDLE + 20 * (uint64_t)BLOCK);
	}
	assert_true(cursor.tolerance > CANFS_CURSOR_TOLERANCE);
	assert_true(distance(&cursor, 20) == UINT64_MAX);
}

static void descends(void **state)
{
	struct canfs_cursor cursor;
	struct canfs_piece piece[4];

	(void)state;
	canfs_cursor_begin(&cursor, MIDDLE, BLOCK, 1);
	read_at(&cursor, MIDDLE - BLOCK);
	read_at(&cursor, MIDDLE - 2 * BLOCK);
	assert_int_equal(cursor.heading, CANFS_DOWN);
	assert_int_equal(distance(&cursor, -3), 0);
	assert_int_equal(fetch(&cursor, 4 * BLOCK, piece), 4 * BLOCK);
	assert_int_equal(piece[0].offset, MIDDLE - 6 * (uint64_t)BLOCK);
}

static void goes_by_strides_either_way(void **state)
{
	static const int64_t steps[] = { 2 * BLOCK, 8 * BLOCK, 100 * KIB, -2 * (int64_t)BLOCK,
		-100 * (int64_t)KIB };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct canfs_cursor cursor;
		struct canfs_piece piece[4];
		uint64_t offset = MIDDLE;

		canfs_cursor_begin(&cursor, offset, BLOCK, 1);
		for (unsigned int n = 1; n < 8; n++) {
			offset += (uint64_t)steps[i];
			read_at(&cursor, offset);
		}
		assert_int_not_equal(cursor.heading, CANFS_LEARNING);
		assert_int_equal(fetch(&cursor, 3 * BLOCK, piece), 3 * BLOCK);
		for (unsigned int n = 0; n < 3; n++) {
			assert_int_equal(piece[n].bytes, BLOCK);
			assert_int_equal(piece[n].offset, offset + (n + 1) * (uint64_t)steps[i]);
		}
		/* What lies in the gaps is another's. */
		assert_true(canfs_cursor_distance(&cursor, offset + (uint64_t)steps[i] + BLOCK / 2,
				    BLOCK, REACH) == UINT64_MAX);
	}
}

static void wants_more_the_longer_it_was_followed(void **state)
{
	uint64_t before = 0;

	(void)state;
	for (unsigned int n = 3; n < 200; n++) {
		struct canfs_cursor cursor = sequential(n);
		uint64_t ahead = canfs_cursor_ahead(&cursor, AHEAD);

		assert_true(ahead >= before && ahead <= AHEAD && ahead <= 2 * n * (uint64_t)BLOCK);
		before = ahead;
	}
	assert_int_equal(before, AHEAD);
}

static void fetches_again_when_half_of_it_is_read(void **state)
{
	struct canfs_cursor cursor = sequential(100);
	struct canfs_piece piece[4];

	(void)state;
	assert_int_equal(fetch(&cursor, AHEAD, piece), AHEAD);
	assert_int_equal(piece[0].bytes, 4 * MIB);
	assert_int_equal(piece[1].offset, piece[0].offset + 4 * MIB);
	assert_int_equal(cursor.outstanding, AHEAD);
	for (unsigned int i = 0; i < AHEAD / BLOCK / 2 - 1; i++) {
		assert_int_equal(
			read_at(&cursor, MIDDLE + (100 + (uint64_t)i) * BLOCK).used, BLOCK);
		assert_int_equal(fetch(&cursor, AHEAD, piece), 0);
	}
	read_at(&cursor, MIDDLE + (100 + AHEAD / BLOCK / 2 - 1) * (uint64_t)BLOCK);
	assert_int_equal(fetch(&cursor, AHEAD, piece), AHEAD / 2);
	assert_int_equal(cursor.outstanding, AHEAD);
}

/* However far it is to be ahead (prices make that any number of bytes): no hole, and no scrap. */
static void fetches_meet(void **state)
{
	struct canfs_cursor cursor = sequential(100);
	struct canfs_piece piece[4];
	uint64_t fetched_to = MIDDLE + 100 * (uint64_t)BLOCK;

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		struct canfs_reach reach = { 5 * MIB + 12345 - 1000 * (i % 7), 4 * MIB,
			canfs_cursor_end(&cursor, LARGE) };
		size_t n = canfs_cursor_fetch(&cursor, &reach, piece, 4);

		for (size_t j = 0; j < n; j++) {
			assert_int_equal(piece[j].offset, fetched_to);
			fetched_to += piece[j].bytes;
		}
		assert_int_equal(fetched_to % (128 * KIB), 0);
		read_at(&cursor, MIDDLE + (100 + (uint64_t)i) * BLOCK);
	}
}

static void only_a_sequence_is_plain(void **state)
{
	struct canfs_cursor cursor = sequential(100);

	(void)state;
	assert_true(canfs_cursor_is_plain(&cursor));
	for (uint64_t i = 100; i < 400; i++) /* by threads that overtake each other now and then */
		read_at(&cursor, MIDDLE + (i % 10 == 0 ? i + 4 : i % 10 < 5 ? i - 1 : i) * BLOCK);
	assert_true(canfs_cursor_is_plain(&cursor));
	for (uint64_t i = 400; i < 480; i++) /* each eight the other way round */
		read_at(&cursor, MIDDLE + (i / 8 * 8 + 7 - i % 8) * BLOCK);
	assert_false(canfs_cursor_is_plain(&cursor));
	for (uint64_t i = 480; i < 560; i++)
		read_at(&cursor, MIDDLE + i * BLOCK);
	assert_true(canfs_cursor_is_plain(&cursor));
}

/* A server's thread is interrupted while it has a read, and dozens of others go on. */
static void one_delayed_read_is_no_shuffle(void **state)
{
	struct canfs_cursor cursor = sequential(100);

	(void)state;
	for (uint64_t delayed = 100; delayed < 1000; delayed += 100) {
		for (uint64_t i = delayed + 1; i < delayed + 40; i++) {
			read_at(&cursor, MIDDLE + i * BLOCK);
			assert_true(canfs_cursor_is_plain(&cursor));
		}
		read_at(&cursor, MIDDLE + delayed * BLOCK);
		for (uint64_t i = delayed + 40; i < delayed + 100; i++) {
			assert_true(canfs_cursor_is_plain(&cursor));
			read_at(&cursor, MIDDLE + i * BLOCK);
		}
	}
}

static void stops_at_the_end_of_the_file(void **state)
{
	struct canfs_cursor cursor = sequential(100);
	struct canfs_reach reach = { AHEAD, 4 * MIB,
		canfs_cursor_end(&cursor, MIDDLE + 101 * (uint64_t)BLOCK + 7) };
	struct canfs_piece piece[4];

	(void)state;
	assert_int_equal(canfs_cursor_fetch(&cursor, &reach, piece, 4), 1);
	assert_int_equal(piece[0].offset, MIDDLE + 100 * (uint64_t)BLOCK);
	assert_int_equal(piece[0].bytes, BLOCK + 7);
	assert_int_equal(canfs_cursor_fetch(&cursor, &reach, piece, 4), 0);
}

static void follows_reads_that_grow_and_shrink(void **state)
{
	static const uint32_t bytes[] = { 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, MIB, MIB,
		4 * KIB, 4 * KIB, 4 * KIB, 512, 512, 512, 60 * KIB };
	struct canfs_cursor cursor;
	uint64_t offset = MIDDLE;

	(void)state;
	canfs_cursor_begin(&cursor, offset, 16 * KIB, 1);
	offset += 16 * KIB;
	for (size_t i = 1; i < sizeof(bytes) / sizeof(bytes[0]); offset += bytes[i], i++) {
		assert_true(canfs_cursor_distance(&cursor, offset, bytes[i], REACH) < UINT64_MAX);
		canfs_cursor_follow(&cursor, offset, bytes[i], REACH);
	}
	assert_int_equal(cursor.heading, CANFS_UP);
	assert_true(cursor.seqcount > 5);
}

static void what_was_not_fetched_is_wanted_again(void **state)
{
	struct canfs_cursor cursor = sequential(100);
	struct canfs_piece piece[4], again[4];

	(void)state;
	fetch(&cursor, AHEAD, piece);
	assert_int_equal(
		canfs_cursor_not_fetched(&cursor, piece[1].offset, piece[1].bytes), 4 * MIB);
	assert_int_equal(cursor.outstanding, 4 * MIB);
	assert_int_equal(fetch(&cursor, AHEAD, again), 4 * MIB);
	assert_int_equal(again[0].offset, piece[1].offset);
	assert_int_equal(canfs_cursor_not_fetched(&cursor, 0, BLOCK), 0); /* it never was */
	assert_int_equal(canfs_cursor_was_there(&cursor, 3 * MIB), 3 * MIB);
	assert_int_equal(cursor.outstanding, 5 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_a_cache_line),
		cmocka_unit_test(knows_its_way_after_three_reads),
		cmocka_unit_test(seqcount_rises_at_the_expected_offset_up_to_127),
		cmocka_unit_test(seqcount_stays_near_it),
		cmocka_unit_test(seqcount_halves_when_a_read_is_given_up),
		cmocka_unit_test(what_leaves_holes_chops_it_down_to_learning),
		cmocka_unit_test(takes_what_is_near_and_nothing_else),
		cmocka_unit_test(takes_late_as_many_as_it_has_given_up),
		cmocka_unit_test(descends),
		cmocka_unit_test(goes_by_strides_either_way),
		cmocka_unit_test(wants_more_the_longer_it_was_followed),
		cmocka_unit_test(fetches_again_when_half_of_it_is_read),
		cmocka_unit_test(fetches_meet),
		cmocka_unit_test(only_a_sequence_is_plain),
		cmocka_unit_test(one_delayed_read_is_no_shuffle),
		cmocka_unit_test(stops_at_the_end_of_the_file),
		cmocka_unit_test(follows_reads_that_grow_and_shrink),
		cmocka_unit_test(what_was_not_fetched_is_wanted_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
