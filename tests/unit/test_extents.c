// SPDX-License-Identifier: LGPL-3.0-or-later
/* Where bytes are on the device: what is remembered, for how long, and what stands for what is not known. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>

#include "ganesha-fsal/read/scheduler/extents.h"
#include "ganesha-fsal/read/scheduler/read_limit.h"

#define MIB ((uint64_t)1 << 20)

static struct canfs_window window_at(uint64_t file, uint64_t start, uint64_t end, uint64_t address)
{
	return (struct canfs_window) {
		.file = file, .start = start, .end = end, .n = 1, .extent = { { start, address } }
	};
}

static void assert_address(
	struct canfs_extents *extents, uint64_t file, uint64_t offset, uint64_t address)
{
	uint64_t found;

	assert_true(canfs_extents_find(extents, file, offset, &found));
	assert_int_equal(found, address);
}

static void assert_unknown(struct canfs_extents *extents, uint64_t file, uint64_t offset)
{
	uint64_t found;

	assert_false(canfs_extents_find(extents, file, offset, &found));
}

static void test_addresses_in_a_window(void **state)
{
	const struct canfs_window window = {
		.file = 1, .end = 100, .n = 3, .extent = { { 10, 1000 }, { 20, 500 }, { 50, 2000 } }
	};

	(void)state;
	assert_int_equal(canfs_window_address(&window, 0), 1000); /* a hole: as what follows */
	assert_int_equal(canfs_window_address(&window, 10), 1000);
	assert_int_equal(canfs_window_address(&window, 19), 1009);
	assert_int_equal(canfs_window_address(&window, 20), 500);
	assert_int_equal(canfs_window_address(&window, 99), 2049);
}

static void test_order_without_addresses(void **state)
{
	const uint64_t a = canfs_address_by_file(7, 0);

	(void)state;
	assert_int_equal(canfs_address_by_file(7, 5), a + 5);
	assert_int_equal(canfs_address_by_file(7, 1ull << 40), a + (1ull << 40));
	assert_true(canfs_address_by_file(8, 0) != a);
}

static void test_windows_are_found_by_offset(void **state)
{
	struct canfs_extents *extents = canfs_extents_new(10);
	const struct canfs_window first = window_at(1, 0, 64 * MIB, 500),
				  second = window_at(1, 64 * MIB, 65 * MIB, 10),
				  other = window_at(2, 0, 64 * MIB, 9000);

	(void)state;
	canfs_extents_keep(extents, &first);
	canfs_extents_keep(extents, &second);
	canfs_extents_keep(extents, &other);
	assert_address(extents, 1, 0, 500);
	assert_address(extents, 1, 64 * MIB - 1, 500 + 64 * MIB - 1);
	assert_address(extents, 1, 64 * MIB, 10);
	assert_address(extents, 2, 1, 9001);
	assert_unknown(extents, 1, 65 * MIB);
	assert_unknown(extents, 0, 0);
	assert_unknown(extents, 3, 0);
	canfs_extents_free(extents);
	canfs_extents_free(NULL);
}

static void test_least_recently_used_window_gives_way(void **state)
{
	struct canfs_extents *extents = canfs_extents_new(3);
	struct canfs_window window;

	(void)state;
	for (uint64_t file = 1; file <= 3; file++) {
		window = window_at(file, 0, MIB, file);
		canfs_extents_keep(extents, &window);
	}
	assert_address(extents, 1, 0, 1);
	window = window_at(4, 0, MIB, 4);
	canfs_extents_keep(extents, &window);
	canfs_extents_keep(extents, &window); /* again: in its place */
	assert_address(extents, 1, 0, 1);
	assert_unknown(extents, 2, 0);
	assert_address(extents, 3, 0, 3);
	canfs_extents_free(extents);
}

static void test_forgotten_from_an_offset_on(void **state)
{
	struct canfs_extents *extents = canfs_extents_new(10);
	struct canfs_window window;

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		window = window_at(1, i * 64 * MIB, (i + 1) * 64 * MIB, i);
		canfs_extents_keep(extents, &window);
		window.file = 2;
		canfs_extents_keep(extents, &window);
	}
	canfs_extents_forget(extents, 1, 128 * MIB + 5);
	assert_address(extents, 1, 64 * MIB, 1);
	assert_unknown(extents, 1, 128 * MIB);
	assert_unknown(extents, 1, 192 * MIB);
	assert_address(extents, 2, 192 * MIB, 3);
	canfs_extents_forget(extents, 3, 0);
	canfs_extents_forget(extents, 1, 0);
	canfs_extents_free(extents);
}

/* A file with more extents than a window holds: every second block of it is a hole. */
static void test_what_the_file_system_says(void **state)
{
	char path[] = "/tmp/canfs-extents-XXXXXX", block[4096];
	int fd = mkstemp(path);
	struct canfs_window window, moved;

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	memset(block, 'x', sizeof(block));
	for (off_t i = 0; i < 200; i += 2)
		assert_int_equal(pwrite(fd, block, sizeof(block), i * 4096), sizeof(block));
	assert_int_equal(fsync(fd), 0);
	for (uint64_t i = 0; i < 200; i += 2) {
		canfs_window_ask(&window, fd, 9, 0, i * 4096);
		assert_int_equal(window.file, 9);
		assert_true(window.start <= i * 4096 && i * 4096 < window.end);
		assert_true(window.n <= CANFS_EXTENTS_MAX);
	}
	/* In a partition that begins later, all of it is later. */
	canfs_window_ask(&window, fd, 9, 0, 0);
	canfs_window_ask(&moved, fd, 9, 100 * MIB, 0);
	assert_int_equal(moved.n, window.n);
	for (unsigned int i = 0; i < window.n; i++)
		assert_true(moved.extent[i].address == window.extent[i].address + 100 * MIB);
	canfs_window_ask(
		&window, fd, 9, 0, UINT64_MAX - 1); /* past the end: no more than its order */
	assert_true(window.start <= UINT64_MAX - 1 && UINT64_MAX - 1 < window.end);
	close(fd);
}

static void test_file_system_that_says_nothing(void **state)
{
	struct canfs_window window;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	(void)state;
	canfs_window_ask(&window, fd, 5, 0, 70 * MIB);
	close(fd);
	assert_int_equal(window.start, 0); /* never asked again */
	assert_true(window.end == UINT64_MAX);
	assert_int_equal(
		canfs_window_address(&window, 70 * MIB), canfs_address_by_file(5, 70 * MIB));
}

static void write_kib(const char *directory, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void test_read_limit_of_a_partition(void **state)
{
	char sysfs[] = "/tmp/canfs-sysfs-XXXXXX", command[256];
	const dev_t partition = makedev(8, 1);

	(void)state;
	assert_non_null(mkdtemp(sysfs));
	assert_int_equal(canfs_read_limit_bytes(sysfs, partition), 128 * 1024);
	(void)snprintf(command, sizeof(command),
		"mkdir -p %s/disk/queue %s/disk/8:1 %s/dev/block && ln -s ../../disk/8:1 "
		"%s/dev/block/8:1",
		sysfs, sysfs, sysfs, sysfs);
	assert_int_equal(system(command), 0);
	write_kib(sysfs, "disk/queue/max_sectors_kb", "1280\n");
	write_kib(sysfs, "disk/queue/read_ahead_kb", "512\n");
	assert_int_equal(canfs_read_limit_bytes(sysfs, partition), 1280 * 1024);
	write_kib(sysfs, "disk/queue/read_ahead_kb", "4096\n");
	assert_int_equal(canfs_read_limit_bytes(sysfs, partition), 4096 * 1024);
	write_kib(sysfs, "disk/queue/read_ahead_kb", "many\n");
	write_kib(sysfs, "disk/queue/max_sectors_kb", "99999999999\n");
	assert_int_equal(canfs_read_limit_bytes(sysfs, partition), 128 * 1024);
	(void)snprintf(command, sizeof(command), "rm -r %s", sysfs);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_in_a_window),
		cmocka_unit_test(test_order_without_addresses),
		cmocka_unit_test(test_windows_are_found_by_offset),
		cmocka_unit_test(test_least_recently_used_window_gives_way),
		cmocka_unit_test(test_forgotten_from_an_offset_on),
		cmocka_unit_test(test_what_the_file_system_says),
		cmocka_unit_test(test_file_system_that_says_nothing),
		cmocka_unit_test(test_read_limit_of_a_partition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
