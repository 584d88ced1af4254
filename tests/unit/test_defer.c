// SPDX-License-Identifier: LGPL-3.0-or-later
/* DEFER: which limits for which bound, and the staged way back. */
#include "tests/unit/fake_kernel.h"

#include "client-agent/actuators/defer.h"

#define MIB (UINT64_C(1) << 20)

/* Stock: background 10 % = 100 MiB, limit 20 % = 200 MiB. */
static struct canfs_meminfo meminfo(uint64_t dirty_mib)
{
	return (struct canfs_meminfo) { .total_bytes = 2000 * MIB,
		.available_bytes = 1000 * MIB,
		.dirty_bytes = dirty_mib * MIB };
}

static struct canfs_defer *new_defer(struct fake_kernel *k)
{
	struct canfs_defer *defer;

	assert_int_equal(canfs_defer_new(&defer, k->tuner), 0);
	return defer;
}

static int apply(struct fake_kernel *k, struct canfs_defer *defer, uint64_t bound_mib,
	uint64_t dirty_mib, size_t n)
{
	const struct canfs_mount *const mounts[] = { &mount_a, &mount_b };
	const struct canfs_meminfo mem = meminfo(dirty_mib);

	k->changes.n = 0;
	return canfs_defer_apply(defer, bound_mib * MIB, mounts, n, &mem, &k->changes);
}

static int step(struct fake_kernel *k, struct canfs_defer *defer, uint64_t dirty_mib)
{
	const struct canfs_meminfo mem = meminfo(dirty_mib);

	k->changes.n = 0;
	return canfs_defer_restore_step(defer, &mem, 20 * MIB, &k->changes);
}

static uint64_t mib(struct fake_kernel *k, const char *path)
{
	return fake_root_number(&k->root, path) / MIB;
}

static void test_formula(void **state)
{
	(void)state;
	assert_int_equal(canfs_defer_background_bytes(180 * MIB) / MIB, 200);
	assert_int_equal(canfs_defer_background_bytes(180 * MIB) / 100 * 115 / MIB, 230);
	/* What is held stays below the point from which writers are throttled. */
	for (uint64_t bound = MIB; bound < UINT64_C(1) << 45; bound *= 3) {
		uint64_t background = canfs_defer_background_bytes(bound);
		assert_true(bound <= background);
		assert_true((background + canfs_defer_background_bytes(bound) / 100 * 115) / 2 >
			    background);
	}
}

/* A share of memory, at most 55 % of what is available, and nothing that a knob's own bounds forbid. */
static void test_bound(void **state)
{
	static const uint64_t gib = 1024 * MIB;
	struct canfs_meminfo mem = { .total_bytes = 100 * gib, .available_bytes = 90 * gib };

	(void)state;
	assert_int_equal(canfs_defer_bound_bytes(&mem, 0, 20) / gib, 20);
	/* What readers use of it is theirs, but for what the kernel would let be dirty. */
	assert_int_equal(canfs_defer_bound_bytes(&mem, 60 * gib, 20) / MIB, 16000);
	assert_int_equal(canfs_defer_bound_bytes(&mem, 90 * gib, 20) / MIB, 8000);
	mem.available_bytes = 10 * gib;
	assert_int_equal(canfs_defer_bound_bytes(&mem, 0, 20) / MIB, 4800);
	mem.available_bytes = 0;
	assert_int_equal(canfs_defer_bound_bytes(&mem, 0, 20), 1);
	for (mem.total_bytes = gib; mem.total_bytes < UINT64_C(1) << 50; mem.total_bytes *= 2) {
		mem.available_bytes = mem.total_bytes;
		uint64_t bound = canfs_defer_bound_bytes(&mem, 0, 50);
		assert_true(canfs_defer_background_bytes(bound) / 100 * 115 <=
			    canfs_knob_info(CANFS_KNOB_DIRTY_BYTES)->highest);
	}
}

/* To an eighth, as what is dirty falls, and back. */
static void test_squeeze(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);
	struct canfs_meminfo mem = meminfo(180);
	uint64_t before = 200 * MIB;

	assert_int_equal(canfs_defer_squeeze(defer, 0, &mem, &k->changes), -EAGAIN);
	for (uint64_t dirty = 180; dirty > 0; dirty -= 20) {
		uint64_t limit = fake_root_number(&k->root, DIRTY_BYTES);
		assert_true(limit >= dirty * MIB && limit <= before);
		assert_int_equal(fake_root_number(&k->root, BACKGROUND_BYTES), limit / 2);
		before = limit;
		mem = meminfo(dirty - 20);
		assert_int_equal(
			canfs_defer_squeeze(defer, 0, &mem, &k->changes), dirty > 40 ? -EAGAIN : 0);
	}
	assert_int_equal(fake_root_number(&k->root, DIRTY_BYTES), 28 * MIB);
	assert_true(canfs_defer_active(defer));
	while (canfs_defer_restore_step(defer, &mem, 0, NULL) == -EAGAIN)
		continue;
	assert_false(canfs_defer_active(defer));
	canfs_defer_free(defer);
}

static uint64_t squeezed_mib(
	struct fake_kernel *k, struct canfs_defer *defer, uint64_t available_mib)
{
	struct canfs_meminfo mem = meminfo(0);

	mem.available_bytes = available_mib * MIB;
	k->changes.n = 0;
	assert_int_equal(canfs_defer_squeeze(defer, 0, &mem, &k->changes), 0);
	return mib(k, DIRTY_BYTES);
}

static void test_squeeze_is_taken_back_after_a_crash(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);
	struct canfs_meminfo mem = meminfo(0);

	assert_int_equal(canfs_defer_squeeze(defer, 0, &mem, NULL), 0);
	assert_int_equal(fake_root_number(&k->root, DIRTY_BYTES), 28 * MIB);
	fake_kernel_settle(&k->root);
	canfs_defer_free(defer);
	fake_agent_ends(k);
	fake_agent_starts(k);
	defer = new_defer(k);
	mem = meminfo(27);
	assert_true(canfs_defer_active(defer));
	assert_int_equal(canfs_defer_restore_step(defer, &mem, 0, NULL), 0);
	fake_kernel_settle(&k->root);
	assert_int_equal(fake_root_number(&k->root, DIRTY_RATIO), 20);
	assert_int_equal(fake_root_number(&k->root, BACKGROUND_RATIO), 10);
	assert_int_equal(canfs_journal_count(k->journal), 0);
	canfs_defer_free(defer);
}

/* Memory that comes and goes by a little moves nothing; what a moment without it took is given back. */
static void test_squeeze_follows_memory(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);

	assert_int_equal(squeezed_mib(k, defer, 8000), 200);
	for (uint64_t available = 8000; available > 7600; available -= 40) {
		assert_int_equal(squeezed_mib(k, defer, available), 200);
		assert_int_equal(k->changes.n, 0);
	}
	assert_int_equal(squeezed_mib(k, defer, 1600), 40);
	assert_int_equal(squeezed_mib(k, defer, 1800), 40);
	assert_int_equal(squeezed_mib(k, defer, 8000), 200);
	canfs_defer_free(defer);
}

/* An administrator whose flushing point is low gets no higher one. */
static void test_squeeze_raises_nothing(void **state)
{
	static const struct {
		const char *bytes, *ratio;
		uint64_t most_mib;
	} originals[] = { { "8388608", "0", 8 }, { "0", "1", 10 } };
	struct fake_kernel *k = *state;

	for (size_t i = 0; i < sizeof(originals) / sizeof(originals[0]); i++) {
		struct canfs_defer *defer = new_defer(k);

		fake_root_write(&k->root, BACKGROUND_BYTES, originals[i].bytes);
		fake_root_write(&k->root, BACKGROUND_RATIO, originals[i].ratio);
		for (uint64_t dirty = 180; dirty > 0; dirty -= 20) {
			struct canfs_meminfo mem = meminfo(dirty);
			assert_int_equal(canfs_defer_squeeze(defer, 0, &mem, NULL),
				dirty > 28 ? -EAGAIN : 0);
			assert_true(fake_root_number(&k->root, BACKGROUND_BYTES) <=
				    originals[i].most_mib * MIB);
		}
		assert_true(canfs_defer_active(defer));
		assert_int_equal(canfs_defer_restore_force(defer, NULL), 0);
		fake_kernel_settle(&k->root);
		canfs_defer_free(defer);
	}
}

/* Where the original is in bytes each step costs a change: they must last. */
static void test_squeeze_takes_few_changes(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)(4096 * MIB));
	fake_root_write(&k->root, DIRTY_BYTES, text);
	fake_root_write(&k->root, DIRTY_RATIO, "0");
	canfs_tuner_tick(k->tuner, 120, 1000000);
	for (uint64_t dirty = 4000; dirty > 0; dirty -= 4) {
		struct canfs_meminfo mem = meminfo(dirty);
		int ret = canfs_defer_squeeze(defer, 0, &mem, NULL);
		assert_true(ret == 0 || ret == -EAGAIN);
	}
	assert_in_range(mib(k, DIRTY_BYTES), 512, 512 + 512 / 15);
	canfs_defer_free(defer);
}

static void test_apply(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);

	assert_false(canfs_defer_active(defer));
	assert_int_equal(apply(k, defer, 360, 10, 1), 0);
	assert_true(canfs_defer_active(defer));
	assert_int_equal(mib(k, BACKGROUND_BYTES), 400);
	assert_int_equal(mib(k, DIRTY_BYTES), 460);
	assert_int_equal(fake_root_number(&k->root, BDI_A "/min_ratio"), 90);
	assert_int_equal(fake_root_number(&k->root, BDI_B "/min_ratio"), 0);
	/* in this order */
	assert_int_equal(k->changes.n, 3);
	assert_int_equal(k->changes.change[0].knob, CANFS_KNOB_DIRTY_BYTES);
	assert_int_equal(k->changes.change[1].knob, CANFS_KNOB_BACKGROUND_BYTES);
	assert_int_equal(k->changes.change[2].knob, CANFS_KNOB_MIN_RATIO);
	assert_int_equal(apply(k, defer, 360, 10, 1), 0);
	assert_int_equal(k->changes.n, 0);
	canfs_defer_free(defer);
}

static void test_shares(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);

	assert_int_equal(apply(k, defer, 360, 10, 1), 0);
	assert_int_equal(apply(k, defer, 360, 10, 2), 0);
	assert_int_equal(fake_root_number(&k->root, BDI_A "/min_ratio"), 45);
	assert_int_equal(fake_root_number(&k->root, BDI_B "/min_ratio"), 45);
	assert_int_equal(k->changes.n, 2);
	assert_int_equal(k->changes.change[0].bdi.minor, 41); /* lowered before one is raised */
	assert_int_equal(apply(k, defer, 360, 10, 1), 0);
	assert_int_equal(fake_root_number(&k->root, BDI_B "/min_ratio"), 0);
	assert_int_equal(fake_root_number(&k->root, BDI_A "/min_ratio"), 90);
	assert_int_equal(apply(k, defer, 360, 10, 0), -EINVAL);
	canfs_defer_free(defer);
}

/*
 * Someone else's min_ratio leaves no room for ours: we take what we get, and do not ask for more at each call. (A
 * file of the kernel's that takes 15 at most stands for it.)
 */
static void test_share_that_is_refused(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);
	char full[PATH_MAX];

	if (fake_root_number(&(struct fake_root) { .path = "" }, "/proc/self/oom_adj") != 0)
		skip();
	fake_root_full(&k->root, BDI_A "/min_ratio", full);
	assert_int_equal(unlink(full), 0);
	assert_int_equal(symlink("/proc/self/oom_adj", full), 0);
	canfs_tuner_tick(k->tuner, 10, 1);
	for (int i = 0; i < 20; i++)
		assert_int_equal(apply(k, defer, 360, 10, 1), 0);
	assert_in_range(fake_root_number(&k->root, BDI_A "/min_ratio"), 5, 15);
	canfs_defer_free(defer);
}

static void test_never_below_stock(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);

	assert_int_equal(apply(k, defer, 50, 10, 1), 0);
	assert_int_equal(mib(k, BACKGROUND_BYTES), 128);
	assert_true(mib(k, DIRTY_BYTES) >= 200);
	assert_int_equal(fake_root_number(&k->root, BDI_A "/min_ratio"), 39);
	canfs_defer_free(defer);
}

static void test_lower_bound_follows_the_drain(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);

	assert_int_equal(apply(k, defer, 360, 10, 1), 0);
	assert_int_equal(apply(k, defer, 180, 300, 1), 0);
	assert_int_equal(mib(k, BACKGROUND_BYTES), 300);
	assert_int_equal(k->changes.change[0].knob, CANFS_KNOB_BACKGROUND_BYTES);
	assert_int_equal(apply(k, defer, 180, 150, 1), 0);
	assert_int_equal(mib(k, BACKGROUND_BYTES), 200);
	canfs_defer_free(defer);
}

static void test_staged_restore(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);

	assert_int_equal(apply(k, defer, 360, 10, 1), 0);
	fake_root_write(&k->root, DIRTY_RATIO, "0\n");
	fake_root_write(&k->root, BACKGROUND_RATIO, "0\n");
	assert_int_equal(step(k, defer, 300), -EAGAIN);
	assert_int_equal(mib(k, BACKGROUND_BYTES), 280);
	assert_int_equal(mib(k, DIRTY_BYTES), 460); /* the hard limit waits */
	assert_int_equal(step(k, defer, 310), -EAGAIN);
	assert_int_equal(mib(k, BACKGROUND_BYTES), 276); /* down, though more is dirty */
	assert_int_equal(step(k, defer, 130), -EAGAIN);
	assert_int_equal(mib(k, BACKGROUND_BYTES), 112);
	assert_int_equal(fake_root_number(&k->root, BDI_A "/min_ratio"), 90);
	assert_int_equal(step(k, defer, 90), 0);
	assert_string_equal(fake_root_read(&k->root, BACKGROUND_RATIO), "10\n");
	assert_string_equal(fake_root_read(&k->root, DIRTY_RATIO), "20\n");
	assert_int_equal(fake_root_number(&k->root, BDI_A "/min_ratio"), 0);
	assert_false(canfs_defer_active(defer));
	assert_int_equal(canfs_journal_count(k->journal), 0);
	assert_int_equal(step(k, defer, 90), 0);
	canfs_defer_free(defer);
}

/* A local writer, or a dead server: what is dirty does not become less. Still all comes back. */
static void test_release_ends_whatever_stays_dirty(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);
	unsigned int steps = 0;

	assert_int_equal(apply(k, defer, 360, 10, 1), 0);
	fake_root_write(&k->root, DIRTY_RATIO, "0\n");
	fake_root_write(&k->root, BACKGROUND_RATIO, "0\n");
	while (step(k, defer, 440) == -EAGAIN)
		assert_true(++steps < 300);
	assert_string_equal(fake_root_read(&k->root, BACKGROUND_RATIO), "10\n");
	assert_string_equal(fake_root_read(&k->root, DIRTY_RATIO), "20\n");
	assert_false(canfs_defer_active(defer));
	canfs_defer_free(defer);
}

static void test_forced_restore_after_a_crash(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);

	assert_int_equal(apply(k, defer, 360, 10, 2), 0);
	canfs_defer_free(defer);
	fake_root_write(&k->root, DIRTY_RATIO, "0\n");
	fake_root_write(&k->root, BACKGROUND_RATIO, "0\n");
	fake_agent_ends(k);
	fake_agent_starts(k);
	defer = new_defer(k);
	assert_true(canfs_defer_active(defer));
	k->changes.n = 0;
	assert_int_equal(canfs_defer_restore_force(defer, &k->changes), 0);
	assert_int_equal(k->changes.n, 4);
	assert_string_equal(fake_root_read(&k->root, BACKGROUND_RATIO), "10\n");
	assert_string_equal(fake_root_read(&k->root, DIRTY_RATIO), "20\n");
	assert_int_equal(fake_root_number(&k->root, BDI_B "/min_ratio"), 0);
	canfs_defer_free(defer);
}

static void test_bounded_wait(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);

	assert_int_equal(apply(k, defer, 360, 10, 1), 0);
	fake_root_write(&k->root, DIRTY_RATIO, "0\n");
	fake_root_write(&k->root, BACKGROUND_RATIO, "0\n");
	fake_root_write(&k->root, "/proc/meminfo",
		"MemTotal: 2048000 kB\nMemFree: 1 kB\nMemAvailable: 1024000 kB\n"
		"Active(file): 1 kB\nDirty: 409600 kB\nWriteback: 0 kB\n");
	/* Dirty never falls here. */
	assert_int_equal(canfs_defer_restore_wait(defer, 200, 4 * MIB, NULL, NULL, &k->changes), 0);
	assert_string_equal(fake_root_read(&k->root, DIRTY_RATIO), "20\n");
	assert_false(canfs_defer_active(defer));
	canfs_defer_free(defer);
}

static void test_taken_by_someone_else(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_defer *defer = new_defer(k);

	assert_int_equal(apply(k, defer, 360, 10, 1), 0);
	fake_root_write(&k->root, DIRTY_BYTES, "999999999\n");
	assert_int_equal(apply(k, defer, 720, 10, 1), -EPERM);
	assert_false(canfs_defer_available(defer));
	fake_root_write(&k->root, BACKGROUND_RATIO, "0\n");
	assert_int_equal(step(k, defer, 10), 0);
	assert_int_equal(fake_root_number(&k->root, DIRTY_BYTES), 999999999);
	assert_string_equal(fake_root_read(&k->root, BACKGROUND_RATIO), "10\n");
	assert_int_equal(fake_root_number(&k->root, BDI_A "/min_ratio"), 0);
	canfs_defer_free(defer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formula),
		cmocka_unit_test(test_bound),
		KERNEL_TEST(test_squeeze),
		KERNEL_TEST(test_squeeze_is_taken_back_after_a_crash),
		KERNEL_TEST(test_squeeze_follows_memory),
		KERNEL_TEST(test_squeeze_raises_nothing),
		KERNEL_TEST(test_squeeze_takes_few_changes),
		KERNEL_TEST(test_apply),
		KERNEL_TEST(test_share_that_is_refused),
		KERNEL_TEST(test_shares),
		KERNEL_TEST(test_never_below_stock),
		KERNEL_TEST(test_lower_bound_follows_the_drain),
		KERNEL_TEST(test_staged_restore),
		KERNEL_TEST(test_release_ends_whatever_stays_dirty),
		KERNEL_TEST(test_forced_restore_after_a_crash),
		KERNEL_TEST(test_bounded_wait),
		KERNEL_TEST(test_taken_by_someone_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
