// SPDX-License-Identifier: LGPL-3.0-or-later
/* The processor monitor: of the machine, of a part of it, and of a quota. */
#include "tests/unit/fake_root.h"

#include "server/monitors/monitors.h"

#define V2  "/sys/fs/cgroup/nfs.slice"
#define V1  "/sys/fs/cgroup/cpu/nfs"
#define SEC 1.0

static struct fake_root root;
static void *monitor;

static int set_up(void **state)
{
	const struct canfs_monitor_setup setup = { .root = root.path };

	(void)state;
	fake_root_make(&root);
	return canfs_cpu_open(&monitor, &setup);
}

static int tear_down(void **state)
{
	(void)state;
	canfs_cpu_close(monitor);
	fake_root_remove(&root);
	return 0;
}

/* Ticks since boot of two processors. */
static void ticks(unsigned int busy0, unsigned int idle0, unsigned int busy1, unsigned int idle1)
{
	char text[256];

	snprintf(text, sizeof(text),
		"cpu  %u 0 0 %u 0 0 0 0 0 0\ncpu0 %u 0 0 %u 0 0 0 0 0 0\n"
		"cpu1 %u 0 0 %u 0 0 0 0 0 0\nintr 1 2 3\n",
		busy0 + busy1, idle0 + idle1, busy0, idle0, busy1, idle1);
	fake_root_write(&root, "/proc/stat", text);
}

static void number(const char *path, unsigned int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u\n", n);
	fake_root_write(&root, path, text);
}

static void used_usec(const char *path, unsigned int usec)
{
	char text[128];

	snprintf(text, sizeof(text), "usage_usec %u\nuser_usec 1\nnr_throttled 2\n", usec);
	fake_root_write(&root, path, text);
}

static double sample(void)
{
	double utilization;

	assert_int_equal(canfs_cpu_sample(monitor, SEC, &utilization), 0);
	return utilization;
}

static void not_yet(void)
{
	double utilization;

	assert_int_equal(canfs_cpu_sample(monitor, SEC, &utilization), -EAGAIN);
}

static void only_its_own_processors_count(void **state)
{
	(void)state;
	ticks(0, 0, 0, 0);
	not_yet();
	ticks(100, 0, 0, 100);
	assert_float_equal(sample(), 0.5, 1e-9);
	/* Now it may run on the second one only; the sums before are of another set. */
	fake_root_write(&root, "/proc/self/status", "Cpus_allowed:\t2\nCpus_allowed_list:\t1\n");
	ticks(200, 0, 0, 200);
	not_yet();
	ticks(300, 0, 10, 290);
	assert_float_equal(sample(), 0.1, 1e-9);
	/* The kernel allows also those that there might be one day. */
	fake_root_write(&root, "/proc/self/status", "Cpus_allowed_list:\t0-127\n");
	not_yet();
	ticks(400, 0, 10, 390);
	assert_float_equal(sample(), 0.5, 1e-9);
}

/* lxcfs counts the processors of a container from 0, whichever they are. */
static void processors_that_are_renumbered_count_together(void **state)
{
	(void)state;
	fake_root_write(&root, "/proc/self/status", "Cpus_allowed_list:\t1,6\n");
	ticks(0, 0, 0, 0);
	not_yet();
	ticks(100, 0, 0, 100);
	assert_float_equal(sample(), 0.5, 1e-9);
	fake_root_write(&root, "/proc/self/status", "Cpus_allowed_list:\t5-6\n");
	not_yet();
	ticks(200, 0, 50, 150);
	assert_float_equal(sample(), 0.75, 1e-9);
}

static void quota_of_version_2_is_tighter_than_the_machine(void **state)
{
	(void)state;
	fake_root_write(&root, "/proc/self/cgroup", "0::/nfs.slice/ganesha.service\n");
	fake_root_write(&root, V2 "/ganesha.service/cpu.max", "max 100000\n");
	fake_root_write(&root, V2 "/cpu.max", "50000 100000\n");
	ticks(0, 0, 0, 0);
	used_usec(V2 "/cpu.stat", 1000000);
	used_usec(V2 "/ganesha.service/cpu.stat", 5);
	not_yet();
	ticks(45, 55, 0, 100);
	used_usec(V2 "/cpu.stat", 1450000);
	assert_float_equal(sample(), 0.45 / 0.5, 1e-9);
	/* The other way round. */
	ticks(135, 65, 90, 110);
	used_usec(V2 "/cpu.stat", 1500000);
	assert_float_equal(sample(), 0.9, 1e-9);
}

static void a_quota_may_come_and_go(void **state)
{
	(void)state;
	fake_root_write(&root, "/proc/self/cgroup", "0::/nfs.slice\n");
	ticks(0, 0, 0, 0);
	used_usec(V2 "/cpu.stat", 0);
	not_yet();
	fake_root_write(&root, V2 "/cpu.max", "100000 100000\n");
	ticks(50, 50, 50, 50);
	used_usec(V2 "/cpu.stat", 1000000);
	/* What was used before is not of this interval. */
	assert_float_equal(sample(), 0.5, 1e-9);
	ticks(100, 100, 100, 100);
	used_usec(V2 "/cpu.stat", 1900000);
	assert_float_equal(sample(), 0.9, 1e-9);
	fake_root_write(&root, V2 "/cpu.stat", "");
	ticks(150, 150, 150, 150);
	assert_float_equal(sample(), 0.5, 1e-9);
	fake_root_write(&root, V2 "/cpu.max", "max 100000\n");
	used_usec(V2 "/cpu.stat", 9000000);
	ticks(200, 200, 200, 200);
	assert_float_equal(sample(), 0.5, 1e-9);
}

/* What may be used in a second is used in its first eighth; then the kernel lets the group wait. */
static void a_quota_is_full_between_bursts_too(void **state)
{
	(void)state;
	fake_root_write(&root, "/proc/self/cgroup", "0::/nfs.slice\n");
	fake_root_write(&root, V2 "/cpu.max", "500000 1000000\n");
	for (unsigned int n = 0; n < 30; n++) {
		double utilization;
		int ret;

		ticks(0, 10 * n, 0, 10 * n);
		used_usec(V2 "/cpu.stat", (n + 7) / 8 * 500000);
		ret = canfs_cpu_sample(monitor, SEC / 8, &utilization);
		assert_int_equal(ret, n == 0 ? -EAGAIN : 0);
		if (n > 0)
			assert_float_equal(utilization, n < 8 ? 0 : 1, 1e-9);
	}
	/* A steady load is what it was. */
	for (unsigned int n = 30; n < 60; n++) {
		double utilization;

		ticks(0, 10 * n, 0, 10 * n);
		used_usec(V2 "/cpu.stat", 2000000 + (n - 30) * 25000);
		assert_int_equal(canfs_cpu_sample(monitor, SEC / 8, &utilization), 0);
		if (n >= 40)
			assert_float_equal(utilization, 0.4, 1e-9);
	}
}

static void quota_of_version_1(void **state)
{
	(void)state;
	fake_root_write(&root, "/proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/nfs\n0::/x\n");
	number(V1 "/cpu.cfs_quota_us", 25000);
	number(V1 "/cpu.cfs_period_us", 50000);
	number("/sys/fs/cgroup/cpuacct/nfs/cpuacct.usage", 0);
	fake_root_write(&root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
	fake_root_write(&root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	ticks(0, 0, 0, 0);
	not_yet();
	number("/sys/fs/cgroup/cpuacct/nfs/cpuacct.usage", 400000000);
	ticks(40, 60, 0, 100);
	assert_float_equal(sample(), 0.4 / 0.5, 1e-9);
}

/* Without the machine's source nothing is told: a quota alone would call the rest idle. */
static void a_quota_does_not_stand_for_the_machine(void **state)
{
	double utilization;

	(void)state;
	fake_root_write(&root, "/proc/self/cgroup", "0::/nfs.slice\n");
	fake_root_write(&root, V2 "/cpu.max", "100000 100000\n");
	used_usec(V2 "/cpu.stat", 0);
	assert_int_equal(canfs_cpu_sample(monitor, SEC, &utilization), -ENOENT);
}

/* The kernel's server runs on all processors, whatever the program beside it may use. */
static void of_the_whole_machine_all_count(void **state)
{
	const struct canfs_monitor_setup setup = { .root = root.path, .whole_machine = true };

	(void)state;
	canfs_cpu_close(monitor);
	assert_int_equal(canfs_cpu_open(&monitor, &setup), 0);
	fake_root_write(&root, "/proc/self/cgroup", "0::/nfs.slice\n");
	fake_root_write(&root, V2 "/cpu.max", "1000 100000\n");
	fake_root_write(&root, "/proc/self/status", "Cpus_allowed_list:\t1\n");
	ticks(0, 0, 0, 0);
	used_usec(V2 "/cpu.stat", 0);
	not_yet();
	ticks(100, 0, 0, 100);
	used_usec(V2 "/cpu.stat", 1000000);
	assert_float_equal(sample(), 0.5, 1e-9);
}

static void parses_quotas(void **state)
{
	static const struct {
		const char *text;
		int result;
		double processors, period_sec;
	} cases[] = {
		{ "max 100000\n", 0, 0, 0 },
		{ "150000 100000\n", 0, 1.5, 0.1 },
		{ "-1\n100000\n", 0, 0, 0 },
		{ "50000\n1000000\n", 0, 0.05, 1 },
		{ "50000\n\n100000\n", -EPROTO, 0, 0 },
		{ "50000", -EPROTO, 0, 0 },
		{ "0 100000", -EPROTO, 0, 0 },
		{ "1 0", -EPROTO, 0, 0 },
		{ "", -EPROTO, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct canfs_cpu_quota quota;

		assert_int_equal(canfs_parse_cpu_quota(cases[i].text, &quota), cases[i].result);
		assert_true(quota.processors == cases[i].processors);
		assert_true(quota.period_sec == cases[i].period_sec);
	}
}

static void parses_allowed_processors(void **state)
{
	cpu_set_t allowed;

	(void)state;
	assert_int_equal(
		canfs_parse_cpus_allowed("Cpus_allowed_list:\t0-2,1000-5000,9\n", &allowed), 0);
	assert_int_equal(CPU_COUNT(&allowed), 3 + 24 + 1);
	assert_true(CPU_ISSET(1023, &allowed) && CPU_ISSET(9, &allowed));
	assert_int_equal(canfs_parse_cpus_allowed("Cpus_allowed_list:\t\n", &allowed), -EPROTO);
	assert_int_equal(canfs_parse_cpus_allowed("Cpus_allowed_list:\t1-\n", &allowed), -EPROTO);
	assert_int_equal(canfs_parse_cpus_allowed("Cpus_allowed_list:\t3-1\n", &allowed), -EPROTO);
	assert_int_equal(canfs_parse_cpus_allowed("Cpus_allowed:\t1\n", &allowed), -EPROTO);
	assert_int_equal(canfs_parse_cpus_allowed("", &allowed), -EPROTO);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_its_own_processors_count),
		TEST(processors_that_are_renumbered_count_together),
		TEST(quota_of_version_2_is_tighter_than_the_machine),
		TEST(a_quota_may_come_and_go),
		TEST(a_quota_is_full_between_bursts_too),
		TEST(quota_of_version_1),
		TEST(a_quota_does_not_stand_for_the_machine),
		TEST(of_the_whole_machine_all_count),
		cmocka_unit_test(parses_quotas),
		cmocka_unit_test(parses_allowed_processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
