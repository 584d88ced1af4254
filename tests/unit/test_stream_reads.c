// SPDX-License-Identifier: LGPL-3.0-or-later
/* Sequential streams that are left to the kernel: how their reads are answered, alone and beside others. */
#include "tests/unit/prefetched.h"

#define READ_BYTES (64 * KIB)
#define LEARNT     64u /* reads, after which a stream is known */

/* On a disk that spins; workers may read. */
static int set_up_kernel_streams(void **state)
{
	struct canfs_device *device;
	int ret = set_up(state);

	device = canfs_export_fs_device(export_fs);
	leave_streams();
	atomic_store(&device->inline_reads, 0);
	device->throttle.lag_bytes = 4 * READ_BYTES;
	return ret;
}

static void visit(const struct canfs_device_view *view, void *ahead)
{
	*(uint64_t *)ahead += view->engine.bytes[CANFS_FETCH_PREFETCH];
}

static uint64_t fetched_ahead(void)
{
	uint64_t ahead = 0;

	canfs_prefetcher_visit(prefetcher, visit, &ahead);
	return ahead;
}

/* Up to there; the last read's way. */
static enum canfs_read_way read_to(struct canfs_open_file *file, uint64_t end)
{
	enum canfs_read_way way = CANFS_READ_AT_ONCE;

	for (uint64_t at = 0; at < end; at += READ_BYTES)
		way = read_all(file, at, READ_BYTES, 1);
	return way;
}

static void the_kernel_reads_them_ahead(void **state)
{
	struct canfs_open_file *file = make("stream", state, FILE_BYTES);

	assert_int_equal(read_to(file, FILE_BYTES), CANFS_READ_STREAM);
	assert_in_range(stats().reads[CANFS_READ_STREAM], FILE_BYTES / READ_BYTES - LEARNT,
		FILE_BYTES / READ_BYTES);
	assert_int_equal(fetched_ahead(), 0);
	assert_int_equal(atomic_load(&canfs_export_fs_device(export_fs)->streaming), 0);
	canfs_fd_cache_put(file);
}

/* Reads both halves in turn; the way of the last read of each. */
static void read_halves(
	struct canfs_open_file *file, const uint32_t client[2], enum canfs_read_way way[2])
{
	for (uint64_t at = 0; at < FILE_BYTES; at += READ_BYTES) {
		uint64_t half = at / READ_BYTES % 2;

		reading_client = client[half];
		way[half] = read_all(file,
			at / (2 * READ_BYTES) * READ_BYTES + half * FILE_BYTES / 2, READ_BYTES, 1);
	}
	reading_client = 0;
}

static void clients_of_one_file_are_streams(void **state)
{
	struct canfs_open_file *file = make("shared", state, FILE_BYTES);
	enum canfs_read_way way[2];

	read_halves(file, (const uint32_t[]) { 1, 2 }, way);
	assert_int_equal(way[0], CANFS_READ_STREAM);
	assert_int_equal(way[1], CANFS_READ_STREAM);
	assert_int_equal(fetched_ahead(), 0);
	evict(file->fd);
	read_halves(file, (const uint32_t[]) { 3, 3 }, way);
	assert_int_not_equal(way[1], CANFS_READ_STREAM);
	assert_true(fetched_ahead() > 0);
	canfs_fd_cache_put(file);
}

/* A client with nconnect: each connection has every second read of one stream. */
static void connections_are_no_streams(void **state)
{
	struct canfs_open_file *file = make("nconnect", state, FILE_BYTES);
	struct canfs_streams *streams = &canfs_export_fs_device(export_fs)->streams;

	for (uint64_t at = 0; at < FILE_BYTES; at += READ_BYTES) {
		if (at == FILE_BYTES / 2) {
			atomic_fetch_add(&streams->turn, 1);
			atomic_store(&streams->count, 0);
		}
		reading_client = 1 + (uint32_t)(at / READ_BYTES % 2);
		read_all(file, at, READ_BYTES, 1);
	}
	reading_client = 0;
	assert_in_range(atomic_load(&streams->count), 0, 1);
	canfs_fd_cache_put(file);
}

static void visit_files(const struct canfs_device_view *view, void *files)
{
	*(struct canfs_files_stats *)files = view->files;
}

static struct canfs_files_stats table(void)
{
	struct canfs_files_stats now = { 0 };

	canfs_prefetcher_visit(prefetcher, visit_files, &now);
	return now;
}

/* What was fetched for a stream counts as used, even if the kernel reads the rest ahead. Otherwise its account never balances. */
static void what_was_fetched_for_a_stream_is_counted(void **state)
{
	struct canfs_open_file *file = make("changing", state, FILE_BYTES);

	order_streams();
	delay_all();
	read_to(file, FILE_BYTES / 2);
	assert_in_range(table().fetched_bytes, FILE_BYTES / 4, FILE_BYTES);
	leave_streams();
	for (uint64_t at = FILE_BYTES / 2; at < FILE_BYTES; at += READ_BYTES)
		read_all(file, at, READ_BYTES, 1);
	assert_int_equal(table().used_bytes, table().fetched_bytes);
	canfs_fd_cache_put(file);
}

static void await_fetches(struct canfs_open_file *file)
{
	while (atomic_load(&file->fetches) > 0)
		usleep(1000);
}

/* Memory is too small for what is evicted before it is read; not for what is read again much later. */
static void what_is_evicted_unread_is_counted(void **state)
{
	struct canfs_open_file *file = make("evicted", state, FILE_BYTES);

	order_streams();
	delay_all();
	read_to(file, FILE_BYTES);
	await_fetches(file);
	evict(file->fd);
	read_all(file, FILE_BYTES - READ_BYTES, READ_BYTES, 0);
	assert_int_equal(stats().evicted_bytes, 0);
	read_to(file, FILE_BYTES / 4);
	await_fetches(file);
	evict(file->fd);
	for (uint64_t at = FILE_BYTES / 4; at < FILE_BYTES; at += READ_BYTES)
		read_all(file, at, READ_BYTES, 1);
	assert_in_range(stats().evicted_bytes, READ_BYTES, FILE_BYTES);
	canfs_fd_cache_put(file);
}

static void a_stream_that_turns_is_followed(void **state)
{
	struct canfs_open_file *file = make("turning", state, FILE_BYTES);

	read_to(file, FILE_BYTES / 2);
	evict(file->fd); /* this machine's kernel may have read all of it ahead */
	for (uint64_t at = FILE_BYTES; at > FILE_BYTES / 2; at -= READ_BYTES)
		read_all(file, at - READ_BYTES, READ_BYTES, 1);
	assert_in_range(fetched_ahead(), FILE_BYTES / 8, FILE_BYTES);
	canfs_fd_cache_put(file);
}

/* There are places for so many of a server's workers only. */
static void streams_do_not_take_all_workers(void **state)
{
	struct canfs_open_file *file = make("many", state, FILE_BYTES);
	struct read reads[CANFS_INLINE_MAX + 1];
	uint64_t at = LEARNT * READ_BYTES;

	read_to(file, at);
	evict(file->fd);
	delay_all();
	for (unsigned int i = 0; i < CANFS_INLINE_MAX; i++, at += READ_BYTES) {
		assert_false(begin_scaled(file, at, READ_BYTES, 1, &reads[i]));
		assert_int_equal(reads[i].read.way, CANFS_READ_STREAM);
	}
	assert_true(begin_scaled(file, at, READ_BYTES, 1, &reads[CANFS_INLINE_MAX]));
	for (unsigned int i = 0; i <= CANFS_INLINE_MAX; i++)
		finish(&reads[i]);
	canfs_fd_cache_put(file);
}

static void another_read_is_not_starved(void **state)
{
	struct canfs_open_file *file = make("stream", state, FILE_BYTES);
	struct canfs_open_file *other = make("random", &file, FILE_BYTES);
	uint64_t at = LEARNT * READ_BYTES;
	struct read random, held[2];

	read_to(file, at);
	for (int turn = 0; turn < 2; turn++) {
		uint64_t place = (uint64_t)(5 + turn * 7) * 1024 * KIB;

		assert_false(begin(other, place, 4 * KIB, &random));
		assert_int_equal(random.read.way, CANFS_READ_INLINE);
		for (int i = 0; i < 4; i++, at += READ_BYTES)
			assert_int_equal(read_all(file, at, READ_BYTES, 1), CANFS_READ_STREAM);
		for (int i = 0; i < 2; i++, at += READ_BYTES)
			assert_true(begin_scaled(file, at, READ_BYTES, 1, &held[i]));
		assert_int_equal(stats().waiting, 3);
		assert_false(held[0].answered);
		finish(&random);
		for (int i = 0; i < 2; i++)
			assert_int_equal(finish(&held[i]), CANFS_READ_HELD);
		assert_int_equal(stats().waiting, 0);
	}
	assert_int_equal(stats().reads[CANFS_READ_HELD], 4);
	canfs_fd_cache_put(file);
	canfs_fd_cache_put(other);
}

/* The rest of the stream, of which nothing is held for a read that waits all the time. */
static void read_on_beside(struct canfs_open_file *file, struct read *waiting)
{
	for (uint64_t at = LEARNT * READ_BYTES; at < FILE_BYTES; at += READ_BYTES)
		assert_int_equal(read_all(file, at, READ_BYTES, 1), CANFS_READ_STREAM);
	finish(waiting);
	canfs_fd_cache_put(file);
}

/* The first reads of a stream that nobody knows yet, too, are of a large file. */
static void streams_do_not_hold_each_other(void **state)
{
	struct canfs_open_file *file = make("stream", state, FILE_BYTES);
	struct canfs_open_file *other = make("new", &file, FILE_BYTES);
	struct read first;

	read_to(file, LEARNT * READ_BYTES);
	assert_false(begin(other, 0, READ_BYTES, &first));
	assert_int_equal(first.read.way, CANFS_READ_INLINE);
	read_on_beside(file, &first);
	canfs_fd_cache_put(other);
}

/* It waits for a lock, say. */
static void for_a_read_that_is_not_served_nothing_is_held_for_long(void **state)
{
	struct canfs_open_file *file = make("stream", state, FILE_BYTES);
	struct canfs_open_file *other = make("locked", &file, FILE_BYTES);
	uint64_t at = LEARNT * READ_BYTES;
	struct read locked, held;

	read_to(file, at);
	assert_false(begin(other, 5 * 1024 * KIB, 4 * KIB, &locked));
	for (int i = 0; i < 4; i++, at += READ_BYTES)
		assert_int_equal(read_all(file, at, READ_BYTES, 1), CANFS_READ_STREAM);
	assert_true(begin_scaled(file, at, READ_BYTES, 1, &held));
	assert_int_equal(finish(&held), CANFS_READ_HELD); /* waits for the housekeeping thread */
	for (at += READ_BYTES; at < FILE_BYTES; at += READ_BYTES)
		assert_int_equal(read_all(file, at, READ_BYTES, 1), CANFS_READ_STREAM);
	finish(&locked);
	canfs_fd_cache_put(file);
	canfs_fd_cache_put(other);
}

static bool always(void)
{
	return true;
}

static void for_a_client_that_steps_aside_nothing_is_held(void **state)
{
	struct canfs_open_file *file = make("stream", state, FILE_BYTES);
	struct canfs_open_file *other = make("random", &file, FILE_BYTES);
	struct read random = { .read = { .file = other,
				       .offset = 5 * 1024 * KIB,
				       .bytes = 4 * KIB,
				       .steps_aside = always,
				       .delay = stay,
				       .answer = answered } };

	read_to(file, LEARNT * READ_BYTES);
	assert_false(canfs_prefetch_submit(&random.read));
	assert_int_equal(random.read.way, CANFS_READ_INLINE);
	read_on_beside(file, &random);
	canfs_fd_cache_put(other);
}

static void where_nothing_spins_nothing_is_held(void **state)
{
	struct canfs_open_file *file = make("stream", state, FILE_BYTES);
	struct canfs_open_file *other = make("random", &file, FILE_BYTES);
	struct read random;

	canfs_export_fs_device(export_fs)->throttle.lag_bytes = 0;
	read_to(file, LEARNT * READ_BYTES);
	assert_false(begin(other, 5 * 1024 * KIB, 4 * KIB, &random));
	read_on_beside(file, &random);
	canfs_fd_cache_put(other);
}

#define STREAM_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_kernel_streams, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STREAM_TEST(the_kernel_reads_them_ahead),
		STREAM_TEST(what_was_fetched_for_a_stream_is_counted),
		STREAM_TEST(what_is_evicted_unread_is_counted),
		STREAM_TEST(a_stream_that_turns_is_followed),
		STREAM_TEST(clients_of_one_file_are_streams),
		STREAM_TEST(connections_are_no_streams),
		STREAM_TEST(streams_do_not_take_all_workers),
		STREAM_TEST(another_read_is_not_starved),
		STREAM_TEST(streams_do_not_hold_each_other),
		STREAM_TEST(for_a_read_that_is_not_served_nothing_is_held_for_long),
		STREAM_TEST(for_a_client_that_steps_aside_nothing_is_held),
		STREAM_TEST(where_nothing_spins_nothing_is_held),
	};

	return run_on_a_disk(tests, sizeof(tests) / sizeof(tests[0]));
}
