// SPDX-License-Identifier: LGPL-3.0-or-later
/* The modelled disk with its queue, in model time: tagged queueing, the solid-state disk, statistics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bench/disk/device.h"
#include "bench/disk/tags.h"

#define MIB            ((uint64_t)1 << 20)
#define CAPACITY_BYTES (32768 * MIB)
#define USEC_PER_SEC   1e6
#define DEPTH_MAX      64

static struct canfs_disk_model *device;
static struct canfs_command commands[DEPTH_MAX];

static int setup(void **state)
{
	(void)state;
	device = malloc(sizeof(*device));
	assert_non_null(device);
	canfs_device_init(device, CAPACITY_BYTES);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(device);
	return 0;
}

static void assert_between(double value, double min, double max)
{
	if (!(value >= min && value <= max))
		fail_msg("%g is not in %g ... %g", value, min, max);
}

static void add(struct canfs_command *c, enum canfs_command_kind kind, uint64_t offset,
	uint64_t bytes, double arrival_usec)
{
	*c = (struct canfs_command) {
		.kind = kind, .offset = offset, .bytes = bytes, .arrival_usec = arrival_usec
	};
	canfs_device_add(device, c);
}

static struct canfs_command *take_next(void)
{
	struct canfs_command *c = canfs_device_take(device, canfs_device_due_usec(device));

	assert_non_null(c);
	return c;
}

static double late_max_usec;

/* A closed loop of `depth` commands; next(i, n) is the n-th offset of the i-th. Returns commands/s. */
static double closed_loop(enum canfs_disk_mode mode, enum canfs_command_kind kind, uint64_t bytes,
	int depth, double seconds, uint64_t (*next)(int i, int n))
{
	int issued[DEPTH_MAX] = { 0 }, done = 0;
	double now = 0;

	canfs_device_set_mode(device, mode);
	late_max_usec = 0;
	for (int i = 0; i < depth; i++)
		add(&commands[i], kind, next(i, issued[i]++), bytes, 0);
	while (now < seconds * USEC_PER_SEC) {
		struct canfs_command *c = take_next();
		int i = (int)(c - commands);

		assert_true(c->due_usec >= now);
		now = c->due_usec;
		late_max_usec = fmax(late_max_usec, now - c->arrival_usec);
		add(c, kind, next(i, issued[i]++), bytes, now);
		done++;
	}
	return done / (now / USEC_PER_SEC);
}

static uint64_t random_page(int i, int n)
{
	uint64_t x =
		((uint64_t)i << 32 | (uint64_t)n) * 6364136223846793005u + 1442695040888963407u;

	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return (x >> 32) % (CAPACITY_BYTES / 4096) * 4096;
}

/* Two streams of 128 KB commands, each of the first or second half of the closed loop. */
static int stream_position[2], stream_depth;

static uint64_t two_streams(int i, int n)
{
	(void)n;
	return (uint64_t)(i / stream_depth) * 8192 * MIB +
	       (uint64_t)stream_position[i / stream_depth]++ * (MIB / 8);
}

static double two_streams_rate(enum canfs_disk_mode mode, int depth)
{
	stream_position[0] = stream_position[1] = 0;
	stream_depth = depth;
	canfs_device_init(device, CAPACITY_BYTES);
	return closed_loop(mode, CANFS_COMMAND_READ, MIB / 8, 2 * depth, 20, two_streams) * MIB /
	       8 / 1e6;
}

static double random_reads(enum canfs_disk_mode mode, int depth)
{
	double seconds = mode == CANFS_DISK_SSD ? 0.5 : 20;

	return closed_loop(mode, CANFS_COMMAND_READ, 4096, depth, seconds, random_page);
}

static void test_depth_is_no_use_to_a_fifo(void **state)
{
	(void)state;
	assert_between(random_reads(CANFS_DISK_HDD, 32), 88, 96);
	assert_int_equal(device->stats.reordered, 0);
	assert_int_equal(device->stats.depth_max, 32);
}

static void test_tags_double_random_reads(void **state)
{
	(void)state;
	assert_between(random_reads(CANFS_DISK_HDD_NCQ, 32), 215, 230);
	assert_true(device->stats.reordered > device->stats.commands[CANFS_COMMAND_READ] / 2);
}

static void test_tags_with_one_command_are_a_fifo(void **state)
{
	double tagged = random_reads(CANFS_DISK_HDD_NCQ, 1);

	(void)state;
	canfs_device_init(device, CAPACITY_BYTES);
	assert_true(random_reads(CANFS_DISK_HDD, 1) == tagged);
}

static void test_age_is_bounded(void **state)
{
	(void)state;
	random_reads(CANFS_DISK_HDD_NCQ, 32);
	assert_between(late_max_usec, 300e3, 900e3);
}

static void test_two_streams(void **state)
{
	(void)state;
	assert_between(two_streams_rate(CANFS_DISK_HDD, 1), 11.5, 12.5);
	assert_between(two_streams_rate(CANFS_DISK_HDD, 4), 38, 43);
	/* nothing to choose from but the other stream */
	assert_between(two_streams_rate(CANFS_DISK_HDD_NCQ, 1), 11.5, 12.5);
	/* with more it stays with one stream until the other is too old */
	assert_between(two_streams_rate(CANFS_DISK_HDD_NCQ, 8), 160, 172);
	assert_true(device->drive.stats.lookahead_hits > 100 * device->drive.stats.seeks);
}

/* What the drive says that a read would take is what it takes. */
static void test_estimates_are_exact(void **state)
{
	double now = 0;

	(void)state;
	for (int n = 0; n < 5000; n++) {
		uint64_t offset = n % 3 ? random_page(1, n / 30) + (uint64_t)n % 30 * 65536
					: random_page(2, n);
		double estimate;

		if (offset + 65536 > CAPACITY_BYTES)
			continue;
		estimate = canfs_drive_read_estimate(&device->drive, offset, 65536, now);
		now = canfs_drive_read(&device->drive, offset, 65536, now);
		assert_true(estimate == now);
	}
	assert_true(device->drive.stats.lookahead_hits > 0 && device->drive.stats.seeks > 0);
}

static void test_nothing_passes_a_flush(void **state)
{
	(void)state;
	canfs_device_set_mode(device, CANFS_DISK_HDD_NCQ);
	add(&commands[0], CANFS_COMMAND_READ, 20000 * MIB, 4096, 0);
	add(&commands[1], CANFS_COMMAND_READ, 0, 4096, 1);
	add(&commands[2], CANFS_COMMAND_FLUSH, 0, 0, 2);
	add(&commands[3], CANFS_COMMAND_READ, 20000 * MIB, 4096, 3);
	for (int i = 0; i < 4; i++)
		assert_ptr_equal(take_next(), &commands[i]);
	assert_true(canfs_device_due_usec(device) == INFINITY);
}

/* A cache full of small writes: another waits for room, reads do not wait for it. */
static void test_reads_pass_writes_without_room(void **state)
{
	struct canfs_drive *d = &device->drive;
	double now = 0;
	int n;

	(void)state;
	for (n = 0; canfs_wcache_has_room(&d->wcache, random_page(3, n), random_page(3, n) + 4096);
		n++)
		canfs_wcache_insert(&d->wcache, random_page(3, n), random_page(3, n) + 4096);
	canfs_device_set_mode(device, CANFS_DISK_HDD_NCQ);
	add(&commands[0], CANFS_COMMAND_READ, 0, 4096, now);
	add(&commands[1], CANFS_COMMAND_WRITE, random_page(3, n), 65536, 1);
	add(&commands[2], CANFS_COMMAND_READ, 65536, 4096, 2);
	assert_ptr_equal(take_next(), &commands[0]);
	assert_ptr_equal(take_next(), &commands[2]);
	assert_ptr_equal(take_next(), &commands[1]);
	assert_int_equal(device->stats.reordered, 1);
}

static void test_ssd_random_reads(void **state)
{
	(void)state;
	/* 10 us + 4096 / 530 us of the controller, and 80 us beside it */
	assert_between(random_reads(CANFS_DISK_SSD, 1), 10100, 10300);
	canfs_device_init(device, CAPACITY_BYTES);
	assert_between(random_reads(CANFS_DISK_SSD, 32), 56000, 56700);
}

static void test_ssd_large_reads_fill_the_bus(void **state)
{
	(void)state;
	assert_between(
		closed_loop(CANFS_DISK_SSD, CANFS_COMMAND_READ, MIB, 4, 2, random_page) * MIB / 1e6,
		520, 530);
}

/* At first the cache takes them; then flash sets the pace. */
static void test_ssd_writes(void **state)
{
	(void)state;
	assert_between(closed_loop(CANFS_DISK_SSD, CANFS_COMMAND_WRITE, 4096, 1, 0.05, random_page),
		26000, 27000);
	canfs_device_init(device, CAPACITY_BYTES);
	assert_between(closed_loop(CANFS_DISK_SSD, CANFS_COMMAND_WRITE, 4096, 32, 1, random_page),
		34000, 37500);
	assert_true(late_max_usec < 2000);
}

static void test_ssd_flush(void **state)
{
	struct canfs_ssd *ssd = &device->ssd;
	double now = 0, flushed;

	(void)state;
	for (int i = 0; i < 16; i++)
		now = canfs_ssd_write(ssd, MIB, now);
	flushed = canfs_ssd_flush(ssd, now);
	/* what 450 MB/s have not programmed of 16 MiB that came with 530, and the tables */
	assert_between(flushed - now, 7900, 8000);
	assert_between(canfs_ssd_flush(ssd, flushed) - flushed, 0, 20);
}

static void test_ssd_reads_beside_writes(void **state)
{
	struct canfs_ssd *ssd = &device->ssd;
	double alone = canfs_ssd_read(ssd, 4096, 0), written, read;

	(void)state;
	written = canfs_ssd_write(ssd, MIB, 1000);
	read = canfs_ssd_read(ssd, 4096, written);
	assert_between(read - written - alone, 99, 101);
	/* a write that waits for room holds up no read */
	for (int i = 0; i < 20000; i++)
		written = canfs_ssd_write(ssd, 4096, 1000);
	assert_true(canfs_ssd_read(ssd, 4096, 1000) < written - 10e3);
}

static void test_ssd_completes_out_of_order(void **state)
{
	(void)state;
	canfs_device_set_mode(device, CANFS_DISK_SSD);
	add(&commands[0], CANFS_COMMAND_READ, 0, 4096, 0);
	add(&commands[1], CANFS_COMMAND_WRITE, MIB, 4096, 1);
	assert_null(canfs_device_take(device, 30));
	assert_ptr_equal(take_next(), &commands[1]);
	assert_ptr_equal(take_next(), &commands[0]);
}

/* Nothing is lost when the mode changes: what is outstanding is done at once, or as it was started. */
static void test_mode_changes_under_load(void **state)
{
	int taken = 0;

	(void)state;
	for (int mode = 0; mode < CANFS_DISK_MODES; mode++) {
		canfs_device_set_mode(device, (enum canfs_disk_mode)mode);
		for (int i = 0; i < 8; i++)
			add(&commands[mode * 8 + i],
				i % 4 ? CANFS_COMMAND_READ : CANFS_COMMAND_WRITE,
				random_page(mode, i), 4096, mode);
	}
	canfs_device_set_mode(device, CANFS_DISK_FREE);
	while (canfs_device_take(device, CANFS_DISK_MODES))
		taken++;
	assert_int_equal(taken, CANFS_DISK_MODES * 8);
	assert_int_equal(device->outstanding, 0);
}

static void test_statistics(void **state)
{
	(void)state;
	canfs_device_set_mode(device, CANFS_DISK_HDD);
	add(&commands[0], CANFS_COMMAND_READ, 0, 4096, 0);
	add(&commands[1], CANFS_COMMAND_READ, 4096, 4096, 10);
	take_next();
	take_next();
	add(&commands[2], CANFS_COMMAND_WRITE, MIB, 8192, USEC_PER_SEC);
	take_next();
	assert_int_equal(device->stats.commands[CANFS_COMMAND_READ], 2);
	assert_int_equal(device->stats.bytes[CANFS_COMMAND_WRITE], 8192);
	assert_int_equal(device->stats.depth_sum, 1 + 2 + 1);
	assert_int_equal(device->drive.stats.seeks, 1);
	assert_int_equal(device->drive.stats.lookahead_hits, 1);
	/* all but the second in which nobody asked */
	assert_between(device->stats.busy_usec,
		commands[1].due_usec + commands[2].due_usec - USEC_PER_SEC - 1,
		commands[1].due_usec + commands[2].due_usec - USEC_PER_SEC + 1);
	canfs_device_reset_stats(device);
	assert_true(device->stats.busy_usec == 0);
	assert_int_equal(device->drive.stats.seeks, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_depth_is_no_use_to_a_fifo),
		TEST(test_tags_double_random_reads),
		TEST(test_tags_with_one_command_are_a_fifo),
		TEST(test_age_is_bounded),
		TEST(test_two_streams),
		TEST(test_estimates_are_exact),
		TEST(test_nothing_passes_a_flush),
		TEST(test_reads_pass_writes_without_room),
		TEST(test_ssd_random_reads),
		TEST(test_ssd_large_reads_fill_the_bus),
		TEST(test_ssd_writes),
		TEST(test_ssd_flush),
		TEST(test_ssd_reads_beside_writes),
		TEST(test_ssd_completes_out_of_order),
		TEST(test_mode_changes_under_load),
		TEST(test_statistics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
