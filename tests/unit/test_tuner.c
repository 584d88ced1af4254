// SPDX-License-Identifier: LGPL-3.0-or-later
/* Knobs that are turned can be turned back, and other people's knobs are theirs. */
#include "tests/unit/fake_kernel.h"

#include "client-agent/actuators/readahead.h"

#define RA_A BDI_A "/read_ahead_kb"

static int set_a(struct fake_kernel *k, uint64_t kib)
{
	k->changes.n = 0;
	return canfs_knob_set(k->tuner, CANFS_KNOB_READ_AHEAD, &mount_a, kib, &k->changes);
}

static int restore_a(struct fake_kernel *k)
{
	k->changes.n = 0;
	return canfs_knob_restore(k->tuner, CANFS_KNOB_READ_AHEAD, mount_a.bdi, &k->changes);
}

static void test_set_and_restore(void **state)
{
	struct fake_kernel *k = *state;

	assert_int_equal(set_a(k, 1024), 0);
	assert_string_equal(fake_root_read(&k->root, RA_A), "1024\n");
	assert_int_equal(k->changes.n, 1);
	assert_int_equal(k->changes.change[0].old_value, 128);
	assert_int_equal(k->changes.change[0].new_value, 1024);
	assert_true(canfs_knob_is_ours(k->tuner, CANFS_KNOB_READ_AHEAD, mount_a.bdi));
	assert_int_equal(set_a(k, 1024), 0);
	assert_int_equal(k->changes.n, 0); /* is there already */
	assert_int_equal(set_a(k, 512), 0);
	assert_int_equal(restore_a(k), 0);
	assert_string_equal(fake_root_read(&k->root, RA_A), "128\n");
	assert_int_equal(canfs_journal_count(k->journal), 0);
	assert_int_equal(restore_a(k), 0);
	assert_int_equal(k->changes.n, 0);
}

static void test_original_is_on_file_before_the_knob_is_written(void **state)
{
	struct fake_kernel *k = *state;
	char path[PATH_MAX];

	/* A knob that can be read but not written, for root too. */
	fake_root_full(&k->root, RA_A, path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/proc/self/oom_score", path), 0);
	assert_true(set_a(k, 1024) < 0);
	assert_int_equal(k->changes.n, 1);
	assert_int_equal(canfs_journal_count(k->journal), 0); /* nothing was changed */
	assert_non_null(strstr(
		fake_root_read(&k->root, "/state/journal"), "\noriginal read_ahead_kb 0:41 "));
}

static void test_bounds(void **state)
{
	struct fake_kernel *k = *state;

	assert_int_equal(set_a(k, 0), -ERANGE);
	assert_int_equal(set_a(k, 63), -ERANGE);
	assert_int_equal(set_a(k, 15361), -ERANGE);
	assert_int_equal(
		canfs_knob_set(k->tuner, CANFS_KNOB_DIRTY_BYTES, NULL, 4096, NULL), -ERANGE);
	assert_int_equal(canfs_knob_set(k->tuner, CANFS_KNOB_READ_AHEAD, NULL, 128, NULL), -EINVAL);
	assert_string_equal(fake_root_read(&k->root, RA_A), "128\n");
	assert_int_equal(canfs_journal_count(k->journal), 0);
}

static void test_yields(void **state)
{
	struct fake_kernel *k = *state;

	assert_int_equal(set_a(k, 1024), 0);
	fake_root_write(&k->root, RA_A, "4096\n"); /* the administrator */
	assert_int_equal(set_a(k, 512), -EPERM);
	assert_int_equal(k->changes.n, 1);
	assert_int_equal(set_a(k, 256), -EPERM);
	assert_int_equal(k->changes.n, 0); /* said once */
	fake_root_write(&k->root, RA_A, "1024\n");
	assert_int_equal(set_a(k, 256), -EPERM); /* hands off from then on */
	assert_false(canfs_knob_is_ours(k->tuner, CANFS_KNOB_READ_AHEAD, mount_a.bdi));
	assert_int_equal(restore_a(k), -EPERM);
	assert_string_equal(fake_root_read(&k->root, RA_A), "1024\n");
	assert_int_equal(set_a(k, 256), -EPERM); /* a release does not make it ours */
	canfs_tuner_forget_yielded(k->tuner);
	assert_int_equal(canfs_journal_count(k->journal), 0);
}

static void test_restore_leaves_what_is_not_ours(void **state)
{
	struct fake_kernel *k = *state;

	assert_int_equal(set_a(k, 1024), 0);
	fake_root_write(&k->root, RA_A, "4096\n");
	assert_int_equal(restore_a(k), -EPERM);
	assert_string_equal(fake_root_read(&k->root, RA_A), "4096\n");
	assert_int_equal(set_a(k, 512), -EPERM); /* remembered */
}

/* Ten changes a minute; turning back is free, and is not counted. */
static void test_no_more_changes_than_allowed(void **state)
{
	struct fake_kernel *k = *state;
	unsigned int done = 0;

	canfs_tuner_tick(k->tuner, 10, 1000);
	for (unsigned int i = 0; i < 30; i++) {
		done += set_a(k, 512 + 4 * i) == 0;
		assert_int_equal(k->changes.n, done == i + 1 || i == 10); /* said once */
	}
	assert_int_equal(done, 10);
	assert_int_equal(set_a(k, 1024), -EDQUOT);
	assert_int_equal(set_a(k, 256), 0);
	assert_int_equal(restore_a(k), 0);
	assert_int_equal(fake_root_number(&k->root, RA_A), 128);
	assert_int_equal(set_a(k, 256), -EDQUOT);
	canfs_tuner_tick(k->tuner, 10, 1000 + 12000000);
	assert_int_equal(set_a(k, 256), 0);
	assert_int_equal(set_a(k, 512), 0);
	assert_int_equal(set_a(k, 1024), -EDQUOT);
	canfs_tuner_tick(k->tuner, 10, 1000 + UINT64_C(3600000000));
	for (done = 0; set_a(k, 2048 + 4 * done) == 0; done++)
		;
	assert_int_equal(done, 10); /* an hour saves up no more */
}

static void test_pair_is_put_back_through_the_ratio(void **state)
{
	struct fake_kernel *k = *state;

	assert_int_equal(
		canfs_knob_set(k->tuner, CANFS_KNOB_DIRTY_BYTES, NULL, 300 << 20, NULL), 0);
	fake_root_write(&k->root, DIRTY_RATIO, "0\n"); /* what the kernel does */
	assert_int_equal(
		canfs_knob_restore(k->tuner, CANFS_KNOB_DIRTY_BYTES, whole_system, NULL), 0);
	assert_string_equal(fake_root_read(&k->root, DIRTY_RATIO), "20\n");

	fake_root_write(&k->root, BACKGROUND_BYTES, "50000000\n");
	fake_root_write(&k->root, BACKGROUND_RATIO, "0\n");
	assert_int_equal(
		canfs_knob_set(k->tuner, CANFS_KNOB_BACKGROUND_BYTES, NULL, 200 << 20, NULL), 0);
	assert_int_equal(
		canfs_knob_restore(k->tuner, CANFS_KNOB_BACKGROUND_BYTES, whole_system, NULL), 0);
	assert_string_equal(fake_root_read(&k->root, BACKGROUND_BYTES), "50000000\n");
	assert_string_equal(fake_root_read(&k->root, BACKGROUND_RATIO), "0\n");
}

static void test_someone_turned_the_ratio(void **state)
{
	struct fake_kernel *k = *state;

	assert_int_equal(
		canfs_knob_set(k->tuner, CANFS_KNOB_DIRTY_BYTES, NULL, 300 << 20, NULL), 0);
	fake_root_write(&k->root, DIRTY_RATIO, "40\n");
	fake_root_write(&k->root, DIRTY_BYTES, "0\n");
	assert_int_equal(
		canfs_knob_set(k->tuner, CANFS_KNOB_DIRTY_BYTES, NULL, 400 << 20, NULL), -EPERM);
	assert_int_equal(
		canfs_knob_restore(k->tuner, CANFS_KNOB_DIRTY_BYTES, whole_system, NULL), -EPERM);
	assert_string_equal(fake_root_read(&k->root, DIRTY_RATIO), "40\n");
}

static void test_after_a_crash(void **state)
{
	struct fake_kernel *k = *state;

	assert_int_equal(set_a(k, 1024), 0);
	fake_agent_ends(k);
	fake_agent_starts(k);
	assert_int_equal(set_a(k, 2048), 0); /* goes on: it is ours */
	fake_agent_ends(k);
	fake_agent_starts(k);
	assert_int_equal(restore_a(k), 0);
	assert_string_equal(fake_root_read(&k->root, RA_A), "128\n");
}

static void test_crash_between_journal_and_write(void **state)
{
	struct fake_kernel *k = *state;

	assert_int_equal(set_a(k, 1024), 0);
	assert_int_equal(
		canfs_journal_wrote(k->journal, CANFS_KNOB_READ_AHEAD, mount_a.bdi, 512), 0);
	fake_agent_ends(k);
	fake_agent_starts(k);
	assert_int_equal(restore_a(k), 0);
	assert_string_equal(fake_root_read(&k->root, RA_A), "128\n");
}

static void test_gone_bdi(void **state)
{
	struct fake_kernel *k = *state;
	char path[PATH_MAX];

	assert_int_equal(set_a(k, 1024), 0);
	fake_root_full(&k->root, RA_A, path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(set_a(k, 512), -ENOENT);
	assert_int_equal(restore_a(k), 0);
	assert_int_equal(canfs_journal_count(k->journal), 0);
}

/* 0:41 is another mount now; its knob is fresh, and its original is not the old one's. */
static void test_number_used_again(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_mount next = mount_a;
	struct canfs_mounts *mounts = calloc(1, sizeof(*mounts));

	next.id = 99;
	assert_int_equal(set_a(k, 1024), 0);
	mounts->n = 1;
	mounts->mount[0] = mount_a;
	canfs_tuner_forget_gone(k->tuner, mounts);
	assert_int_equal(canfs_journal_count(k->journal), 1);
	fake_root_write(&k->root, RA_A, "256\n");
	mounts->mount[0] = next;
	canfs_tuner_forget_gone(k->tuner, mounts);
	assert_int_equal(canfs_journal_count(k->journal), 0);

	assert_int_equal(set_a(k, 1024), 0);
	fake_root_write(&k->root, RA_A, "200\n");
	assert_int_equal(canfs_knob_set(k->tuner, CANFS_KNOB_READ_AHEAD, &next, 512, NULL), 0);
	assert_int_equal(restore_a(k), 0);
	assert_string_equal(fake_root_read(&k->root, RA_A), "200\n");
	free(mounts);
}

/* As without a descriptor to spare: nothing is known of it, and it is not forgotten. */
static void test_a_knob_that_cannot_be_read_now(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_mounts *mounts = calloc(1, sizeof(*mounts));

	assert_int_equal(set_a(k, 1024), 0);
	mounts->n = 1;
	mounts->mount[0] = mount_a;
	fake_root_write(&k->root, RA_A, "");
	canfs_tuner_forget_gone(k->tuner, mounts);
	assert_int_equal(canfs_journal_count(k->journal), 1);
	fake_root_write(&k->root, RA_A, "1024\n");
	assert_int_equal(restore_a(k), 0);
	assert_string_equal(fake_root_read(&k->root, RA_A), "128\n");
	free(mounts);
}

/* umount -l, or a container still has it: the BDI is there, no mount of ours is. */
static void test_a_bdi_that_outlives_its_mount_is_put_back(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_mounts *mounts = calloc(1, sizeof(*mounts));

	assert_int_equal(set_a(k, 1024), 0);
	canfs_tuner_forget_gone(k->tuner, mounts);
	assert_string_equal(fake_root_read(&k->root, RA_A), "128\n");
	assert_int_equal(canfs_journal_count(k->journal), 0);
	free(mounts);
}

/* The first of two mounts of one super block is gone: the knob is still ours. */
static void test_other_mount_of_the_bdi(void **state)
{
	struct fake_kernel *k = *state;
	struct canfs_mount other = mount_a;
	struct canfs_mounts *mounts = calloc(1, sizeof(*mounts));

	other.id = 99;
	assert_int_equal(set_a(k, 1024), 0);
	mounts->n = 1;
	mounts->mount[0] = other;
	canfs_tuner_forget_gone(k->tuner, mounts);
	assert_int_equal(canfs_knob_set(k->tuner, CANFS_KNOB_READ_AHEAD, &other, 512, NULL), 0);
	assert_int_equal(restore_a(k), 0);
	assert_string_equal(fake_root_read(&k->root, RA_A), "128\n");
	free(mounts);
}

static void test_text(void **state)
{
	struct canfs_change change = { CANFS_KNOB_DIRTY_BYTES, { 0, 0 }, 0, 314572800, 0 };
	char text[128];

	(void)state;
	canfs_change_text(&change, text, sizeof(text));
	assert_string_equal(text, "dirty_bytes 0 -> 314572800");
	change = (struct canfs_change) { CANFS_KNOB_READ_AHEAD, { 0, 41 }, 128, 1024, -EROFS };
	canfs_change_text(&change, text, sizeof(text));
	assert_string_equal(text, "read_ahead_kb of 0:41 128 -> 1024: Read-only file system");
}

static void test_readahead_bounds(void **state)
{
	(void)state;
	assert_int_equal(canfs_readahead_clamp(0, 0, 0), 64);
	assert_int_equal(canfs_readahead_clamp(1000, 64, 8192), 1000);
	assert_int_equal(canfs_readahead_clamp(1003, 64, 8192), 1000);
	assert_int_equal(canfs_readahead_clamp(99999, 64, 8192), 8192);
	assert_int_equal(canfs_readahead_clamp(1, 65, 8192), 68);
	assert_int_equal(canfs_readahead_clamp(5000, 512, 100), 512);
}

static void test_readahead_steps(void **state)
{
	struct fake_kernel *k = *state;

	assert_int_equal(canfs_readahead_set(k->tuner, &mount_a, 140, 64, 1024, NULL), 0);
	assert_int_equal(fake_root_number(&k->root, RA_A), 128); /* not worth it */
	assert_int_equal(canfs_readahead_set(k->tuner, &mount_a, 160, 64, 1024, NULL), 0);
	assert_int_equal(fake_root_number(&k->root, RA_A), 160);
	assert_int_equal(canfs_readahead_set(k->tuner, &mount_a, 9999, 64, 180, NULL), 0);
	assert_int_equal(fake_root_number(&k->root, RA_A), 180); /* a bound is reached */
	assert_int_equal(canfs_readahead_set(k->tuner, &mount_a, 0, 64, 1024, NULL), 0);
	assert_int_equal(fake_root_number(&k->root, RA_A), 64);
	assert_int_equal(canfs_readahead_restore(k->tuner, mount_a.bdi, NULL), 0);
	assert_int_equal(fake_root_number(&k->root, RA_A), 128);
}

static void test_knob_files(void **state)
{
	struct fake_kernel *k = *state;
	enum canfs_knob knob;
	uint64_t value;

	for (int i = 0; i < CANFS_KNOBS; i++) {
		assert_int_equal(
			canfs_knob_by_name(canfs_knob_info((enum canfs_knob)i)->name, &knob), 0);
		assert_int_equal(knob, i);
	}
	assert_int_equal(canfs_knob_by_name("swappiness", &knob), -ENOENT);
	fake_root_write(&k->root, DIRTY_RATIO, "-1\n");
	assert_int_equal(
		canfs_knob_read(k->root.path, CANFS_KNOB_DIRTY_RATIO, whole_system, &value),
		-EPROTO);
	fake_root_write(&k->root, DIRTY_RATIO, "");
	assert_int_equal(
		canfs_knob_read(k->root.path, CANFS_KNOB_DIRTY_RATIO, whole_system, &value),
		-EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KERNEL_TEST(test_set_and_restore),
		KERNEL_TEST(test_original_is_on_file_before_the_knob_is_written),
		KERNEL_TEST(test_bounds),
		KERNEL_TEST(test_yields),
		KERNEL_TEST(test_no_more_changes_than_allowed),
		KERNEL_TEST(test_restore_leaves_what_is_not_ours),
		KERNEL_TEST(test_pair_is_put_back_through_the_ratio),
		KERNEL_TEST(test_someone_turned_the_ratio),
		KERNEL_TEST(test_after_a_crash),
		KERNEL_TEST(test_crash_between_journal_and_write),
		KERNEL_TEST(test_gone_bdi),
		KERNEL_TEST(test_number_used_again),
		KERNEL_TEST(test_a_knob_that_cannot_be_read_now),
		KERNEL_TEST(test_a_bdi_that_outlives_its_mount_is_put_back),
		KERNEL_TEST(test_other_mount_of_the_bdi),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_readahead_bounds),
		KERNEL_TEST(test_readahead_steps),
		KERNEL_TEST(test_knob_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
