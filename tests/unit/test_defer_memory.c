// SPDX-License-Identifier: LGPL-3.0-or-later
/* DEFER on machines of 64 MB to 64 TB: all values derived from memory stay within the knobs' bounds. */
#include "tests/unit/fake_kernel.h"

#include "client-agent/actuators/defer.h"
#include "client-agent/actuators/readahead.h"
#include "client-agent/auction/arithmetic.h"
#include "client-agent/auction/read_window.h"

#define MIB (UINT64_C(1) << 20)
#define TIB (UINT64_C(1) << 40)

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Settings that an administrator may have made: background and limit, as ratios or bytes. */
struct stock {
	const char *background_bytes, *background_ratio, *bytes, *ratio;
};

static const struct stock stocks[] = {
	{ "0", "10", "0", "20" },
	{ "0", "0", "0", "1" },
	{ "0", "50", "0", "100" },
	{ "4096", "0", "8192", "0" },
	{ "314572800", "0", "629145600", "0" },
	{ "2199023255552", "0", "4398046511104", "0" },
	{ "9223372036854775807", "0", "18446744073709551615", "0" },
};

static const unsigned int available_pcts[] = { 0, 1, 20, 99 };

static void set_stock(const struct fake_root *root, const struct stock *stock)
{
	fake_root_write(root, BACKGROUND_BYTES, stock->background_bytes);
	fake_root_write(root, BACKGROUND_RATIO, stock->background_ratio);
	fake_root_write(root, DIRTY_BYTES, stock->bytes);
	fake_root_write(root, DIRTY_RATIO, stock->ratio);
}

static void check_is_stock(const struct fake_root *root, const struct stock *stock)
{
	fake_kernel_settle(root);
	assert_string_equal(fake_root_read(root, BACKGROUND_BYTES), stock->background_bytes);
	assert_string_equal(fake_root_read(root, BACKGROUND_RATIO), stock->background_ratio);
	assert_string_equal(fake_root_read(root, DIRTY_BYTES), stock->bytes);
	assert_string_equal(fake_root_read(root, DIRTY_RATIO), stock->ratio);
	assert_int_equal(fake_root_number(root, BDI_A "/min_ratio"), 0);
	assert_int_equal(fake_root_number(root, BDI_B "/min_ratio"), 0);
}

static uint64_t stock_limit(const struct stock *stock, const struct canfs_meminfo *memory)
{
	uint64_t bytes = strtoull(stock->bytes, NULL, 10);

	return bytes ? bytes : memory->available_bytes / 100 * strtoull(stock->ratio, NULL, 10);
}

static void check_bounds(const struct fake_root *root, enum canfs_knob knob, const char *path)
{
	uint64_t value = fake_root_number(root, path);

	assert_in_range(value, canfs_knob_info(knob)->lowest, canfs_knob_info(knob)->highest);
}

/* Raised for the bound, but not beyond the bound and the stock limit, and never below the stock limit. */
static void check_raised(struct fake_kernel *k, const struct stock *stock,
	const struct canfs_meminfo *memory, uint64_t bound)
{
	uint64_t background = fake_root_number(&k->root, BACKGROUND_BYTES);
	uint64_t limit = fake_root_number(&k->root, DIRTY_BYTES);
	uint64_t before = canfs_smaller(
		stock_limit(stock, memory), canfs_knob_info(CANFS_KNOB_DIRTY_BYTES)->highest);
	uint64_t step = canfs_larger(memory->total_bytes / 32, MIB);
	uint64_t shares = fake_root_number(&k->root, BDI_A "/min_ratio") +
			  fake_root_number(&k->root, BDI_B "/min_ratio");

	check_bounds(&k->root, CANFS_KNOB_BACKGROUND_BYTES, BACKGROUND_BYTES);
	check_bounds(&k->root, CANFS_KNOB_DIRTY_BYTES, DIRTY_BYTES);
	assert_true(background < limit && limit >= before);
	if (before < MIB << 40)
		assert_true(limit <= canfs_larger(before, bound / 100 * 128) + 2 * step + 8 * MIB);
	assert_in_range(shares, 2, CANFS_DEFER_SHARE_PCT);
}

/* Restores the knobs in stages or at once, depending on the kernel's counters. */
static void take_back(struct fake_kernel *k, struct canfs_defer *defer, const struct stock *stock,
	struct canfs_meminfo memory)
{
	int ret;

	while ((ret = canfs_defer_restore_step(defer, &memory, memory.total_bytes / 16, NULL)) ==
		-EAGAIN) {
		fake_kernel_settle(&k->root);
		memory.dirty_bytes = canfs_growth(memory.dirty_bytes, memory.total_bytes / 8);
	}
	assert_int_equal(ret, 0);
	check_is_stock(&k->root, stock);
	assert_int_equal(canfs_journal_count(k->journal), 0);
}

static void try_defer(struct fake_kernel *k, struct canfs_defer *defer, const struct stock *stock,
	const struct canfs_meminfo *memory)
{
	const struct canfs_mount *const mounts[] = { &mount_a, &mount_b };

	for (unsigned int hold_pct = 5; hold_pct <= 50; hold_pct += 45) {
		uint64_t bound = canfs_defer_bound_bytes(memory, 0, hold_pct);
		struct canfs_meminfo later = *memory;

		assert_in_range(bound, 1, canfs_smaller(memory->total_bytes, TIB + 1));
		k->changes.n = 0;
		assert_int_equal(
			canfs_defer_apply(defer, bound, mounts, 2, memory, &k->changes), 0);
		check_raised(k, stock, memory, bound);
		later.dirty_bytes = bound - 1;
		fake_kernel_settle(&k->root);
		take_back(k, defer, stock, later);
	}
}

static void try_squeeze(struct fake_kernel *k, struct canfs_defer *defer, const struct stock *stock,
	struct canfs_meminfo memory)
{
	static const uint64_t targets[] = { 0, 32 * MIB };

	for (size_t i = 0; i < COUNT(targets); i++) {
		uint64_t before = stock_limit(stock, &memory);
		int ret;

		memory.dirty_bytes = memory.available_bytes;
		while ((ret = canfs_defer_squeeze(defer, targets[i], &memory, NULL)) == -EAGAIN) {
			uint64_t limit = fake_root_number(&k->root, DIRTY_BYTES);

			fake_kernel_settle(&k->root);
			assert_true(limit <= before);
			memory.dirty_bytes /= 4;
		}
		assert_int_equal(ret, 0);
		fake_kernel_settle(&k->root);
		if (canfs_defer_active(defer)) {
			check_bounds(&k->root, CANFS_KNOB_BACKGROUND_BYTES, BACKGROUND_BYTES);
			check_bounds(&k->root, CANFS_KNOB_DIRTY_BYTES, DIRTY_BYTES);
		}
		take_back(k, defer, stock, memory);
	}
}

static void on_each_memory(struct fake_kernel *k, struct canfs_defer *defer,
	const struct stock *stock, uint64_t total_bytes)
{
	for (size_t i = 0; i < COUNT(available_pcts); i++) {
		uint64_t available = total_bytes / 100 * available_pcts[i];
		const struct canfs_meminfo memory = { .total_bytes = total_bytes,
			.free_bytes = available,
			.available_bytes = available };

		set_stock(&k->root, stock);
		try_defer(k, defer, stock, &memory);
		try_squeeze(k, defer, stock, memory);
	}
}

/* Thousands of changes would be slow on a disk, so all files are in memory. */
static int setup(void **state)
{
	struct fake_kernel *k = calloc(1, sizeof(*k));
	char error[64];

	strcpy(k->root.path, "/dev/shm/canfs-test-XXXXXX");
	if (!mkdtemp(k->root.path))
		fake_root_make(&k->root);
	fake_stock_limits(&k->root);
	fake_bdi(&k->root, BDI_A);
	fake_bdi(&k->root, BDI_B);
	assert_int_equal(canfs_journal_parse(&k->journal, "", "boot", error, sizeof(error)), 0);
	assert_int_equal(canfs_tuner_new(&k->tuner, k->root.path, k->journal), 0);
	*state = k;
	return 0;
}

static void test_limits(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer;

	assert_int_equal(canfs_defer_new(&defer, k->tuner), 0);
	for (size_t i = 0; i < COUNT(stocks); i++) {
		for (uint64_t mib = 64; mib <= UINT64_C(64) << 20; mib *= 4)
			on_each_memory(k, defer, &stocks[i], mib * MIB);
	}
	canfs_defer_free(defer);
}

/* 90 BDIs, the maximum: each has a share, and the kernel accepts all of them. */
static void test_shares_of_many(void **state)
{
	struct fake_kernel *k = *state;
	static struct canfs_mount mounts[CANFS_DEFER_BDIS_MAX];
	const struct canfs_mount *all[CANFS_DEFER_BDIS_MAX];
	struct canfs_defer *defer;
	char path[64];

	assert_int_equal(canfs_defer_new(&defer, k->tuner), 0);
	for (unsigned int i = 0; i < CANFS_DEFER_BDIS_MAX; i++) {
		mounts[i] = mount_a;
		mounts[i].id = 100 + (int)i;
		mounts[i].bdi.minor = 100 + i;
		all[i] = &mounts[i];
		snprintf(path, sizeof(path), "/sys/class/bdi/0:%u", 100 + i);
		fake_bdi(&k->root, path);
	}
	for (uint64_t mib = 64; mib <= UINT64_C(64) << 20; mib *= 64) {
		const struct canfs_meminfo memory = { .total_bytes = mib * MIB,
			.free_bytes = mib * MIB / 2,
			.available_bytes = mib * MIB / 2 };
		uint64_t sum = 0;

		assert_int_equal(canfs_defer_apply(defer, canfs_defer_bound_bytes(&memory, 0, 45),
					 all, CANFS_DEFER_BDIS_MAX, &memory, NULL),
			0);
		for (unsigned int i = 0; i < CANFS_DEFER_BDIS_MAX; i++) {
			snprintf(path, sizeof(path), "/sys/class/bdi/0:%u/min_ratio", 100 + i);
			check_bounds(&k->root, CANFS_KNOB_MIN_RATIO, path);
			assert_true(fake_root_number(&k->root, path) > 0);
			sum += fake_root_number(&k->root, path);
		}
		assert_true(sum < 100);
	}
	canfs_defer_restore_force(defer, NULL);
	canfs_defer_free(defer);
}

/* With the shortest and the longest round trip, and with any configured bounds. */
static void test_read_ahead(void **state)
{
	const struct canfs_knob_info *info = canfs_knob_info(CANFS_KNOB_READ_AHEAD);

	(void)state;
	for (uint64_t usec = 1; usec <= UINT32_MAX; usec *= 3) {
		unsigned int window = canfs_read_window_kib((uint32_t)usec);

		for (unsigned int max = 64; max <= 15360; max += 1733) {
			for (unsigned int min = 64; min <= max; min += 977)
				assert_in_range(canfs_readahead_clamp(window, min, max),
					info->lowest, info->highest);
		}
		assert_true(window >= CANFS_READ_WINDOW_LEAST_KIB);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_limits, setup, fake_kernel_teardown),
		cmocka_unit_test_setup_teardown(test_shares_of_many, setup, fake_kernel_teardown),
		cmocka_unit_test(test_read_ahead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
