// SPDX-License-Identifier: LGPL-3.0-or-later
/* The memory monitor: the size of the real cache, and the larger of dirty pages and the cache's worth. */
#include "tests/unit/fake_root.h"

#include "server/monitors/cache_size.h"
#include "server/monitors/cgroup.h"
#include "server/monitors/ghosts.h"
#include "server/monitors/monitors.h"

#define MIB      ((uint64_t)1 << 20)
#define NO_LIMIT "9223372036854771712\n" /* as version 1 says it */

static struct fake_root root;

static int set_up(void **state)
{
	(void)state;
	fake_root_make(&root);
	fake_root_write(&root, "/proc/meminfo",
		"MemTotal: 1048576 kB\nMemFree: 10240 kB\nCached: 100352 kB\nSwapCached: 7 kB\n"
		"Shmem: 8192 kB\n");
	fake_root_write(
		&root, "/proc/vmstat", "nr_dirty 5\nnr_writeback 5\nnr_dirty_threshold 100\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fake_root_remove(&root);
	return 0;
}

static uint64_t cache_mib(void)
{
	uint64_t bytes;

	assert_int_equal(canfs_cache_size(root.path, &bytes), 0);
	assert_int_equal(bytes % MIB, 0);
	return bytes / MIB;
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fake_root_write(&root, path, text);
}

static void put_group(const char *dir, const char *limit_name, const char *limit,
	const char *usage_name, const char *usage, const char *stat)
{
	put(dir, limit_name, limit);
	put(dir, usage_name, usage);
	put(dir, "memory.stat", stat);
}

static void cache_is_the_machines(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_int_equal(cache_mib(), 100);
	fake_root_write(&root, "/proc/self/cgroup", "0::/\n");
	assert_int_equal(cache_mib(), 100);
	fake_root_write(&root, "/proc/meminfo",
		"MemFree: 0 kB\nCached: 99999999999999999 kB\nShmem: 0 kB\n");
	assert_int_equal(canfs_cache_size(root.path, &bytes), -EPROTO);
	fake_root_write(&root, "/proc/meminfo",
		"MemFree: 18014398509481983 kB\nCached: 10 kB\nShmem: 0 kB\n");
	assert_int_equal(canfs_cache_size(root.path, &bytes), -EPROTO);
	fake_root_write(&root, "/proc/meminfo", "MemFree: 0 kB\nCached: x kB\n");
	assert_int_equal(canfs_cache_size(root.path, &bytes), -EPROTO);
	fake_root_write(&root, "/proc/meminfo", "Cached: 1 kB\nShmem: 8 kB\n");
	assert_int_equal(canfs_cache_size(root.path, &bytes), -EPROTO);
	fake_root_write(&root, "/proc/meminfo", "MemFree: 0 kB\nCached: 1 kB\nShmem: 8 kB\n");
	assert_int_equal(cache_mib(), 0);
}

static void limited_cgroup_of_version_1(void **state)
{
	(void)state;
	fake_root_write(&root, "/proc/self/cgroup", "9:cpu:/x\n4:memory:/nfs\n0::/y\n");
	put_group("/sys/fs/cgroup/memory/nfs", "memory.limit_in_bytes", NO_LIMIT,
		"memory.usage_in_bytes", "62914560\n",
		"cache 1\ntotal_cache 52428800\ntotal_shmem 0\n");
	assert_int_equal(cache_mib(), 100);
	fake_root_write(&root, "/sys/fs/cgroup/memory/nfs/memory.limit_in_bytes", "73400320\n");
	assert_int_equal(cache_mib(), 50 + 10);
	/* Lowered below what is used. */
	fake_root_write(&root, "/sys/fs/cgroup/memory/nfs/memory.limit_in_bytes", "52428800\n");
	assert_int_equal(cache_mib(), 50);
	/* More than the machine has cannot be. */
	fake_root_write(&root, "/sys/fs/cgroup/memory/nfs/memory.stat",
		"total_cache 5242880000\ntotal_shmem 0\n");
	assert_int_equal(cache_mib(), 100);
}

static void limited_cgroup_of_version_2_or_one_above_it(void **state)
{
	(void)state;
	fake_root_write(&root, "/proc/self/cgroup", "0::/nfs.slice/ganesha.service\n");
	put_group("/sys/fs/cgroup/nfs.slice/ganesha.service", "memory.max", "max\n",
		"memory.current", "41943040\n", "anon 1\nfile 31457280\nshmem 0\n");
	put_group("/sys/fs/cgroup/nfs.slice", "memory.max", "104857600\n", "memory.current",
		"83886080\n", "anon 1\nfile 41943040\nfile_dirty 3\nshmem 0\n");
	assert_int_equal(cache_mib(), 40 + 20);
	fake_root_write(&root, "/sys/fs/cgroup/nfs.slice/ganesha.service/memory.max", "52428800\n");
	assert_int_equal(cache_mib(), 30 + 10);
}

/* Inside, the files of the container's group are at the root, while the path is the host's. */
static void cgroup_of_a_container(void **state)
{
	(void)state;
	fake_root_write(&root, "/proc/self/cgroup", "4:memory:/docker/abc\n");
	put_group("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "104857600\n",
		"memory.usage_in_bytes", "104857600\n", "total_cache 20971520\ntotal_shmem 0\n");
	assert_int_equal(cache_mib(), 20);
}

static void finds_the_cgroup_with_the_memory_controller(void **state)
{
	char path[8];
	bool version2;

	(void)state;
	assert_int_equal(
		canfs_parse_cgroup("2:cpu,memory:/a:b\n", "memory", path, 8, &version2), 0);
	assert_string_equal(path, "/a:b");
	assert_false(version2);
	assert_int_equal(canfs_parse_cgroup("0::/u\n4:memory:/m", "memory", path, 8, &version2), 0);
	assert_string_equal(path, "/m");
	assert_false(version2);
	assert_int_equal(
		canfs_parse_cgroup("1:name=systemd:/\n0::/1\n", "memory", path, 8, &version2), 0);
	assert_string_equal(path, "/1");
	assert_true(version2);
	assert_int_equal(
		canfs_parse_cgroup("0::/1234567\n", "memory", path, 8, &version2), -EPROTO);
	assert_int_equal(canfs_parse_cgroup("", "memory", path, 8, &version2), -EPROTO);
	assert_int_equal(
		canfs_parse_cgroup("3:cpuset,memory2:/c\n0::/u\n", "cpu", path, 8, &version2), 0);
	assert_string_equal(path, "/u");
	assert_int_equal(canfs_parse_cgroup("3:a,cpu,b:/c\n0::/u\n", "cpu", path, 8, &version2), 0);
	assert_string_equal(path, "/c");
	assert_int_equal(canfs_parse_cgroup("3:cpu:/c\n0::/u\n", "", path, 8, &version2), 0);
	assert_string_equal(path, "/u");
	assert_int_equal(canfs_parse_cgroup("0\n0:\n:\n::", "memory", path, 8, &version2), 0);
	assert_string_equal(path, "");
}

static double sample(void *monitor, double elapsed_sec)
{
	double utilization;

	assert_int_equal(canfs_memory_sample(monitor, elapsed_sec, &utilization), 0);
	return utilization;
}

static void read_whole_file(struct canfs_ghosts *ghosts, uint64_t bytes)
{
	for (uint64_t offset = 0; offset < bytes; offset += MIB)
		canfs_ghosts_note_read(ghosts, 1, offset, MIB);
}

static void worth_of_the_read_cache_is_priced(void **state)
{
	struct canfs_monitor_setup setup = { .root = root.path };
	void *monitor;

	(void)state;
	assert_int_equal(canfs_ghosts_new(&setup.ghosts, MIB, 1), 0);
	assert_int_equal(canfs_memory_open(&monitor, &setup), 0);
	assert_true(sample(monitor, 0.1) == 0.1);
	/* 80 of 100 MiB of cache, again and again: none of it can be spared. */
	read_whole_file(setup.ghosts, 80 * MIB);
	sample(monitor, 100);
	read_whole_file(setup.ghosts, 80 * MIB);
	assert_true(sample(monitor, 0.1) > 0.8);
	fake_root_write(
		&root, "/proc/vmstat", "nr_dirty 99\nnr_writeback 0\nnr_dirty_threshold 100\n");
	assert_true(sample(monitor, 0.1) >= 0.99);
	/* Nobody reads any more; the size of the cache cannot be told. */
	fake_root_write(&root, "/proc/meminfo", "");
	fake_root_write(
		&root, "/proc/vmstat", "nr_dirty 0\nnr_writeback 0\nnr_dirty_threshold 100\n");
	assert_true(sample(monitor, 100) < 0.01);
	canfs_memory_close(monitor);
	canfs_ghosts_free(setup.ghosts);
}

static void pressure(const char *path, const char *avg10)
{
	char text[256];

	snprintf(text, sizeof(text),
		"some avg10=%s avg60=99.00 avg300=99.00 total=1\n"
		"full avg10=99.00 avg60=99.00 avg300=99.00 total=1\n",
		avg10);
	fake_root_write(&root, path, text);
}

static void waiting_for_memory_is_a_second_opinion(void **state)
{
	const struct canfs_monitor_setup setup = { .root = root.path };
	void *monitor;

	(void)state;
	assert_int_equal(canfs_memory_open(&monitor, &setup), 0);
	assert_float_equal(sample(monitor, 1), 0.1, 1e-9);
	pressure("/proc/pressure/memory", "75.50");
	assert_float_equal(sample(monitor, 1), 0.755, 1e-9);
	pressure("/proc/pressure/memory", "7.50");
	assert_float_equal(sample(monitor, 1), 0.1, 1e-9);
	/* The server's own says it better. */
	fake_root_write(&root, "/proc/self/cgroup", "4:memory:/a\n0::/nfs\n");
	pressure("/sys/fs/cgroup/nfs/memory.pressure", "33.01");
	pressure("/proc/pressure/memory", "75.50");
	assert_float_equal(sample(monitor, 1), 0.3301, 1e-9);
	/* With both versions of cgroups, the second one is one storey below. */
	pressure("/sys/fs/cgroup/unified/nfs/memory.pressure", "100.00");
	assert_float_equal(sample(monitor, 1), 1, 1e-9);
	canfs_memory_close(monitor);
}

/* The kernel's server is in no group, whatever that of the program beside it is. */
static void of_the_whole_machine_its_pressure_counts(void **state)
{
	const struct canfs_monitor_setup setup = { .root = root.path, .whole_machine = true };
	void *monitor;

	(void)state;
	fake_root_write(&root, "/proc/self/cgroup", "0::/priced\n");
	pressure("/sys/fs/cgroup/priced/memory.pressure", "99.00");
	pressure("/proc/pressure/memory", "75.50");
	assert_int_equal(canfs_memory_open(&monitor, &setup), 0);
	assert_float_equal(sample(monitor, 1), 0.755, 1e-9);
	canfs_memory_close(monitor);
}

static void parses_pressure(void **state)
{
	double some;

	(void)state;
	assert_int_equal(canfs_parse_pressure("some avg10=0.07 avg60=", &some), 0);
	assert_float_equal(some, 0.0007, 1e-9);
	assert_int_equal(canfs_parse_pressure("some avg10=999999999", &some), 0);
	assert_float_equal(some, 1, 0);
	assert_int_equal(canfs_parse_pressure("some avg10=1.", &some), 0);
	assert_float_equal(some, 0.01, 1e-9);
	assert_int_equal(canfs_parse_pressure("some avg10=x", &some), -EPROTO);
	assert_int_equal(canfs_parse_pressure("full avg10=1.00", &some), -EPROTO);
	assert_int_equal(canfs_parse_pressure("", &some), -EPROTO);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cache_is_the_machines),
		TEST(limited_cgroup_of_version_1),
		TEST(limited_cgroup_of_version_2_or_one_above_it),
		TEST(cgroup_of_a_container),
		TEST(finds_the_cgroup_with_the_memory_controller),
		TEST(worth_of_the_read_cache_is_priced),
		TEST(waiting_for_memory_is_a_second_opinion),
		TEST(of_the_whole_machine_its_pressure_counts),
		TEST(parses_pressure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
