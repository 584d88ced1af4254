// SPDX-License-Identifier: LGPL-3.0-or-later
/* The journal: what a process wrote, the next one knows; whatever happened to the file. */
#include "tests/unit/fake_root.h"

#include <signal.h>
#include <sys/resource.h>
#include "client-agent/kernel/journal.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define FILE_AT "/state/journal"

static const struct canfs_bdi whole = { 0, 0 };
static const struct canfs_mount mount = {
	.id = 36, .bdi = { 0, 41 }, .source = "srv:/a b", .mountpoint = "/mnt/back\\slash"
};

static int setup(void **state)
{
	struct fake_root *root = malloc(sizeof(*root));

	fake_root_make(root);
	fake_root_write(root, BOOT_ID, "boot-1\n");
	*state = root;
	return 0;
}

static int teardown(void **state)
{
	fake_root_remove(*state);
	free(*state);
	return 0;
}

static struct canfs_journal *open_journal(const struct fake_root *root, const char *warning)
{
	struct canfs_journal *journal;
	char error[256];

	assert_int_equal(
		canfs_journal_open(&journal, root->path, "/state", error, sizeof(error)), 0);
	assert_string_equal(error, warning);
	return journal;
}

static void test_next_process_knows(void **state)
{
	struct canfs_journal *journal = open_journal(*state, "");

	assert_int_equal(canfs_journal_original(journal, CANFS_KNOB_DIRTY_BYTES, NULL, 0, 20), 0);
	assert_int_equal(canfs_journal_wrote(journal, CANFS_KNOB_DIRTY_BYTES, whole, 300 << 20), 0);
	assert_int_equal(canfs_journal_original(journal, CANFS_KNOB_READ_AHEAD, &mount, 128, 0), 0);
	assert_int_equal(canfs_journal_wrote(journal, CANFS_KNOB_READ_AHEAD, mount.bdi, 256), 0);
	assert_int_equal(canfs_journal_wrote(journal, CANFS_KNOB_READ_AHEAD, mount.bdi, 512), 0);
	assert_int_equal(canfs_journal_yielded(journal, CANFS_KNOB_READ_AHEAD, mount.bdi), 0);
	assert_int_equal(canfs_journal_original(journal, CANFS_KNOB_MIN_RATIO, &mount, 0, 0), 0);
	assert_int_equal(canfs_journal_restored(journal, CANFS_KNOB_MIN_RATIO, mount.bdi), 0);
	canfs_journal_close(journal);

	for (int process = 0; process < 2; process++) { /* the second reads the rewritten file */
		journal = open_journal(*state, "");
		assert_int_equal(canfs_journal_count(journal), 2);
		const struct canfs_journal_entry *entry = canfs_journal_at(journal, 0);
		assert_int_equal(entry->knob, CANFS_KNOB_DIRTY_BYTES);
		assert_int_equal(entry->original, 0);
		assert_int_equal(entry->pair_original, 20);
		assert_int_equal(entry->wrote, 300 << 20);
		assert_true(entry->written && !entry->yielded);
		entry = canfs_journal_find(journal, CANFS_KNOB_READ_AHEAD, mount.bdi);
		assert_int_equal(entry->original, 128);
		assert_int_equal(entry->wrote, 512);
		assert_int_equal(entry->before, 256);
		assert_true(entry->yielded);
		assert_int_equal(entry->mount_id, 36);
		assert_string_equal(entry->source, mount.source);
		assert_string_equal(entry->mountpoint, mount.mountpoint);
		assert_null(canfs_journal_at(journal, 2));
		canfs_journal_close(journal);
	}
}

static void test_wrong_order(void **state)
{
	struct canfs_journal *journal = open_journal(*state, "");

	assert_int_equal(canfs_journal_wrote(journal, CANFS_KNOB_MIN_RATIO, mount.bdi, 1), -ENOENT);
	assert_int_equal(canfs_journal_restored(journal, CANFS_KNOB_MIN_RATIO, mount.bdi), -ENOENT);
	assert_int_equal(canfs_journal_yielded(journal, CANFS_KNOB_MIN_RATIO, mount.bdi), -ENOENT);
	assert_int_equal(canfs_journal_original(journal, CANFS_KNOB_MIN_RATIO, &mount, 0, 0), 0);
	assert_int_equal(
		canfs_journal_original(journal, CANFS_KNOB_MIN_RATIO, &mount, 5, 0), -EEXIST);
	canfs_journal_close(journal);
}

static void test_second_agent(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_journal *journal = open_journal(root, ""), *second;
	char error[256];

	assert_int_equal(
		canfs_journal_open(&second, root->path, "/state", error, sizeof(error)), -EBUSY);
	assert_non_null(strstr(error, "another agent"));
	canfs_journal_close(journal);
	canfs_journal_close(open_journal(root, ""));
}

static void test_nothing_left_nothing_kept(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_journal *journal = open_journal(root, "");

	assert_string_equal(fake_root_read(root, FILE_AT), "canfs-journal 1 boot-1\n");
	canfs_journal_close(journal);
	assert_string_equal(fake_root_read(root, FILE_AT), "");
}

static void test_another_boot(void **state)
{
	fake_root_write(
		*state, FILE_AT, "canfs-journal 1 boot-0\noriginal dirty_bytes 0:0 0 20 0 - -\n");
	struct canfs_journal *journal = open_journal(*state, "");
	assert_int_equal(canfs_journal_count(journal), 0);
	canfs_journal_close(journal);
}

static void test_torn_last_line(void **state)
{
	fake_root_write(*state, FILE_AT,
		"canfs-journal 1 boot-1\noriginal dirty_bytes 0:0 0 20 0 - -\nwrote dirty_by");
	struct canfs_journal *journal = open_journal(*state, "");
	assert_int_equal(canfs_journal_count(journal), 1);
	assert_false(canfs_journal_at(journal, 0)->written);
	canfs_journal_close(journal);
}

static void test_garbage_is_named_and_skipped(void **state)
{
	static const char *const garbage[] = {
		"original dirty_bytes 0:0 0 20 0 - -", /* twice */
		"original no_such_knob 0:0 0 20 0 - -",
		"original dirty_bytes 0:1 0 20 0 - -",
		"original min_ratio 0:41 0 0 x - -",
		"original min_ratio 0:41 0 0 1 -",
		"original min_ratio 0:41 0 0 1 - - -",
		"original min_ratio 041 0 0 1 - -",
		"wrote min_ratio 0:41 1",
		"wrote dirty_bytes 0:0",
		"wrote dirty_bytes 0:0 -1",
		"wrote dirty_bytes 0:0 18446744073709551616",
		"forgot dirty_bytes 0:0",
		"",
	};
	char text[512], warning[256];

	for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
		snprintf(text, sizeof(text),
			"canfs-journal 1 boot-1\noriginal dirty_bytes 0:0 0 20 0 - -\n%s\n"
			"wrote dirty_bytes 0:0 77\n",
			garbage[i]);
		snprintf(warning, sizeof(warning), "journal:3: \"%s\": unknown line, skipped",
			garbage[i]);
		fake_root_write(*state, FILE_AT, text);
		struct canfs_journal *journal = open_journal(*state, warning);
		assert_int_equal(canfs_journal_count(journal), 1);
		assert_int_equal(canfs_journal_at(journal, 0)->wrote, 77);
		canfs_journal_close(journal);
	}
}

static void test_not_a_journal(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_journal *journal;
	char error[256];

	fake_root_write(root, FILE_AT, "someone else's file\n");
	assert_int_equal(
		canfs_journal_open(&journal, root->path, "/state", error, sizeof(error)), -EPROTO);
	assert_non_null(strstr(error, "not a canfs journal"));
	assert_string_equal(fake_root_read(root, FILE_AT), "someone else's file\n");
}

/* Limits the size of files, like a full disk. The last line is then torn. */
static void limit_files(rlim_t bytes)
{
	const struct rlimit limit = { bytes, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_disk_that_is_full(void **state)
{
	struct canfs_journal *journal = open_journal(*state, "");
	const enum canfs_knob dirty = CANFS_KNOB_DIRTY_BYTES, ratio = CANFS_KNOB_MIN_RATIO;

	assert_int_equal(canfs_journal_original(journal, dirty, NULL, 0, 20), 0);
	assert_int_equal(canfs_journal_wrote(journal, dirty, whole, 77), 0);
	assert_int_equal(canfs_journal_original(journal, ratio, &mount, 0, 0), 0);
	assert_int_equal(canfs_journal_wrote(journal, ratio, mount.bdi, 9), 0);
	limit_files(strlen(fake_root_read(*state, FILE_AT)) + 5);
	assert_true(canfs_journal_wrote(journal, dirty, whole, 78) < 0);
	assert_true(canfs_journal_original(journal, CANFS_KNOB_READ_AHEAD, &mount, 128, 0) < 0);
	assert_int_equal(canfs_journal_count(journal), 2);
	assert_int_equal(canfs_journal_at(journal, 0)->wrote, 77);
	/* These are known without a line in the file. */
	assert_int_equal(canfs_journal_restored(journal, dirty, whole), 0);
	assert_int_equal(canfs_journal_yielded(journal, ratio, mount.bdi), 0);
	assert_int_equal(canfs_journal_count(journal), 1);
	assert_true(canfs_journal_at(journal, 0)->yielded);
	limit_files(RLIM_INFINITY);
	/* The file is complete as soon as it can be written again. */
	assert_int_equal(canfs_journal_original(journal, dirty, NULL, 5, 0), 0);
	assert_string_equal(fake_root_read(*state, FILE_AT),
		"canfs-journal 1 boot-1\n"
		"original min_ratio 0:41 0 0 36 srv:/a\\040b /mnt/back\\134slash\n"
		"wrote min_ratio 0:41 9\n"
		"yielded min_ratio 0:41\n"
		"original dirty_bytes 0:0 5 0 0 - -\n");
	canfs_journal_close(journal);
}

static void test_disk_that_is_full_from_the_start(void **state)
{
	static const char text[] = "canfs-journal 1 boot-1\noriginal dirty_bytes 0:0 0 20 0 - -\n"
				   "wrote dirty_bytes 0:0 77\n";
	struct canfs_journal *journal;

	fake_root_write(*state, FILE_AT, text);
	limit_files(5);
	journal = open_journal(*state, "");
	assert_int_equal(canfs_journal_count(journal), 1);
	assert_true(canfs_journal_wrote(journal, CANFS_KNOB_DIRTY_BYTES, whole, 78) < 0);
	assert_string_equal(fake_root_read(*state, FILE_AT), text);
	assert_string_equal(fake_root_read(*state, FILE_AT ".new"), "");
	assert_int_equal(canfs_journal_restored(journal, CANFS_KNOB_DIRTY_BYTES, whole), 0);
	canfs_journal_close(journal);
	limit_files(RLIM_INFINITY);
	assert_string_equal(fake_root_read(*state, FILE_AT), "");
}

/* As without free descriptors. A knob is restored only if it still has the written value. */
static void test_boot_that_is_not_known(void **state)
{
	fake_root_write(
		*state, FILE_AT, "canfs-journal 1 boot-1\noriginal dirty_bytes 0:0 0 20 0 - -\n");
	fake_root_write(*state, BOOT_ID, "");
	struct canfs_journal *journal = open_journal(*state, "");
	assert_int_equal(canfs_journal_count(journal), 1);
	canfs_journal_close(journal);
	fake_root_write(*state, BOOT_ID, "boot-1\n");
	journal = open_journal(*state, "");
	assert_int_equal(canfs_journal_count(journal), 1);
	canfs_journal_close(journal);
}

static void test_stays_small(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_journal *journal = open_journal(root, "");
	char path[PATH_MAX];
	struct stat st;

	canfs_journal_original(journal, CANFS_KNOB_BACKGROUND_BYTES, NULL, 0, 10);
	fake_root_full(root, FILE_AT, path);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(
			canfs_journal_wrote(journal, CANFS_KNOB_BACKGROUND_BYTES, whole, i), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 70000);
	canfs_journal_close(journal);
	journal = open_journal(root, "");
	assert_int_equal(canfs_journal_at(journal, 0)->wrote, 9999);
	canfs_journal_close(journal);
}

static void test_is_bounded(void **state)
{
	struct canfs_journal *journal = open_journal(*state, "");
	struct canfs_mount other = mount;

	for (unsigned int i = 0; i < CANFS_JOURNAL_ENTRIES_MAX; i++) {
		other.bdi.minor = i;
		assert_int_equal(
			canfs_journal_original(journal, CANFS_KNOB_MIN_RATIO, &other, 0, 0), 0);
	}
	other.bdi.minor++;
	assert_int_equal(
		canfs_journal_original(journal, CANFS_KNOB_MIN_RATIO, &other, 0, 0), -ENOSPC);
	canfs_journal_close(journal);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_next_process_knows),
		TEST(test_wrong_order),
		TEST(test_second_agent),
		TEST(test_nothing_left_nothing_kept),
		TEST(test_another_boot),
		TEST(test_torn_last_line),
		TEST(test_garbage_is_named_and_skipped),
		TEST(test_not_a_journal),
		TEST(test_disk_that_is_full),
		TEST(test_disk_that_is_full_from_the_start),
		TEST(test_boot_that_is_not_known),
		TEST(test_stays_small),
		TEST(test_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
