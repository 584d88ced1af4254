// SPDX-License-Identifier: LGPL-3.0-or-later
/* How the scheduler takes what is below an export: by its type, and of several disks by the most delicate. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>

#include "ganesha-fsal/read/prefetch/device.h"
#include "fake_root.h"

static struct fake_root *root;

static void put(const char *disk, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/devices/%s/%s", disk, file);
	fake_root_write(root, path, text);
}

static void put_link(const char *path, const char *target)
{
	char full[PATH_MAX];

	fake_root_full(root, path, full);
	(void)unlink(full); /* one that stands there points elsewhere */
	fake_root_write(root, path, "");
	assert_int_equal(unlink(full), 0);
	assert_int_equal(symlink(target, full), 0);
}

/* The disk that this directory's file system is on, in the made-up /sys. */
static void stand_on(const char *disk)
{
	char path[128], target[128];
	struct stat st;

	assert_int_equal(stat(root->path, &st), 0);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	snprintf(target, sizeof(target), "../../devices/%s", disk);
	put_link(path, target);
}

static void expect(const char *type, const char *policy, unsigned int depth, uint64_t depth_bytes)
{
	const struct canfs_prefetcher_config config = {
		.files = 64, .lag_bytes = 4 << 20, .root = root->path
	};
	struct canfs_device_place place;
	struct canfs_device *device = NULL;

	assert_int_equal(canfs_device_find(root->path, root->path, &place), 0);
	assert_string_equal(place.type, type);
	assert_int_equal(canfs_device_new(&device, &place, 0, &config), 0);
	assert_string_equal(canfs_engine_stats(device->engine).policy, policy);
	assert_int_equal(canfs_engine_stats(device->engine).depth, depth);
	assert_int_equal(canfs_engine_stats(device->engine).depth_bytes, depth_bytes);
	canfs_device_free(device);
}

static void test_each_type(void **state)
{
	root = *state;
	stand_on("sda");
	put("sda", "stat", "0\n");
	put("sda", "queue/rotational", "1\n");
	expect("rotational", "n-cscan", 4, 0);
	put("sda", "device/model", "PERC H730P Mini \n");
	expect("raid", "none", 32, 0);
	put("sda", "queue/rotational", "0\n");
	expect("ssd", "none", 32, 4 << 20);
}

/* Partitions of one disk have its queue, each with its own place on it. */
static void test_partitions_share_a_disk(void **state)
{
	struct canfs_device_place place, second;

	root = *state;
	put("sda", "stat", "0\n");
	put("sda", "dev", "8:0\n");
	put("sda", "queue/rotational", "1\n");
	put("sda/sda1", "partition", "1\n");
	put("sda/sda1", "start", "2048\n");
	put("sda/sda2", "partition", "2\n");
	put("sda/sda2", "start", "976773168\n");
	stand_on("sda/sda1");
	assert_int_equal(canfs_device_find(root->path, root->path, &place), 0);
	stand_on("sda/sda2");
	assert_int_equal(canfs_device_find(root->path, root->path, &second), 0);
	assert_true(place.number == makedev(8, 0) && second.number == place.number);
	assert_true(place.fs_start == 2048 * 512);
	assert_true(second.fs_start == UINT64_C(976773168) * 512);
}

static void test_virtual(void **state)
{
	root = *state;
	stand_on("vda");
	put("vda", "stat", "0\n");
	put("vda", "queue/rotational", "1\n");
	expect("virtual", "none", 32, 0);
}

static void test_several_disks(void **state)
{
	root = *state;
	stand_on("md0");
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "sda", "sdb", "sdc" };
		const char *name = names[i];
		char slave[64], target[32];

		put(name, "stat", "0\n");
		put(name, "queue/rotational", i == 0 ? "0\n" : "1\n");
		put(name, "device/vendor", i == 1 ? "LSI     \n" : "ATA     \n");
		snprintf(slave, sizeof(slave), "/sys/devices/md0/slaves/%s", name);
		snprintf(target, sizeof(target), "../../%s", name);
		put_link(slave, target);
	}
	expect("rotational", "n-cscan", 12, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_each_type, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_partitions_share_a_disk, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(test_virtual, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_several_disks, fake_root_setup, fake_root_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
