// SPDX-License-Identifier: LGPL-3.0-or-later
/* Reads of files in a directory of this machine, without Ganesha: which reads wait, for what, and what is held open. */
#include <errno.h>

#include "tests/unit/prefetched.h"

static void a_read_waits_for_its_pages(void **state)
{
	struct canfs_open_file *file = make("cold", state, FILE_BYTES);
	struct read read;

	assert_non_null(file);
	assert_true(begin(file, 300 * KIB + 1, 64 * KIB, &read));
	assert_int_equal(stats().waiting, 1);
	finish(&read);
	assert_int_equal(stats().reads[CANFS_READ_DELAYED], 1);
	assert_int_equal(read_all(file, 300 * KIB + 1, 64 * KIB, 0), CANFS_READ_AT_ONCE);
	assert_int_equal(stats().reads[CANFS_READ_AT_ONCE], 1);
	/* What was not asked for is not there. */
	assert_int_equal(read_all(file, 8 * KIB * KIB, KIB, 0), CANFS_READ_DELAYED);
	assert_int_equal(stats().waiting, 0);
	canfs_fd_cache_put(file);
}

/* A disk that reorders what it is asked for brings the last page, which is waited for, before others (ring.c). */
static void find_there(struct canfs_open_file *file, uint64_t at, uint64_t bytes)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (unsigned int i = 0; i < 1000; i++) {
		if (read_all(file, at, bytes, 0) == CANFS_READ_AT_ONCE)
			return;
		nanosleep(&pause, NULL);
	}
	fail_msg("not there within 10 s: %llu bytes at %llu", (unsigned long long)bytes,
		(unsigned long long)at);
}

static void one_may_be_larger_than_a_fetch_or_the_file(void **state)
{
	struct canfs_open_file *file = make("large", state, FILE_BYTES);

	assert_int_equal(read_all(file, 5 * KIB, 2 * FILE_BYTES, 0), CANFS_READ_DELAYED);
	find_there(file, 5 * KIB, 2 * FILE_BYTES);
	/* Behind the end there is nothing to wait for. */
	assert_int_equal(read_all(file, FILE_BYTES, KIB, 0), CANFS_READ_AT_ONCE);
	assert_int_equal(read_all(file, UINT64_C(1) << 62, KIB, 0), CANFS_READ_AT_ONCE);
	canfs_fd_cache_put(file);
}

/* Would a read of it not be looked at (residency.h)? */
static bool is_known_resident(struct canfs_open_file *file)
{
	return atomic_load(&file->residency.reads) >= CANFS_RESIDENT_READS &&
	       atomic_load(&file->residency.age) ==
		       atomic_load(&canfs_export_fs_device(export_fs)->age);
}

static void visit(const struct canfs_device_view *view, void *ahead)
{
	*(uint64_t *)ahead += view->engine.bytes[CANFS_FETCH_PREFETCH];
}

/* All of it is read in order: most was there, or in flight, before it was asked for. */
static void who_reads_in_order_finds_it_there(void **state)
{
	struct canfs_open_file *file = make("ordered", state, FILE_BYTES);
	uint64_t ahead = 0;

	for (uint64_t at = 0; at < FILE_BYTES; at += 64 * KIB)
		read_all(file, at, 64 * KIB, 1);
	canfs_fd_cache_put(file);
	canfs_prefetcher_visit(prefetcher, visit, &ahead);
	assert_in_range(ahead, FILE_BYTES / 2, FILE_BYTES);
}

/* Each second block: what is between them is nobody's. */
static void who_reads_in_strides_finds_it_there(void **state)
{
	const uint64_t places[] = { 0, 64 * KIB, 36 * KIB };
	struct canfs_open_file *file;
	char name[16];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t ahead = 0;

		snprintf(name, sizeof(name), "strides%zu", i);
		file = make(name, &places[i], FILE_BYTES);
		for (uint64_t at = places[i]; at < FILE_BYTES; at += 128 * KIB)
			read_all(file, at, 64 * KIB, 1);
		canfs_fd_cache_put(file);
		canfs_prefetcher_visit(prefetcher, visit, &ahead);
		/* Of all files up to now. */
		assert_in_range(
			ahead, (i + 1) * FILE_BYTES / 3, (i + 1) * (FILE_BYTES / 2 + 64 * KIB));
	}
	(void)state;
}

#define READERS 4

struct reader {
	pthread_t thread;
	struct canfs_open_file *file;
	const void *object;
	uint64_t at;
	unsigned int
		misled; /* reads that were to be answered at once, and had to wait for the disk */
};

static void *read_every_fourth(void *arg)
{
	struct reader *reader = arg;
	struct read read;

	for (uint64_t at = reader->at; at < FILE_BYTES; at += READERS * 16 * KIB) {
		bool waits = begin_scaled(reader->file, at, 16 * KIB, 1, &read);

		if (!waits && !canfs_is_resident_by_mincore(reader->file->fd, at, 16 * KIB,
				      FILE_BYTES, &reader->file->map))
			reader->misled++;
		if (at % (1024 * KIB) == 0)
			canfs_prefetch_invalidate(
				export_fs, reader->object, at + 256 * KIB, UINT64_MAX);
		if (waits)
			finish(&read);
	}
	return NULL;
}

/* Together, as a client's outstanding reads are: much of it is on its way when it is asked for. */
static void nobody_waits_unawares_for_what_others_read(void **state)
{
	struct canfs_open_file *file = make("shared", state, FILE_BYTES);
	struct reader readers[READERS];
	unsigned int misled = 0;

	for (unsigned int i = 0; i < READERS; i++) {
		readers[i] = (struct reader) { .file = file, .object = state, .at = i * 16 * KIB };
		assert_int_equal(
			pthread_create(&readers[i].thread, NULL, read_every_fourth, &readers[i]),
			0);
	}
	for (unsigned int i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		misled += readers[i].misled;
	}
	/* A disk that takes a fetch's requests out of order may have its last page, which is waited for (ring.c), before others. */
	assert_in_range(misled, 0, FILE_BYTES / (16 * KIB) / 64);
	assert_int_equal(stats().reads[CANFS_READ_AT_ONCE] + stats().reads[CANFS_READ_DELAYED],
		FILE_BYTES / (16 * KIB));
	assert_int_equal(stats().waiting, 0);
	canfs_fd_cache_put(file);
}

/* Reads [0, end) in order; how many of these reads were not looked at. */
static unsigned int read_in_order(struct canfs_open_file *file, uint64_t end, uint64_t bytes)
{
	static char block[64 * KIB];
	unsigned int resident = 0;

	for (uint64_t at = 0; at < end; at += bytes) {
		bool known = is_known_resident(file);

		resident += read_all(file, at, bytes, 1) == CANFS_READ_AT_ONCE && known;
		assert_int_equal(pread(file->fd, block, bytes, (off_t)at), bytes);
	}
	return resident;
}

/* Nothing of it was fetched for so long that not every read need be looked at; but what has gone is seen soon. */
static void a_resident_file_is_probed_now_and_then(void **state)
{
	struct canfs_open_file *file = make("resident", state, FILE_BYTES);
	struct canfs_open_file *other = make("resident too", &file, FILE_BYTES);
	unsigned int reads = 4 * FILE_BYTES / (4 * KIB), unlooked = 0;
	struct read read;

	/* Not while it is read ahead for the first time. */
	assert_int_equal(read_in_order(file, FILE_BYTES, 4 * KIB), 0);
	for (int i = 0; i < 3; i++)
		unlooked += read_in_order(file, FILE_BYTES, 4 * KIB);
	assert_in_range(unlooked, reads / 4, reads);
	for (int i = 0; i < 4; i++)
		read_in_order(other, FILE_BYTES, 4 * KIB);
	assert_in_range(stats().reads[CANFS_READ_AT_ONCE], reads, 2 * reads);
	/* The kernel reads ahead for a reader that goes on: that is seen, too. */
	evict(other->fd);
	assert_in_range(read_in_order(other, FILE_BYTES / 4, 4 * KIB), 0, 40);
	assert_false(is_known_resident(other));
	assert_true(is_known_resident(file));
	for (int i = 0; i < 4; i++)
		read_in_order(other, FILE_BYTES, 4 * KIB);
	assert_true(is_known_resident(other));
	/* What goes from one file may have gone from all. */
	evict(file->fd);
	for (unlooked = 0; is_known_resident(file); unlooked++) {
		assert_in_range(unlooked, 0, 40);
		/* One at once is not read here: that would bring the page back. */
		if (begin(file, 0, 4 * KIB, &read))
			finish(&read);
	}
	assert_false(is_known_resident(other));
	canfs_fd_cache_put(file);
	canfs_fd_cache_put(other);
}

static void visit_cancelled(const struct canfs_device_view *view, void *cancelled)
{
	*(uint64_t *)cancelled += view->engine.cancelled;
}

/* A reader of a database in order is not held up by its writers. */
static void writes_within_a_file_cancel_nothing(void **state)
{
	struct canfs_open_file *file = make("database", state, FILE_BYTES);
	uint64_t cancelled = 0, ahead = 0;
	struct read read;

	for (uint64_t at = 0; at < FILE_BYTES; at += 64 * KIB) {
		begin_scaled(file, at, 64 * KIB, 1, &read);
		canfs_prefetch_invalidate(export_fs, state, 0, 4 * KIB);
		finish(&read);
	}
	canfs_prefetcher_visit(prefetcher, visit_cancelled, &cancelled);
	canfs_prefetcher_visit(prefetcher, visit, &ahead);
	assert_int_equal(cancelled, 0);
	assert_in_range(ahead, FILE_BYTES / 2, FILE_BYTES);
	/* But that of a writer behind its end is seen. */
	assert_false(file->resize);
	canfs_prefetch_invalidate(export_fs, state, FILE_BYTES - KIB, 2 * KIB);
	assert_true(file->resize);
	canfs_fd_cache_put(file);
}

static void scale_0_reads_nothing_ahead(void **state)
{
	struct canfs_open_file *file = make("scale_0", state, FILE_BYTES);
	uint64_t ahead = 0;

	for (uint64_t at = 0; at < FILE_BYTES; at += 64 * KIB)
		read_all(file, at, 64 * KIB, 0);
	canfs_fd_cache_put(file);
	canfs_prefetcher_drain(export_fs);
	canfs_prefetcher_visit(prefetcher, visit, &ahead);
	assert_int_equal(ahead, 0);
}

static void *drain(void *arg)
{
	canfs_prefetcher_drain(arg);
	return NULL;
}

static void a_drained_export_fs_takes_nothing(void **state)
{
	struct canfs_open_file *file = make("drained", state, FILE_BYTES);
	struct read reads[200];
	pthread_t thread;

	for (size_t i = 0; i < 200; i++) {
		assert_true(begin(file, i * 64 * KIB, 4 * KIB, &reads[i]));
	}
	assert_int_equal(pthread_create(&thread, NULL, drain, export_fs), 0);
	/* A read that waits is told, and leaves. */
	for (size_t i = 0; i < 200; i++)
		finish(&reads[i]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	canfs_fd_cache_put(file);
	canfs_prefetcher_drain(export_fs);
	assert_int_equal(stats().fd_cache.open, 0);
	assert_true(canfs_export_fs_is_draining(export_fs));
	assert_null(canfs_fd_cache_find(export_fs, state));
	assert_null(make("late", state, KIB));
}

static void what_is_forgotten_is_closed(void **state)
{
	static const struct timespec at_once;
	struct canfs_open_file *file = make("forgotten", state, KIB);

	assert_ptr_equal(canfs_fd_cache_find(export_fs, state), file);
	canfs_fd_cache_put(file);
	canfs_prefetch_forget(prefetcher, state, false, &at_once);
	assert_null(canfs_fd_cache_find(export_fs, state));
	canfs_fd_cache_put(file); /* the last */
	assert_null(canfs_export_fs_off(export_fs));
}

static void a_change_of_size_is_seen(void **state)
{
	struct canfs_open_file *file = make("growing", state, 64 * KIB);
	char path[128];

	path_of("growing", path);
	assert_int_equal(read_all(file, 64 * KIB, KIB, 0), CANFS_READ_AT_ONCE);
	assert_int_equal(truncate(path, 0), 0);
	canfs_prefetch_invalidate(export_fs, state, 0, UINT64_MAX);
	/* Nothing is left to wait for. */
	assert_int_equal(read_all(file, 0, KIB, 0), CANFS_READ_AT_ONCE);
	canfs_fd_cache_put(file);
}

static void other_handles_switch_it_off(void **state)
{
	uint8_t wire[] = { 0x40, 1, 9, 9, 9, 9, 9, 9, 9, 9 };

	/* A handle that names nothing is no reason. */
	assert_null(canfs_fd_cache_open(export_fs, state, 1, 1, wire, sizeof(wire)));
	assert_null(canfs_export_fs_off(export_fs));
	wire[0] = 0x1f;
	assert_null(canfs_fd_cache_open(export_fs, state, 1, 1, wire, sizeof(wire)));
	assert_string_equal(canfs_export_fs_off(export_fs), "its handles have an unknown layout");
	assert_null(make("never", state, KIB));
}

/* What nobody fetches the worker reads itself: as many at a time as CANFS_INLINE_MAX, the next one waits. */
static void what_nobody_fetches_is_read_inline(void **state)
{
	struct canfs_open_file *file = make("idle", state, FILE_BYTES);
	struct canfs_device *device = canfs_export_fs_device(export_fs);
	const uint64_t step = FILE_BYTES / (CANFS_INLINE_MAX + 2) / KIB * KIB;
	struct read here[CANFS_INLINE_MAX + 1], waits;

	atomic_store(&device->inline_reads, 0);
	for (unsigned int i = 0; i <= CANFS_INLINE_MAX; i++) {
		begin(file, i * step, KIB, &here[i]);
		assert_int_equal(here[i].read.way,
			i < CANFS_INLINE_MAX ? CANFS_READ_INLINE : CANFS_READ_DELAYED);
	}
	assert_int_equal(stats().reads[CANFS_READ_INLINE], CANFS_INLINE_MAX);
	assert_int_equal(stats().reads[CANFS_READ_DELAYED], 1);
	finish(&here[CANFS_INLINE_MAX]);
	/* A read of what one of them has not begun to read waits. */
	assert_true(begin(file, 0, KIB, &waits));
	finish(&waits);
	for (unsigned int i = 0; i < CANFS_INLINE_MAX; i++)
		finish(&here[i]);
	assert_int_equal(read_all(file, 0, KIB, 0), CANFS_READ_AT_ONCE);
	assert_int_equal(stats().waiting, 0);
	/* All places are free again. */
	assert_int_equal(read_all(file, FILE_BYTES - KIB, KIB, 0), CANFS_READ_INLINE);
	assert_int_equal(atomic_load(&device->inline_reads), 0);
	canfs_fd_cache_put(file);
}

static void policies_are_those_there_are(void **state)
{
	(void)state;
	assert_int_equal(canfs_prefetcher_set_policy(prefetcher, "elevator"), 0);
	assert_int_equal(canfs_prefetcher_set_policy(prefetcher, "auto"), 0);
	assert_int_equal(canfs_prefetcher_set_policy(prefetcher, "best"), -EINVAL);
	assert_int_equal(canfs_prefetcher_set_policy(prefetcher, ""), -EINVAL);
}

static void what_is_on_no_disk_is_not_taken(void **state)
{
	struct canfs_export_fs *other = NULL;

	(void)state;
	assert_int_equal(canfs_prefetcher_open(&other, prefetcher, "/proc"), -ENODATA);
	assert_int_equal(canfs_prefetcher_open(&other, prefetcher, "/nowhere"), -ENOENT);
	assert_null(other);
}

static void both_probes_see_the_same(void **state)
{
	struct canfs_open_file *file = make("probed", state, 1024 * KIB);
	struct canfs_resident_map map = CANFS_RESIDENT_MAP_INITIALIZER;
	char block[4096];

	assert_int_equal(pread(file->fd, block, sizeof(block), 0), sizeof(block));
	assert_true(canfs_is_resident(file->fd, 0, 4 * KIB, 1024 * KIB, &map));
	assert_true(canfs_is_resident_by_mincore(file->fd, 0, 4 * KIB, 1024 * KIB, &map));
	evict(file->fd);
	assert_false(canfs_is_resident(file->fd, 0, 4 * KIB, 1024 * KIB, &map));
	assert_false(canfs_is_resident_by_mincore(file->fd, 0, 4 * KIB, 1024 * KIB, &map));
	/* Nor has asking brought it there. */
	assert_false(canfs_is_resident(file->fd, 0, 4 * KIB, 1024 * KIB, &map));
	assert_true(canfs_is_resident_by_mincore(file->fd, 1024 * KIB, 4 * KIB, 1024 * KIB, &map));
	canfs_resident_unmap(&map);
	canfs_fd_cache_put(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_read_waits_for_its_pages),
		TEST(one_may_be_larger_than_a_fetch_or_the_file),
		TEST(who_reads_in_order_finds_it_there),
		TEST(who_reads_in_strides_finds_it_there),
		TEST(nobody_waits_unawares_for_what_others_read),
		TEST(a_resident_file_is_probed_now_and_then),
		TEST(writes_within_a_file_cancel_nothing),
		TEST(scale_0_reads_nothing_ahead),
		TEST(a_drained_export_fs_takes_nothing),
		TEST(what_is_forgotten_is_closed),
		TEST(a_change_of_size_is_seen),
		TEST(other_handles_switch_it_off),
		TEST(what_nobody_fetches_is_read_inline),
		TEST(policies_are_those_there_are),
		TEST(what_is_on_no_disk_is_not_taken),
		TEST(both_probes_see_the_same),
	};

	return run_on_a_disk(tests, sizeof(tests) / sizeof(tests[0]));
}
