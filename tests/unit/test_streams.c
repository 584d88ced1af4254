// SPDX-License-Identifier: LGPL-3.0-or-later
/* Plain sequential streams: which are left to the kernel, and when all of them are ours. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ganesha-fsal/read/prefetch/files.h"
#include "ganesha-fsal/read/prefetch/kernel_stream.h"
#include "ganesha-fsal/read/prefetch/streams.h"

#define STEP_SEC 0.25
#define BLOCK    ((uint32_t)65536)
#define BLOCKS   4000u
#define MOST     100

/* A disk's second of work. */
struct work {
	uint64_t reads, mbytes, wait_msec, writes;
	unsigned int others;
};
static const struct work loses = { 320, 40, 4000, 0, 0 }, keeps_up = { 320, 160, 4000, 0, 0 },
			 rests = { 320, 40, 400, 0, 0 }, writes = { 320, 40, 4000, 21, 0 },
			 random_reads = { 320, 40, 4000, 0, 24 };

struct scene {
	struct canfs_streams streams;
	struct canfs_disk_reads did;
};

static struct scene spinning(void)
{
	struct scene scene = { .did = { 4000, 4000, 4000, 4000 } };

	canfs_streams_init(&scene.streams, true);
	return scene;
}

/* Are they ours after so many seconds with so many of them? */
static bool after(struct scene *scene, unsigned int count, const struct work *work, double seconds)
{
	static _Atomic uint8_t last[MOST];
	struct canfs_streams *streams = &scene->streams;
	bool ours = canfs_streams_are_ours(streams);

	for (double at = 0; at < seconds; at += STEP_SEC) {
		for (unsigned int i = 0; i < count; i++) {
			canfs_streams_note(streams, &last[i]);
			canfs_streams_note(streams, &last[i]);
		}
		for (unsigned int i = 0; i < work->others / 4; i++)
			canfs_streams_note_other(streams);
		scene->did.reads += work->reads / 4;
		scene->did.bytes += work->mbytes * 1000000 / 4;
		scene->did.wait_msec += work->wait_msec / 4;
		scene->did.writes += work->writes / 4 + (at == 0);
		ours = canfs_streams_step(streams,
			canfs_streams_wants_reads(streams, STEP_SEC) ? &scene->did : NULL,
			STEP_SEC);
	}
	return ours;
}

static void those_that_a_disk_loses_are_ours(void **state)
{
	struct scene scene = spinning();

	(void)state;
	assert_false(after(&scene, 8, &keeps_up, 10));
	assert_true(after(&scene, 2, &loses, 2));
	assert_true(after(&scene, 2, &keeps_up, 10)); /* by our order */
	assert_false(after(&scene, 1, &keeps_up, 2));
	assert_false(after(&scene, 8, &keeps_up, 10));
}

static void a_slow_moment_is_no_loss(void **state)
{
	struct scene scene = spinning();

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_false(after(&scene, 2, &keeps_up, CANFS_STREAMS_TURN_SEC));
		assert_false(after(&scene, 2, &loses, CANFS_STREAMS_TURN_SEC));
	}
}

static void their_clients_may_be_slow(void **state)
{
	struct scene scene = spinning();

	(void)state;
	assert_false(after(&scene, 8, &rests, 10));
}

/* What they lose to others our order does not give back. */
static void others_may_have_their_disk(void **state)
{
	const struct work *const works[] = { &writes, &random_reads };

	(void)state;
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		struct scene scene = spinning();

		assert_false(after(&scene, 8, works[i], 10));
		assert_true(after(&scene, 8, &loses, 2));
		assert_false(after(&scene, 8, works[i], 1));
	}
}

static void one_stream_never_is(void **state)
{
	struct scene scene = spinning();

	(void)state;
	assert_false(after(&scene, 1, &loses, 1000));
}

/* Ten in a turn, and each is over before the next. */
static void nor_are_files_one_after_the_other(void **state)
{
	struct scene scene = spinning();

	(void)state;
	for (int step = 0; step < 1000; step++) {
		for (int file = 0; file < 5; file++) {
			_Atomic uint8_t last = 0;

			canfs_streams_note(&scene.streams, &last);
		}
		/* A turn's number that a file has at first comes again after 256 turns. */
		if (after(&scene, 0, &loses, STEP_SEC))
			assert_in_range(atomic_load(&scene.streams.turn), 0, 3);
	}
}

static void nor_where_nothing_spins(void **state)
{
	struct scene scene = spinning();

	(void)state;
	canfs_streams_init(&scene.streams, false);
	assert_false(canfs_streams_wants_reads(&scene.streams, 100));
	assert_false(after(&scene, 100, &loses, 10));
}

/* A device that does not tell, or was exchanged. */
static void nor_where_nothing_is_known(void **state)
{
	struct scene scene = spinning();

	(void)state;
	assert_false(after(&scene, 8, &keeps_up, 1));
	scene.did = (struct canfs_disk_reads) { 0 };
	assert_false(after(&scene, 8, &loses, 0.5));
	assert_true(after(&scene, 8, &loses, 1));
	scene.did = (struct canfs_disk_reads) { 1, 1, 1, 1 };
	assert_true(after(&scene, 8, &loses, 0.5)); /* as it was */
	for (int step = 0; step < 100; step++) {
		canfs_streams_init(&scene.streams, true);
		assert_false(canfs_streams_step(&scene.streams, NULL, 1));
	}
}

static void a_disk_is_parsed(void **state)
{
	static const char *const bad[] = { "", "1 2 3 4", "1 2 3 4 -5", "1 2 x 4 5",
		"1 2 9223372036854775807 4 5", "99999999999999999999 2 3 4 5" };
	struct canfs_disk_reads reads = { 9, 9, 9, 9 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(canfs_parse_disk_reads(bad[i], &reads), -EPROTO);
	assert_int_equal(reads.reads, 9);
	assert_int_equal(
		canfs_parse_disk_reads("   3   0   16  25   7  0  8  9  0  1\n", &reads), 0);
	assert_int_equal(reads.reads, 3);
	assert_int_equal(reads.bytes, 16 * 512);
	assert_int_equal(reads.wait_msec, 25);
	assert_int_equal(reads.writes, 7);
}

/* So many READs, step apart; returns how many of them the stream took. */
static unsigned int goes_on(
	struct canfs_kernel_stream *stream, uint64_t offset, int64_t step, unsigned int reads)
{
	unsigned int taken = 0;

	for (unsigned int i = 0; i < reads; i++, offset += (uint64_t)step)
		taken += canfs_kernel_stream_goes_on(stream, offset, BLOCK);
	return taken;
}

/* It has read up to there, and is left. */
static void begin(struct canfs_kernel_stream *stream, uint64_t end)
{
	canfs_kernel_stream_goes_on(stream, end - BLOCK, BLOCK);
	canfs_kernel_stream_leave(stream, true);
}

static void a_stream_goes_on_in_any_near_order(void **state)
{
	struct canfs_kernel_stream stream = { 0 };

	(void)state;
	assert_int_equal(goes_on(&stream, 0, BLOCK, 10), 9); /* the first is after nothing */
	assert_int_equal(goes_on(&stream, (uint64_t)10 * BLOCK, BLOCK, 1000), 1000);
	for (uint64_t at = 1010; at < 3010; at += 4) { /* each four, the last one first */
		assert_true(canfs_kernel_stream_goes_on(&stream, (at + 3) * BLOCK, BLOCK));
		assert_int_equal(goes_on(&stream, at * BLOCK, BLOCK, 3), 3);
	}
}

static void it_ends_elsewhere(void **state)
{
	const uint64_t far[] = { 0, (uint64_t)100 * BLOCK - CANFS_KERNEL_STREAM_BYTES - 1,
		(uint64_t)100 * BLOCK + CANFS_KERNEL_STREAM_BYTES + 1, UINT64_MAX / 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		struct canfs_kernel_stream stream = { 0 };

		begin(&stream, (uint64_t)100 * BLOCK);
		assert_false(canfs_kernel_stream_goes_on(&stream, far[i], BLOCK));
		assert_false(canfs_kernel_stream_is_left(&stream));
		assert_true(canfs_kernel_stream_goes_on(&stream, far[i] + BLOCK, BLOCK));
	}
}

/* Large READs come in as wide an order as small ones. */
static void the_window_is_that_of_large_reads(void **state)
{
	const uint64_t large = (uint64_t)1 << 20;
	struct canfs_kernel_stream stream = { 0 };

	(void)state;
	begin(&stream, large);
	assert_true(canfs_kernel_stream_goes_on(&stream, 15 * large, large));
	assert_true(canfs_kernel_stream_goes_on(&stream, large, large));
	assert_false(canfs_kernel_stream_goes_on(&stream, 40 * large, large));
}

static void strides_and_backward_reads_end_it(void **state)
{
	struct canfs_kernel_stream stream = { 0 };

	(void)state;
	begin(&stream, (uint64_t)100 * BLOCK);
	assert_in_range(goes_on(&stream, (uint64_t)101 * BLOCK, 2 * (int64_t)BLOCK, 1000), 16, 17);
	assert_false(canfs_kernel_stream_is_left(&stream));
	stream = (struct canfs_kernel_stream) { 0 };
	begin(&stream, (uint64_t)100 * BLOCK);
	assert_in_range(goes_on(&stream, (uint64_t)99 * BLOCK, -(int64_t)BLOCK, 99), 9, 16);
	assert_false(canfs_kernel_stream_is_left(&stream));
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
		size_t n = canfs_files_read(files, file, offset, BLOCK, (uint64_t)BLOCKS * BLOCK, 1,
			false, advice, &found);

		*left += found.plain;
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
	canfs_files_leave_plain(files, false);
	assert_true(read_file(files, 1, 1, 200, &left) > 0);
	canfs_files_free(files);
}

/* Reads one file from two places in turn, by a client each or by the same; how many reads are left to the kernel, of 400. */
static unsigned int read_two_places(struct canfs_files *files, uint64_t file, bool by_one)
{
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	struct canfs_kernel_streams streams = { 0 };
	struct canfs_files_found found;
	unsigned int left = 0;

	for (unsigned int i = 0; i < 400; i++) {
		uint64_t offset = (uint64_t)(i / 2 + i % 2 * (BLOCKS / 2)) * BLOCK;
		bool in_order = canfs_kernel_stream_goes_on(
			canfs_kernel_stream_of(&streams, by_one ? 7 : 7 + i % 2), offset, BLOCK);

		canfs_files_read(files, file, offset, BLOCK, (uint64_t)BLOCKS * BLOCK, 1, in_order,
			advice, &found);
		left += found.plain;
	}
	return left;
}

static void test_clients_that_share_a_file_are_left(void **state)
{
	struct canfs_files_config config = canfs_files_config_for(100);
	struct canfs_files *files;

	(void)state;
	assert_int_equal(canfs_files_new(&files, &config), 0);
	canfs_files_leave_plain(files, true);
	assert_in_range(read_two_places(files, 1, false), 350, 400);
	assert_int_equal(read_two_places(files, 2, true), 0);
	canfs_files_free(files);
}

static bool is_in_order(struct canfs_kernel_streams *streams, uint32_t client, uint64_t block)
{
	return canfs_kernel_stream_goes_on(
		canfs_kernel_stream_of(streams, client), block * BLOCK, BLOCK);
}

/* One more client than there are places takes another's. */
static void test_only_so_many_clients_are_known(void **state)
{
	struct canfs_kernel_streams streams = { 0 };

	(void)state;
	for (uint64_t block = 0; block < 2; block++)
		for (uint32_t client = 1; client <= CANFS_KERNEL_STREAMS; client++)
			assert_int_equal(is_in_order(&streams, client, block), block > 0);
	assert_false(is_in_order(&streams, 99, 0));
	assert_false(is_in_order(&streams, 1, 2));
	assert_true(is_in_order(&streams, 3, 2));
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
	canfs_files_read(files, 1, (uint64_t)(BLOCKS - 1) * BLOCK, BLOCK, (uint64_t)BLOCKS * BLOCK,
		1, false, advice, NULL);
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
			(uint64_t)BLOCKS * BLOCK, 1, false, advice, &found);
		left += found.plain;
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
	assert_in_range(read_shuffled(files, 1, 4, 320), 250, 320);
	assert_in_range(read_shuffled(files, 2, 8, 320), 0, 32);
	assert_in_range(read_shuffled(files, 3, 32, 320), 0, 64);
	canfs_files_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_a_disk_loses_are_ours),
		cmocka_unit_test(a_slow_moment_is_no_loss),
		cmocka_unit_test(their_clients_may_be_slow),
		cmocka_unit_test(others_may_have_their_disk),
		cmocka_unit_test(one_stream_never_is),
		cmocka_unit_test(nor_are_files_one_after_the_other),
		cmocka_unit_test(nor_where_nothing_spins),
		cmocka_unit_test(nor_where_nothing_is_known),
		cmocka_unit_test(a_disk_is_parsed),
		cmocka_unit_test(a_stream_goes_on_in_any_near_order),
		cmocka_unit_test(it_ends_elsewhere),
		cmocka_unit_test(the_window_is_that_of_large_reads),
		cmocka_unit_test(strides_and_backward_reads_end_it),
		cmocka_unit_test(test_plain_streams_are_left),
		cmocka_unit_test(test_clients_that_share_a_file_are_left),
		cmocka_unit_test(test_only_so_many_clients_are_known),
		cmocka_unit_test(test_a_stray_read_is_forgotten),
		cmocka_unit_test(test_shuffled_streams_are_not_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
