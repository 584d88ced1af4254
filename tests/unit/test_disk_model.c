// SPDX-License-Identifier: LGPL-3.0-or-later
/* The modelled disk, in model time: what a 7200 rpm drive is known to do. No clock, no thread. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bench/disk/drive.h"

#define MIB            ((uint64_t)1 << 20)
#define CAPACITY_BYTES (32768 * MIB)
#define CACHE_BYTES    (16 * MIB)
#define USEC_PER_SEC   1e6

static struct canfs_drive *drive;

static int setup(void **state)
{
	(void)state;
	drive = malloc(sizeof(*drive));
	assert_non_null(drive);
	canfs_drive_init(drive, CAPACITY_BYTES);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(drive);
	return 0;
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void assert_between(double value, double min, double max)
{
	if (!(value >= min && value <= max))
		fail_msg("%g is not in %g ... %g", value, min, max);
}

static uint64_t random_block(uint64_t *seed, uint64_t area_bytes)
{
	return next_random(seed) % (area_bytes / 8192) * 8192;
}

/* Closed loop, one outstanding: reads per second over an area from the start of the disk. */
static double random_iops(uint64_t area_bytes)
{
	uint64_t seed = 1;
	double now = 0;
	int n = 2000;

	for (int i = 0; i < n; i++)
		now = canfs_drive_read(drive, random_block(&seed, area_bytes), 4096, now);
	return n / (now / USEC_PER_SEC);
}

static double sequential_rate(uint64_t start)
{
	double now = 0;

	for (uint64_t done = 0; done < 200 * MIB; done += MIB)
		now = canfs_drive_read(drive, start + done, MIB, now);
	return 200.0 * (double)MIB / now; /* bytes per usec = MB/s */
}

static void test_positions_invert(void **state)
{
	const struct canfs_geometry *g = &drive->geometry;
	double last = -1;

	(void)state;
	for (uint64_t offset = 0; offset < CAPACITY_BYTES; offset += 37 * MIB + 4096) {
		double position = canfs_geometry_position(g, (double)offset);

		assert_true(position > last);
		assert_between(
			canfs_geometry_offset(g, position), (double)offset - 1, (double)offset + 1);
		last = position;
	}
}

static void test_seek_and_rotation_bounds(void **state)
{
	const struct canfs_geometry *g = &drive->geometry;
	double end = g->zone_position[CANFS_DISK_ZONES];
	double usec;

	(void)state;
	assert_true(canfs_geometry_seek_usec(g, 10.1, 10.9) == 0);
	assert_between(canfs_geometry_seek_usec(g, 10, 11), 800, 900);
	assert_between(canfs_geometry_seek_usec(g, 0, end), 11490, 11500);
	for (double time = 0; time < 50000; time += 777) {
		usec = canfs_geometry_rotation_usec(g, 5.25, time);
		assert_between(usec, 0, g->revolution_usec);
		/* and the angle is there then */
		assert_between(canfs_geometry_rotation_usec(g, 5.25, time + usec + 1),
			g->revolution_usec - 2, g->revolution_usec);
	}
}

static void test_random_reads(void **state)
{
	(void)state;
	assert_between(random_iops(CAPACITY_BYTES), 85, 95);
}

static void test_random_reads_short_stroke(void **state)
{
	(void)state;
	assert_between(random_iops(4096 * MIB), 140, 155);
}

static void test_sequential_reads_outer(void **state)
{
	(void)state;
	assert_between(sequential_rate(0), 174, 180);
}

static void test_sequential_reads_inner(void **state)
{
	(void)state;
	assert_between(sequential_rate(CAPACITY_BYTES - 300 * MIB), 86, 91);
}

/* The block after the last one comes from the drive's buffer. */
static void test_lookahead_serves(void **state)
{
	double now = canfs_drive_read(drive, 0, 65536, 0);
	double next = canfs_drive_read(drive, 65536, 65536, now + 5000);

	(void)state;
	assert_int_equal(drive->stats.buffer_hits, 1);
	assert_between(next - now - 5000, 100, 400);
}

static void test_overwritten_lookahead_is_forgotten(void **state)
{
	double now = canfs_drive_read(drive, 0, 65536, 0);

	(void)state;
	now = canfs_drive_write(drive, 131072, 4096, now + 5000);
	now = canfs_drive_flush(drive, now);
	canfs_drive_read(drive, 131072, 4096, now);
	assert_int_equal(drive->stats.buffer_hits, 0);
}

static void test_write_enters_the_cache_at_bus_speed(void **state)
{
	(void)state;
	assert_between(canfs_drive_write(drive, 0, MIB, 0), 3000, 4000);
	assert_int_equal(drive->wcache.bytes, MIB);
}

static void test_sequential_writes_reach_media_rate(void **state)
{
	double now = 0;

	(void)state;
	for (uint64_t done = 0; done < 400 * MIB; done += MIB)
		now = canfs_drive_write(drive, done, MIB, now);
	now = canfs_drive_flush(drive, now);
	assert_between(400.0 * (double)MIB / now, 165, 181);
	assert_int_equal(drive->wcache.bytes, 0);
}

/* A full cache of sequential data: 16 MB at 180 MB/s. */
static void test_flush_waits_for_the_whole_cache(void **state)
{
	double now = 0, done;

	(void)state;
	for (uint64_t offset = 0; offset < 8 * MIB; offset += MIB)
		now = canfs_drive_write(drive, offset, MIB, now);
	done = canfs_drive_flush(drive, now);
	assert_between(done - now, 40000, 60000);
	assert_int_equal(drive->wcache.bytes, 0);
	/* a clean cache has nothing to wait for */
	assert_between(canfs_drive_flush(drive, done) - done, 0, 200);
}

/* Commands that came during a FLUSH are done after it: later, but done. */
static void test_commands_after_a_flush_complete(void **state)
{
	double now = 0, flushed, written;

	(void)state;
	for (uint64_t offset = 0; offset < 8 * MIB; offset += MIB)
		now = canfs_drive_write(drive, offset, MIB, now);
	flushed = canfs_drive_flush(drive, now);
	written = canfs_drive_write(drive, 100 * MIB, MIB, now + 1);
	assert_between(written - flushed, 3000, 4000);
	assert_between(canfs_drive_read(drive, 200 * MIB, 4096, now + 2) - written, 1000, 25000);
}

static void test_idle_drive_drains_by_itself(void **state)
{
	(void)state;
	canfs_drive_write(drive, 0, 4 * MIB, 0);
	canfs_drive_read(drive, 1000 * MIB, 4096, USEC_PER_SEC);
	assert_int_equal(drive->wcache.bytes, 0);
}

static void test_cached_data_is_read_from_the_cache(void **state)
{
	double now = canfs_drive_write(drive, 0, MIB, 0);

	(void)state;
	assert_between(canfs_drive_read(drive, 8192, 8192, now) - now, 100, 200);
	assert_int_equal(drive->stats.seeks, 0);
}

/* Random 4 KB writes: the bus takes them until the cache is full, then the head sets the pace. */
static void test_random_writes_are_bounded_by_the_head(void **state)
{
	uint64_t seed = 3;
	double now = 0, begin = 0;

	(void)state;
	for (int i = 0; i < 12000; i++) {
		if (i == 8000)
			begin = now;
		now = canfs_drive_write(drive, random_block(&seed, 4096 * MIB), 4096, now);
		assert_true(drive->wcache.bytes <= CACHE_BYTES);
		assert_true(drive->wcache.extents <= CANFS_WCACHE_EXTENTS);
	}
	/* sorted: better than random reads, far worse than the bus */
	assert_between(4000 / ((now - begin) / USEC_PER_SEC), 140, 1000);
}

/* What the lab is for: streaming writes make a closed-loop reader slower, but do not stop it. */
static void test_writes_contend_with_reads(void **state)
{
	uint64_t seed = 5, written = 0;
	double now = 0, worst = 0, end;
	int reads = 0;

	(void)state;
	while (now < 10 * USEC_PER_SEC) {
		/* 40 MB/s come in beside the reader */
		for (; (double)written < now * 40; written += MIB)
			canfs_drive_write(drive, 8192 * MIB + written, MIB, now);
		end = canfs_drive_read(drive, random_block(&seed, 4096 * MIB), 8192, now);
		worst = fmax(worst, end - now);
		now = end + 300;
		reads++;
	}
	assert_between(reads / 10.0, 40, 110);
	assert_between(worst, 20000, 120000);
}

static void test_same_input_same_result(void **state)
{
	double first = random_iops(CAPACITY_BYTES);

	(void)state;
	canfs_drive_init(drive, CAPACITY_BYTES);
	assert_true(random_iops(CAPACITY_BYTES) == first);
}

static void test_wcache_against_a_bitmap(void **state)
{
	enum { BLOCKS = 200 };
	struct canfs_wcache *c = &drive->wcache;
	bool dirty[BLOCKS] = { false };
	struct canfs_extent taken;
	uint64_t seed = 9, sweep = 0, bytes;

	(void)state;
	for (int step = 0; step < 20000; step++) {
		uint64_t lo = next_random(&seed) % BLOCKS, n = 1 + next_random(&seed) % 8;
		uint64_t hi = lo + n > BLOCKS ? BLOCKS : lo + n;

		if (next_random(&seed) % 3) {
			canfs_wcache_insert(c, lo, hi);
			for (uint64_t i = lo; i < hi; i++)
				dirty[i] = true;
		} else if (canfs_wcache_take(c, sweep, n, &taken)) {
			assert_true(taken.hi > taken.lo && taken.hi - taken.lo <= n);
			for (uint64_t i = taken.lo; i < taken.hi; i++) {
				assert_true(dirty[i]);
				dirty[i] = false;
			}
			sweep = taken.hi;
		}
		bytes = 0;
		for (uint64_t i = 0; i < BLOCKS; i++) {
			bytes += dirty[i];
			assert_int_equal(canfs_wcache_covers(c, i, i + 1), dirty[i]);
		}
		assert_int_equal(c->bytes, bytes);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_positions_invert),
		TEST(test_seek_and_rotation_bounds),
		TEST(test_random_reads),
		TEST(test_random_reads_short_stroke),
		TEST(test_sequential_reads_outer),
		TEST(test_sequential_reads_inner),
		TEST(test_lookahead_serves),
		TEST(test_overwritten_lookahead_is_forgotten),
		TEST(test_write_enters_the_cache_at_bus_speed),
		TEST(test_sequential_writes_reach_media_rate),
		TEST(test_flush_waits_for_the_whole_cache),
		TEST(test_commands_after_a_flush_complete),
		TEST(test_idle_drive_drains_by_itself),
		TEST(test_cached_data_is_read_from_the_cache),
		TEST(test_random_writes_are_bounded_by_the_head),
		TEST(test_writes_contend_with_reads),
		TEST(test_same_input_same_result),
		TEST(test_wcache_against_a_bitmap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
