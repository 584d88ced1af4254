// SPDX-License-Identifier: LGPL-3.0-or-later
/* The modelled disk without power, or with faults: what may be lost, what not, and which commands fail. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bench/disk/faults.h"
#include "bench/disk/volatile.h"

#define MIB     ((uint64_t)1 << 20)
#define SECTOR  CANFS_SECTOR_BYTES
#define SECTORS 64
#define SEEDS   200

static struct canfs_store store;
static struct canfs_volatile written;

static int setup(void **state)
{
	(void)state;
	canfs_volatile_init(&written);
	return canfs_store_init(&store, 64 * MIB);
}

static int teardown(void **state)
{
	(void)state;
	canfs_volatile_fini(&written);
	canfs_store_fini(&store);
	return 0;
}

/* Sectors [first, first + n) filled with one character. */
static void put(uint64_t first, size_t n, char what, double done_usec)
{
	static char data[2 * MIB];

	memset(data, what, n * SECTOR);
	assert_int_equal(
		canfs_volatile_write(&written, &store, first * SECTOR, data, n * SECTOR, done_usec),
		0);
}

static char at(uint64_t sector)
{
	const char *data = canfs_store_read(&store, sector * SECTOR);

	for (size_t i = 1; i < SECTOR; i++)
		assert_int_equal(data[i], data[0]); /* a sector is whole, old or new */
	return data[0];
}

static void test_what_was_flushed_stays(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		struct canfs_cut cut;

		put(0, SECTORS, 'a', 10);
		canfs_volatile_flush(&written, 10);
		put(0, SECTORS, 'b', 20);
		cut = canfs_volatile_cut(&written, &store, seed);
		assert_int_equal(cut.sectors, SECTORS);
		for (uint64_t i = 0; i < SECTORS; i++) {
			cut.lost_sectors -= at(i) == 'a';
			assert_true(at(i) == 'a' || at(i) == 'b');
		}
		assert_int_equal(cut.lost_sectors, 0);
		assert_int_equal(written.unflushed.bytes, 0);
	}
}

static void test_flush_covers_what_was_done_before_it_came(void **state)
{
	uint64_t lost = 0;

	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		put(0, 1, 'a', 10);
		put(1, 1, 'b', 21);
		canfs_volatile_flush(&written, 20);
		lost += canfs_volatile_cut(&written, &store, seed).lost_sectors;
		assert_int_equal(at(0), 'a');
	}
	assert_in_range(lost, 1, SEEDS - 1);
}

/* All that a drive may do with three writes, and nothing else: each of the first two, of which the second
 * overwrites the first, and one elsewhere, in any order. */
static void test_any_order(void **state)
{
	unsigned int seen[3][2] = { { 0 } };

	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		char first, other;

		put(0, 1, '0', 0);
		put(9, 1, '0', 0);
		canfs_volatile_flush(&written, 0);
		put(0, 1, '1', 1);
		put(0, 1, '2', 2);
		put(9, 1, '1', 3);
		canfs_volatile_cut(&written, &store, seed);
		first = at(0);
		other = at(9);
		assert_in_range(first, '0', '2');
		assert_in_range(other, '0', '1');
		seen[first - '0'][other - '0']++;
	}
	for (int i = 0; i < 6; i++)
		assert_int_not_equal(seen[i / 2][i % 2], 0);
}

static void test_cuts_differ_and_repeat(void **state)
{
	uint64_t least = SECTORS, most = 0;

	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		uint64_t lost[2];

		for (int again = 0; again < 2; again++) {
			put(0, SECTORS, 'x', 1);
			lost[again] = canfs_volatile_cut(&written, &store, seed).lost_sectors;
		}
		assert_int_equal(lost[0], lost[1]);
		least = lost[0] < least ? lost[0] : least;
		most = lost[0] > most ? lost[0] : most;
	}
	assert_in_range(least, 0, SECTORS / 10);
	assert_in_range(most, SECTORS * 9 / 10, SECTORS);
}

/* However often, with whatever written between: what a cut with that seed leaves. */
static void test_same_cut_again(void **state)
{
	static char left[SEEDS][SECTORS];
	struct canfs_cut cut[SEEDS], again;

	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		put(0, SECTORS, 'a', 10);
		canfs_volatile_flush(&written, 10);
		put(0, SECTORS, 'b', 20);
		put(3, SECTORS / 2, 'c', 30);
		cut[seed] = canfs_volatile_cut(&written, &store, seed);
		for (uint64_t i = 0; i < SECTORS; i++)
			left[seed][i] = at(i);
	}
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		put(1, SECTORS + 3, 'd', 40);
		if (seed % 2)
			canfs_volatile_flush(&written, 40);
		put(0, 2, 'e', 50);
		assert_int_equal(canfs_volatile_recut(&written, &store, seed, &again), 0);
		assert_int_equal(again.sectors, cut[seed].sectors);
		assert_int_equal(again.lost_sectors, cut[seed].lost_sectors);
		for (uint64_t i = 0; i < SECTORS; i++)
			assert_int_equal(at(i), left[seed][i]);
		assert_int_equal(at(SECTORS + 1), 0);
	}
}

static void test_no_cut_again(void **state)
{
	struct canfs_cut cut = { .sectors = 7 };

	(void)state;
	put(0, 1, 'a', 1);
	assert_int_equal(canfs_volatile_recut(&written, &store, 1, &cut), -EINVAL);
	assert_int_equal(at(0), 'a');
	canfs_volatile_cut(&written, &store, 1);
	for (uint64_t bytes = 0; bytes <= CANFS_SINCE_CUT_BYTES_MAX; bytes += MIB)
		put(1, MIB / SECTOR, 'b', 2);
	assert_int_equal(canfs_volatile_recut(&written, &store, 1, &cut), -EINVAL);
	assert_int_equal(at(1), 'b');
	assert_int_equal(written.since_cut.bytes, 0);
	assert_int_equal(cut.sectors, 7);
}

/* Sectors are the disk's, wherever a write begins and ends. */
static void test_no_sector_is_torn(void **state)
{
	static const char data[3 * 4096] = { 0 };
	static char new[3 * 4096];
	uint64_t lost = 0;

	(void)state;
	memset(new, 'n', sizeof(new));
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		const char *left;

		canfs_store_write(&store, 0, data, sizeof(data));
		assert_int_equal(
			canfs_volatile_write(&written, &store, 512, new, 2 * SECTOR, 1), 0);
		lost += canfs_volatile_cut(&written, &store, seed).lost_sectors;
		left = canfs_store_read(&store, 0);
		assert_int_equal(left[0], 0);
		assert_int_equal(left[512], left[SECTOR - 1]);
		assert_int_equal(left[SECTOR], left[2 * SECTOR - 1]);
		assert_int_equal(left[2 * SECTOR], left[2 * SECTOR + 511]);
		assert_int_equal(left[2 * SECTOR + 512], 0);
	}
	assert_in_range(lost, 1, 3 * SEEDS - 1);
}

static void test_cache_is_bounded(void **state)
{
	const uint64_t cached = CANFS_VOLATILE_BYTES_MAX / MIB, sectors = MIB / SECTOR;

	(void)state;
	for (uint64_t i = 0; i < cached + 3; i++)
		put(i * sectors, sectors, 'a', (double)i);
	assert_int_equal(written.unflushed.bytes, CANFS_VOLATILE_BYTES_MAX);
	assert_int_equal(canfs_volatile_cut(&written, &store, 1).sectors, cached * sectors);
	for (uint64_t i = 0; i < 3 * sectors; i++)
		assert_int_equal(at(i), 'a');
	/* one write that is larger than all of it is still one write */
	for (uint64_t i = 0; i < 3; i++)
		put(0, 2 * sectors, 'b', 1);
	assert_int_equal(written.unflushed.bytes, 6 * MIB);
}

static bool hit(
	struct canfs_faults *f, enum canfs_command_kind kind, uint64_t offset, uint64_t bytes)
{
	const struct canfs_command c = { .kind = kind, .offset = offset, .bytes = bytes };

	return canfs_faults_hit(f, &c);
}

static void test_faults(void **state)
{
	struct canfs_faults f = { 0 };

	(void)state;
	assert_int_equal(canfs_faults_add(&f, "read:always:4096-8192"), 0);
	assert_int_equal(canfs_faults_add(&f, "flush:once"), 0);
	assert_int_equal(canfs_faults_add(&f, "write:once"), 0);
	for (int i = 0; i < 2; i++) {
		assert_false(hit(&f, CANFS_COMMAND_READ, 0, 4096));
		assert_true(hit(&f, CANFS_COMMAND_READ, 0, 4097));
		assert_true(hit(&f, CANFS_COMMAND_READ, 8191, 1));
		assert_false(hit(&f, CANFS_COMMAND_READ, 8192, 512));
		assert_int_equal(hit(&f, CANFS_COMMAND_FLUSH, 0, 0), i == 0);
		assert_int_equal(hit(&f, CANFS_COMMAND_WRITE, 1 << 20, 512), i == 0);
	}
	assert_int_equal(f.n, 1);
}

static void test_faults_refused(void **state)
{
	static const char *const wrong[] = { "", "read", "read:", "read:twice", "seek:once",
		"read:once:", "read:once:5", "read:once:5-", "read:once:5-5", "read:once:6-5",
		"read:once:0-9x", "read:once:-1-5", "reads:once",
		"write:once:0-99999999999999999999" };
	struct canfs_faults f = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(canfs_faults_add(&f, wrong[i]), -EINVAL);
	assert_int_equal(f.n, 0);
	for (int i = 0; i < CANFS_FAULTS_MAX; i++)
		assert_int_equal(canfs_faults_add(&f, "read:once:0-4096"), 0);
	assert_int_equal(canfs_faults_add(&f, "read:once"), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_was_flushed_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_flush_covers_what_was_done_before_it_came, setup, teardown),
		cmocka_unit_test_setup_teardown(test_any_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cuts_differ_and_repeat, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_cut_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_cut_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_sector_is_torn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cache_is_bounded, setup, teardown),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_faults_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
