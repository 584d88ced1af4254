// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * An export goes whose disk hangs: the drain has a timeout, and what is left behind may come back at
 * any time. A file is deleted while the disk still reads it. posix_fadvise() hangs, on a kernel without io_uring.
 */
#include <errno.h>
#include <liburing.h>
#include <sys/syscall.h>

#include "common/clock.h"
#include "tests/unit/gate.h"
#include "tests/unit/prefetched.h"

#define READS 40

static bool hangs;
static unsigned int hanging;

int io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags)
{
	(void)entries, (void)ring, (void)flags;
	return -ENOSYS;
}

int posix_fadvise(int fd, off_t offset, off_t bytes, int advice)
{
	if (advice != POSIX_FADV_WILLNEED)
		return syscall(SYS_fadvise64, fd, offset, bytes, advice) == 0 ? 0 : errno;
	gate_pass(&hanging, &hangs);
	return 0;
}

static void visit(const struct canfs_device_view *view, void *in_kernel)
{
	*(unsigned int *)in_kernel += view->engine.in_kernel;
}

static void what_hangs_is_left_behind(void **state)
{
	const struct canfs_prefetcher_config short_timeout = { .files = 1000,
		.open_max = OPEN_MAX,
		.lag_bytes = 4 << 20,
		.drain_timeout_msec = 1000,
		.root = "" };
	static struct read reads[READS];
	struct canfs_open_file *file;
	struct canfs_export_fs *other;
	unsigned int in_kernel = 0;

	tear_down(state);
	assert_int_equal(canfs_prefetcher_new(&prefetcher, &short_timeout), 0);
	assert_int_equal(canfs_prefetcher_open(&export_fs, prefetcher, directory), 0);
	assert_int_equal(canfs_prefetcher_open(&other, prefetcher, directory), 0);
	delay_all();
	file = make("hangs", state, FILE_BYTES);
	gate_set(&hangs, true);
	for (unsigned int i = 0; i < READS; i++) {
		assert_true(begin(file, i * 64 * KIB, 4 * KIB, &reads[i]));
	}
	canfs_fd_cache_put(file);
	gate_await(&hanging, 1);
	assert_false(canfs_prefetcher_drain(export_fs));
	assert_true(canfs_export_fs_is_draining(export_fs));
	/* It goes all the same, and whatever else is on that disk. */
	canfs_prefetcher_close(export_fs);
	(void)canfs_prefetcher_drain(other);
	canfs_prefetcher_close(other);
	assert_true(canfs_prefetcher_open_count(prefetcher) > 0);
	canfs_prefetcher_visit(prefetcher, visit, &in_kernel);
	assert_true(in_kernel > 0);
	/* The disk is back: all are told, and the last of them takes export_fs with it. */
	gate_set(&hangs, false);
	for (unsigned int i = 0; i < READS; i++)
		finish(&reads[i]);
	assert_int_equal(stats().waiting, 0);
	/* Nor is an export that comes later taken for one on a disk that hangs. */
	assert_int_equal(canfs_prefetcher_open(&other, prefetcher, directory), 0);
	assert_true(canfs_prefetcher_drain(other));
	canfs_prefetcher_close(other);
	/* A server would not know: it leaves all of it. */
	canfs_prefetcher_free(prefetcher);
	set_up(state);
}

/* A deleted file with one read in the kernel and others queued. */
static void delete_while_reading(const char *name, const void *object, struct read *reads)
{
	struct canfs_open_file *file = make(name, object, FILE_BYTES);
	char path[128];

	hanging = 0;
	gate_set(&hangs, true);
	for (unsigned int i = 0; i < READS; i++) {
		assert_true(begin(file, i * 64 * KIB, 4 * KIB, &reads[i]));
	}
	canfs_fd_cache_put(file);
	gate_await(&hanging, 1);
	path_of(name, path);
	assert_int_equal(unlink(path), 0);
}

static void finish_all(struct read *reads)
{
	for (unsigned int i = 0; i < READS; i++)
		finish(&reads[i]);
}

static void forget_soon(const void *object, bool deletes)
{
	struct timespec until = canfs_in_msec(CANFS_CLOSE_TIMEOUT_MSEC);

	canfs_prefetch_forget(prefetcher, object, deletes, &until);
}

static void *forget(void *object)
{
	forget_soon(object, false);
	assert_int_equal(stats().fd_cache.open, 0);
	return NULL;
}

/* The read in the kernel is awaited. Then nothing has the file open. */
static void a_deleted_file_is_closed_after_its_last_fetch(void **state)
{
	static struct read reads[READS];
	pthread_t thread;

	delete_while_reading("deleted", state, reads);
	assert_int_equal(pthread_create(&thread, NULL, forget, state), 0);
	gate_set(&hangs, false);
	assert_int_equal(pthread_join(thread, NULL), 0);
	finish_all(reads);
}

/* A worker waits at most CANFS_CLOSE_TIMEOUT_MSEC for a hanging disk, and not at all if the disk is known to hang. */
static void a_deleted_file_does_not_keep_its_worker(void **state)
{
	struct canfs_device *device = canfs_export_fs_device(export_fs);
	static struct read reads[2][READS];
	int other;

	delete_while_reading("hangs", state, reads[0]);
	forget_soon(state, false);
	assert_int_equal(stats().fd_cache.open, 1);
	gate_set(&hangs, false);
	finish_all(reads[0]);
	delete_while_reading("hangs too", &other, reads[1]);
	atomic_store(&device->stuck, true);
	forget_soon(&other, false);
	gate_set(&hangs, false);
	finish_all(reads[1]);
	assert_true(canfs_prefetcher_drain(export_fs));
	assert_int_equal(stats().fd_cache.open, 0);
}

static void visit_cancelled(const struct canfs_device_view *view, void *cancelled)
{
	*(uint64_t *)cancelled += view->engine.cancelled;
}

/* Another name of the file is deleted: its reads go on, and the worker does not wait for them. */
static void another_name_goes(void **state)
{
	struct canfs_open_file *file = make("kept", state, FILE_BYTES);
	struct timespec never = canfs_in_msec(1000 * 1000);
	static struct read reads[READS];
	char path[128], other[128];
	uint64_t before = 0, after = 0;

	canfs_prefetcher_visit(prefetcher, visit_cancelled, &before);
	path_of("kept", path);
	path_of("kept too", other);
	assert_int_equal(link(path, other), 0);
	hanging = 0;
	gate_set(&hangs, true);
	for (unsigned int i = 0; i < READS; i++)
		assert_true(begin(file, i * 64 * KIB, 4 * KIB, &reads[i]));
	canfs_fd_cache_put(file);
	gate_await(&hanging, 1);
	canfs_prefetch_forget(prefetcher, state, true, &never);
	gate_set(&hangs, false);
	finish_all(reads);
	canfs_prefetcher_visit(prefetcher, visit_cancelled, &after);
	assert_int_equal(after, before);
	assert_int_equal(unlink(other), 0);
}

/* A deleted file is not opened, because its last user would not free it then. */
static void a_deleted_file_is_not_opened(void **state)
{
	struct canfs_open_file *file = make("twice", state, KIB);
	char path[128];
	int other;

	path_of("twice", path);
	assert_int_equal(unlink(path), 0);
	assert_null(open_as(file->fd, &other));
	canfs_fd_cache_put(file);
	assert_null(canfs_export_fs_off(export_fs));
	/* The first one is closed with the client's. */
	canfs_prefetch_closed(export_fs, state);
	assert_int_equal(stats().fd_cache.open, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_hangs_is_left_behind),
		TEST(a_deleted_file_is_closed_after_its_last_fetch),
		TEST(a_deleted_file_does_not_keep_its_worker),
		TEST(another_name_goes),
		TEST(a_deleted_file_is_not_opened),
	};

	return run_on_a_disk(tests, sizeof(tests) / sizeof(tests[0]));
}
