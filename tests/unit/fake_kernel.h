/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A fake root with the knobs of one kernel and two NFS BDIs (0:41, 0:42), a journal and a tuner.
 *
 * Ordinary files do not act like the kernel's: the two files of a pair do not zero each other until
 * fake_kernel_settle().
 */
#ifndef CANFS_TESTS_FAKE_KERNEL_H
#define CANFS_TESTS_FAKE_KERNEL_H

#include "tests/unit/fake_root.h"

#include "client-agent/kernel/tuner.h"

#define DIRTY_BYTES      "/proc/sys/vm/dirty_bytes"
#define DIRTY_RATIO      "/proc/sys/vm/dirty_ratio"
#define BACKGROUND_BYTES "/proc/sys/vm/dirty_background_bytes"
#define BACKGROUND_RATIO "/proc/sys/vm/dirty_background_ratio"
#define BDI_A            "/sys/class/bdi/0:41"
#define BDI_B            "/sys/class/bdi/0:42"

struct fake_kernel {
	struct fake_root root;
	struct canfs_journal *journal;
	struct canfs_tuner *tuner;
	struct canfs_changes changes;
};

static const struct canfs_bdi whole_system = { 0, 0 };
static const struct canfs_mount mount_a = {
	.id = 36, .bdi = { 0, 41 }, .source = "srv:/a", .mountpoint = "/mnt/a"
};
static const struct canfs_mount mount_b = {
	.id = 37, .bdi = { 0, 42 }, .source = "srv:/b", .mountpoint = "/mnt/b"
};

static inline void fake_bdi(const struct fake_root *root, const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/read_ahead_kb", dir);
	fake_root_write(root, path, "128\n");
	snprintf(path, sizeof(path), "%s/min_ratio", dir);
	fake_root_write(root, path, "0\n");
}

/* The limits of the whole system. The ratios are in force. */
static inline void fake_stock_limits(const struct fake_root *root)
{
	fake_root_write(root, DIRTY_BYTES, "0\n");
	fake_root_write(root, DIRTY_RATIO, "20\n");
	fake_root_write(root, BACKGROUND_BYTES, "0\n");
	fake_root_write(root, BACKGROUND_RATIO, "10\n");
}

/* The agent ends each write with a newline. Removing the newline marks the write as seen. */
static inline bool fake_kernel_take_write(const struct fake_root *root, const char *path)
{
	char text[64];
	size_t len;

	snprintf(text, sizeof(text), "%.60s", fake_root_read(root, path));
	len = strlen(text);
	if (!len || text[len - 1] != '\n')
		return false;
	text[len - 1] = '\0';
	fake_root_write(root, path, text);
	return true;
}

/*
 * Zeroes the other file of a written pair, as the kernel does. Returns how many knobs were written
 * since the last call.
 */
static inline unsigned int fake_kernel_settle(const struct fake_root *root)
{
	static const char *const pairs[][2] = { { DIRTY_RATIO, DIRTY_BYTES },
		{ BACKGROUND_RATIO, BACKGROUND_BYTES } };
	static const char *const others[] = { BDI_A "/read_ahead_kb", BDI_A "/min_ratio",
		BDI_B "/read_ahead_kb", BDI_B "/min_ratio" };
	unsigned int writes = 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		bool ratio = fake_kernel_take_write(root, pairs[i][0]);
		bool bytes = fake_kernel_take_write(root, pairs[i][1]);

		/*
		 * If both files were written, the ratio was last: a pair is restored in this order.
		 */
		if (ratio || bytes)
			fake_root_write(root, pairs[i][ratio], "0");
		writes += ratio + bytes;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		writes += fake_kernel_take_write(root, others[i]);
	return writes;
}

static inline void fake_agent_starts(struct fake_kernel *kernel)
{
	char error[256];

	assert_int_equal(canfs_journal_open(&kernel->journal, kernel->root.path, "/state", error,
				 sizeof(error)),
		0);
	assert_string_equal(error, "");
	assert_int_equal(canfs_tuner_new(&kernel->tuner, kernel->root.path, kernel->journal), 0);
}

/* Restores nothing. Also simulates a crash. */
static inline void fake_agent_ends(struct fake_kernel *kernel)
{
	canfs_tuner_free(kernel->tuner);
	canfs_journal_close(kernel->journal);
}

static inline int fake_kernel_setup(void **state)
{
	struct fake_kernel *kernel = calloc(1, sizeof(*kernel));

	fake_root_make(&kernel->root);
	fake_stock_limits(&kernel->root);
	fake_bdi(&kernel->root, BDI_A);
	fake_bdi(&kernel->root, BDI_B);
	fake_agent_starts(kernel);
	*state = kernel;
	return 0;
}

static inline int fake_kernel_teardown(void **state)
{
	struct fake_kernel *kernel = *state;

	fake_agent_ends(kernel);
	fake_root_remove(&kernel->root);
	free(kernel);
	return 0;
}

#define KERNEL_TEST(f) cmocka_unit_test_setup_teardown(f, fake_kernel_setup, fake_kernel_teardown)

#endif
