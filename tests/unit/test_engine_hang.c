// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * A device that hangs, and one whose order can be watched: posix_fadvise() and ioctl() are the test's own here. A caller that
 * adds or asks for the state must not notice.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <cmocka.h>

#include "ganesha-fsal/read/scheduler/engine.h"
#include "tests/unit/gate.h"

#define FETCHES    100u
#define THREADS    32u
#define UNIT       4096u
#define DISK_BYTES ((uint64_t)1 << 30)

static bool reads_hang, addresses_hang;
static unsigned int reads, asked, told, cancelled;
static uint64_t order[FETCHES];

static int file;
static struct canfs_fetch fetch[FETCHES];

int posix_fadvise(int fd, off_t offset, off_t bytes, int advice)
{
	(void)fd, (void)bytes, (void)advice;
	pthread_mutex_lock(&gate);
	if (reads < FETCHES)
		order[reads] = (uint64_t)offset;
	reads++;
	pthread_cond_broadcast(&moved);
	while (reads_hang)
		pthread_cond_wait(&moved, &gate);
	pthread_mutex_unlock(&gate);
	return 0;
}

/* FIEMAP: the file lies in pieces of UNIT, the last one first on the disk. */
int ioctl(int fd, unsigned long request, ...)
{
	struct fiemap *map;
	va_list arguments;

	(void)fd;
	va_start(arguments, request);
	map = va_arg(arguments, struct fiemap *);
	va_end(arguments);
	if (request != FS_IOC_FIEMAP) {
		errno = ENOTTY;
		return -1;
	}
	gate_pass(&asked, &addresses_hang);
	map->fm_mapped_extents = map->fm_extent_count;
	for (uint64_t i = 0; i < map->fm_extent_count; i++) {
		uint64_t offset = map->fm_start / UNIT * UNIT + i * UNIT;

		map->fm_extents[i] = (struct fiemap_extent) {
			.fe_logical = offset, .fe_physical = DISK_BYTES - offset, .fe_length = UNIT
		};
	}
	return 0;
}

static void done(struct canfs_fetch *one, int error)
{
	(void)one;
	pthread_mutex_lock(&gate);
	told++;
	cancelled += error == -ECANCELED;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&gate);
}

static struct canfs_engine *start_bounded(
	const char *policy, unsigned int depth, uint64_t depth_bytes)
{
	const struct canfs_engine_config config = { .policy = policy,
		.depth = depth,
		.depth_bytes = depth_bytes,
		.waiting_max = FETCHES,
		.backends = canfs_backends + 1 };
	struct canfs_engine *engine = NULL;

	reads = asked = told = cancelled = 0;
	assert_int_equal(canfs_engine_new(&engine, &config), 0);
	assert_string_equal(canfs_engine_stats(engine).backend, "threads");
	return engine;
}

static struct canfs_engine *start(const char *policy, unsigned int depth)
{
	return start_bounded(policy, depth, 0);
}

static void add(struct canfs_engine *engine, unsigned int i, enum canfs_fetch_kind kind)
{
	fetch[i] = (struct canfs_fetch) { .kind = kind,
		.fd = file,
		.file = 1,
		.offset = (uint64_t)i * UNIT,
		.bytes = UNIT,
		.done = done };
	assert_true(canfs_engine_add(engine, &fetch[i]));
}

/* All calls return while every thread is stuck in the kernel, and all is done once the device comes back. */
static void test_device_that_hangs(void **state)
{
	struct canfs_engine *engine = start("fifo", 4);
	struct canfs_engine_stats stats;

	(void)state;
	gate_set(&reads_hang, true);
	for (unsigned int i = 0; i < FETCHES; i++)
		add(engine, i, i % 2 ? CANFS_FETCH_DEMAND : CANFS_FETCH_PREFETCH);
	gate_await(&reads, THREADS);
	stats = canfs_engine_stats(engine);
	assert_int_equal(stats.in_kernel, THREADS);
	assert_int_equal(stats.waiting, FETCHES - THREADS);
	assert_int_equal(canfs_engine_set_policy(engine, "none"), 0);
	canfs_engine_cancel(engine, 1, FETCHES / 2 * UNIT);
	assert_int_equal(canfs_engine_stats(engine).waiting, FETCHES - THREADS - FETCHES / 4);
	gate_set(&reads_hang, false);
	gate_await(&told, FETCHES);
	assert_int_equal(cancelled, FETCHES / 4);
	assert_int_equal(canfs_engine_stats(engine).wait_nsec_max[CANFS_FETCH_DEMAND] > 0, 1);
	canfs_engine_free(engine);
}

/* Prefetch by number or by bytes, whichever is reached first; demand beside it. */
static void test_depth(void **state)
{
	const struct {
		unsigned int depth;
		uint64_t bytes;
		unsigned int in_kernel;
	} bounds[] = { { 4, 0, 4 }, { 8, 3 * UNIT, 3 }, { 8, 2 * UNIT + 1, 3 },
		{ 2, 8 * UNIT, 2 } };

	(void)state;
	for (size_t b = 0; b < sizeof(bounds) / sizeof(bounds[0]); b++) {
		struct canfs_engine *engine =
			start_bounded("fifo", bounds[b].depth, bounds[b].bytes);

		gate_set(&reads_hang, true);
		for (unsigned int i = 0; i < 10; i++)
			add(engine, i, CANFS_FETCH_PREFETCH);
		gate_await(&reads, bounds[b].in_kernel);
		for (unsigned int i = 10; i < 15; i++)
			add(engine, i, CANFS_FETCH_DEMAND);
		gate_await(&reads, bounds[b].in_kernel + 5);
		assert_int_equal(canfs_engine_stats(engine).in_kernel, bounds[b].in_kernel + 5);
		gate_set(&reads_hang, false);
		gate_await(&told, 15);
		canfs_engine_free(engine);
	}
}

/* Metadata that cannot be read: the others are served meanwhile. */
static void test_addresses_that_hang(void **state)
{
	struct canfs_engine *engine = start("n-cscan", 2);
	struct canfs_fetch other = {
		.kind = CANFS_FETCH_PREFETCH, .fd = file, .file = 2, .bytes = UNIT, .done = done
	};
	struct canfs_fetch unknown = {
		.kind = CANFS_FETCH_PREFETCH, .fd = file, .file = 3, .bytes = UNIT, .done = done
	};

	(void)state;
	assert_true(canfs_engine_add(engine, &other)); /* the window is known from now on */
	gate_await(&told, 1);
	gate_set(&addresses_hang, true);
	add(engine, 0, CANFS_FETCH_PREFETCH);
	gate_await(&asked, 2);
	assert_int_equal(canfs_engine_stats(engine).waiting, 1);
	assert_true(canfs_engine_add(engine, &other));
	gate_await(&told, 2);
	/* Nor is one whose place nobody knows left to wait for that. */
	assert_true(canfs_engine_add(engine, &unknown));
	gate_await(&told, 3);
	assert_int_equal(asked, 2);
	gate_set(&addresses_hang, false);
	gate_await(&told, 4);
	assert_int_equal(cancelled, 0);
	canfs_engine_free(engine);
}

static void test_end_while_addresses_hang(void **state)
{
	struct canfs_engine *engine = start("n-cscan", 2);

	(void)state;
	gate_set(&addresses_hang, true);
	for (unsigned int i = 0; i < FETCHES; i++)
		add(engine, i, CANFS_FETCH_PREFETCH);
	gate_await(&asked, 1);
	gate_set(&addresses_hang, false);
	canfs_engine_free(engine);
	assert_int_equal(told, FETCHES);
}

/* By address on the device, not by offset: here backwards. */
static void test_order_on_the_device(void **state)
{
	struct canfs_engine *engine = start("elevator", 1);

	(void)state;
	gate_set(&reads_hang, true);
	add(engine, 10,
		CANFS_FETCH_PREFETCH); /* from now on the window is known: add() places at once */
	gate_await(&reads, 1);
	for (unsigned int i = 0; i < 10; i++)
		add(engine, i * 7 % 10, CANFS_FETCH_PREFETCH);
	gate_set(&reads_hang, false);
	gate_await(&told, 11);
	for (unsigned int i = 1; i < 10; i++)
		assert_true(order[i + 1] == order[i] - UNIT);
	canfs_engine_free(engine);
}

static int make_file(void **state)
{
	char path[] = "/tmp/canfs-hang-XXXXXX";

	(void)state;
	file = mkstemp(path);
	return file < 0 || unlink(path) != 0 || ftruncate(file, (off_t)FETCHES * UNIT) != 0 ? -1
											    : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device_that_hangs),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_addresses_that_hang),
		cmocka_unit_test(test_end_while_addresses_hang),
		cmocka_unit_test(test_order_on_the_device),
	};

	return cmocka_run_group_tests(tests, make_file, NULL);
}
