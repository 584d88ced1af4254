// SPDX-License-Identifier: LGPL-3.0-or-later
/* The monitors' parsers: what kernels write, and what they never should. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "server/monitors/monitors.h"
#include "server/monitors/source.h"

static void number_stops_where_it_ends(void **state)
{
	const char *cursor = " \t42 7";
	uint64_t n;

	(void)state;
	assert_true(canfs_parse_number(&cursor, &n));
	assert_int_equal(n, 42);
	assert_true(canfs_parse_number(&cursor, &n));
	assert_int_equal(n, 7);
	assert_false(canfs_parse_number(&cursor, &n));
	cursor = "18446744073709551615";
	assert_true(canfs_parse_number(&cursor, &n));
	assert_true(n == UINT64_MAX);
	cursor = "18446744073709551616";
	assert_false(canfs_parse_number(&cursor, &n));
	cursor = "-1";
	assert_false(canfs_parse_number(&cursor, &n));
	cursor = "\n1"; /* a number is not looked for on the next line */
	assert_false(canfs_parse_number(&cursor, &n));
}

static void cpu_counts_steal_as_busy_and_iowait_as_idle(void **state)
{
	struct canfs_cpu_times times;

	(void)state;
	assert_int_equal(canfs_parse_cpu("cpu  1 2 3 100 50 4 5 6 7 8\ncpu0 9\n", NULL, &times), 0);
	assert_int_equal(times.busy, 1 + 2 + 3 + 4 + 5 + 6);
	assert_int_equal(times.total, 171);
	assert_int_equal(canfs_parse_cpu("cpu0 1 2 3 4 5 6 7 8\n", NULL, &times), -EPROTO);
	assert_int_equal(canfs_parse_cpu("cpu  1 2 3 4\n", NULL, &times), -EPROTO);
	assert_int_equal(canfs_parse_cpu("", NULL, &times), -EPROTO);
}

static void vmstat_needs_all_three(void **state)
{
	struct canfs_dirty_pages pages;

	(void)state;
	assert_int_equal(canfs_parse_vmstat("nr_free_pages 1\nnr_dirty 20\nnr_writeback 5\n"
					    "nr_writeback_temp 77\nnr_dirty_threshold 100\n"
					    "nr_dirty_background_threshold 50\n",
				 &pages),
		0);
	assert_int_equal(pages.dirty, 20);
	assert_int_equal(pages.writeback, 5);
	assert_int_equal(pages.limit, 100);
	assert_int_equal(canfs_parse_vmstat("nr_dirty 20\nnr_writeback 5\n", &pages), -EPROTO);
	assert_int_equal(canfs_parse_vmstat("nr_dirty x\n", &pages), -EPROTO);
	assert_int_equal(canfs_parse_vmstat("", &pages), -EPROTO);
}

#define HEAD                                                                                       \
	"Inter-|   Receive                                                |  Transmit\n"           \
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"

static void net_dev_takes_first_and_ninth_column(void **state)
{
	struct canfs_interface_bytes interfaces[2];
	size_t count;

	(void)state;
	assert_int_equal(canfs_parse_net_dev(HEAD "    lo: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n"
						  "  eth0:10 0 0 0 0 0 0 0 20 0 0 0 0 0 0 0\n"
						  "  eth1:10 0 0 0 0 0 0 0 20 0 0 0 0 0 0 0\n",
				 interfaces, 2, &count),
		0);
	assert_int_equal(count, 2);
	assert_string_equal(interfaces[0].name, "lo");
	assert_string_equal(interfaces[1].name, "eth0");
	assert_int_equal(interfaces[1].received_bytes, 10);
	assert_int_equal(interfaces[1].sent_bytes, 20);
}

static void net_dev_leaves_out_torn_lines(void **state)
{
	struct canfs_interface_bytes interfaces[4];
	size_t count;

	(void)state;
	assert_int_equal(canfs_parse_net_dev(HEAD "eth0: 1 2 3\n: 1 0 0 0 0 0 0 0 2\n"
						  "a-name-that-is-far-too-long: 1 0 0 0 0 0 0 0 2\n"
						  "no colon at all\neth1: 1 0 0 0 0 0 0 0 2\neth",
				 interfaces, 4, &count),
		0);
	assert_int_equal(count, 1);
	assert_string_equal(interfaces[0].name, "eth1");
	assert_int_equal(canfs_parse_net_dev("eth0: 1\n", interfaces, 4, &count), -EPROTO);
	assert_int_equal(canfs_parse_net_dev(HEAD, interfaces, 4, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(canfs_parse_net_dev("Inter-|", interfaces, 4, &count), 0);
	assert_int_equal(count, 0);
}

static void disk_counts_reads_and_writes(void **state)
{
	struct canfs_disk_count count[CANFS_DISK_KINDS];

	(void)state;
	assert_int_equal(canfs_parse_disk("  10 1 80 500  20 2 160 900 3 7 8 0 0 0 0 5 6\n",
				 "  1  2\n", count),
		0);
	assert_int_equal(count[CANFS_DISK_READ].done, 10);
	assert_int_equal(count[CANFS_DISK_READ].wait_msec, 500);
	assert_int_equal(count[CANFS_DISK_READ].inflight, 1);
	assert_int_equal(count[CANFS_DISK_WRITE].done, 20);
	assert_int_equal(count[CANFS_DISK_WRITE].wait_msec, 900);
	assert_int_equal(count[CANFS_DISK_WRITE].inflight, 2);
	assert_int_equal(canfs_parse_flushes("  10 1 80 500  20 2 160 900 3 7 8 0 0 0 0 5 6\n"), 6);
	assert_int_equal(canfs_parse_flushes("  10 1 80 500  20 2 160 900 3 7 8\n"), 0);
	assert_int_equal(canfs_parse_disk("10 1 80 500 20 2 160", "1 2", count), -EPROTO);
	assert_int_equal(canfs_parse_disk("10 1 80 500 20 2 160 900", "1", count), -EPROTO);
}

/* Unused numbers may be anything. A used number that was briefly negative counts as 0. */
static void odd_numbers_cost_only_themselves(void **state)
{
	struct canfs_disk_count count[CANFS_DISK_KINDS];
	struct canfs_interface_bytes interfaces[4];
	struct canfs_dirty_pages pages;
	struct canfs_cpu_times times;
	cpu_set_t allowed;
	size_t found;

	(void)state;
	assert_int_equal(
		canfs_parse_disk("10 -1 -80 500 20 18446744073709551616 x 900 -3 7 8 0 0 0 0 5 6\n",
			"-1 4294967295\n", count),
		0);
	assert_int_equal(count[CANFS_DISK_READ].wait_msec, 500);
	assert_int_equal(count[CANFS_DISK_READ].sectors, 0);
	assert_int_equal(count[CANFS_DISK_READ].inflight, 0);
	assert_int_equal(count[CANFS_DISK_WRITE].inflight, 0);
	assert_int_equal(canfs_parse_disk("10 1 80 -500 20 2 160 900\n", "1 2\n", count), -EPROTO);
	assert_int_equal(canfs_parse_flushes("10 - 80 -500 20 2 160 900 3 7 8 0 0 0 0 5 6\n"), 6);

	assert_int_equal(canfs_parse_net_dev("Inter-|\n face |\n"
					     "eth0: 1 -2 18446744073709551616 x 0 0 0 0 2\n"
					     "eth1: -1 0 0 0 0 0 0 0 2\n"
					     "eth2: 1 0 0 0 0 0 0 0 18446744073709551614\n"
					     "\n\neth3: 3 0 0 0 0 0 0 0 4 0 0\n",
				 interfaces, 4, &found),
		0);
	assert_int_equal(found, 2);
	assert_string_equal(interfaces[0].name, "eth0");
	assert_int_equal(interfaces[0].sent_bytes, 2);
	assert_string_equal(interfaces[1].name, "eth3");

	assert_int_equal(canfs_parse_vmstat("nr_dirty -5\nnr_writeback 18446744073709551611\n"
					    "nr_dirty_threshold 100\nnr_dirty_threshold 7\n",
				 &pages),
		0);
	assert_int_equal(pages.dirty, 0);
	assert_int_equal(pages.writeback, 0);
	assert_int_equal(pages.limit, 100);
	assert_int_equal(
		canfs_parse_vmstat("nr_dirty 5\nnr_writeback 1\nnr_dirty_threshold -1\n", &pages),
		-EPROTO);

	CPU_ZERO(&allowed);
	CPU_SET(0, &allowed);
	CPU_SET(1, &allowed);
	assert_int_equal(canfs_parse_cpu("cpu  1 2 3 100 -1 4 5 6\n", NULL, &times), 0);
	assert_int_equal(times.total, 121);
	assert_int_equal(canfs_parse_cpu("cpu  1 2 3 -4 1 4 5 6\n", NULL, &times), -EPROTO);
	/* A repeated line counts once. If a line is unusable, the totals remain. */
	assert_int_equal(
		canfs_parse_cpu("cpu  9 9 9 9 9 9 9 9\ncpu0 1 0 0 0 0 0 0 0\ncpu0 1 0 0 0 0 0 0 0\n"
				"cpu1 1 0 0 0 0 0 0 0\n",
			&allowed, &times),
		0);
	assert_int_equal(times.total, 2);
	assert_int_equal(
		canfs_parse_cpu(
			"cpu  9 9 9 9 9 9 9 9\ncpu0 1 0 0 0 0 0 0 0\ncpu1 1 0 0 -1 0 0 0 0\n",
			&allowed, &times),
		0);
	assert_int_equal(times.total, 72);
}

static unsigned int said_count;
static char said_last[256];

static void hear(const char *message)
{
	said_count++;
	snprintf(said_last, sizeof(said_last), "%s", message);
}

static void a_line_is_named_once(void **state)
{
	static const char *const names[] = { "Cached:", "MemFree:", NULL };
	struct canfs_said said = { .say = hear };
	char line[32];

	(void)state;
	said_count = 0;
	canfs_say_unusable_names(&said, "/proc/meminfo", "MemFree: 3 kB\nCached: 4 kB\n", names);
	assert_int_equal(said_count, 0);
	for (int i = 0; i < 3; i++)
		canfs_say_unusable_names(&said, "/proc/meminfo", " \n", names);
	assert_int_equal(said_count, 1);
	assert_string_equal(said_last, "/proc/meminfo is empty or truncated: ignored");
	for (int i = 0; i < 3; i++) {
		snprintf(line, sizeof(line), "MemFree: 3\nCached: -%d kB\n", i);
		canfs_say_unusable_names(&said, "/proc/meminfo", line, names);
	}
	assert_int_equal(said_count, 2);
	assert_string_equal(said_last, "/proc/meminfo: cannot use the line \"Cached: -0 kB\"");
	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof(line), "  eth%d: 1 2\nnext", i);
		canfs_say_unusable(&said, "/proc/net/dev", line);
	}
	assert_int_equal(said_count, CANFS_SAID_MAX);
}

/* One after the other, as a closed-loop reader: the queue is what the kernel summed up. */
static void queue_is_waiting_time_over_time(void **state)
{
	struct canfs_disk_count before = { .done = 100, .wait_msec = 1000, .inflight = 1 };
	struct canfs_disk_count now = { .done = 110, .wait_msec = 1095, .inflight = 1 };
	double credit_msec = 0;

	(void)state;
	assert_float_equal(canfs_disk_queue(&before, &now, 100, &credit_msec), 0.95, 1e-9);
	assert_float_equal(credit_msec, 0, 1e-9);
}

/* Three requests that take 350 ms: full from the first interval on, and not counted twice. */
static void queue_of_a_stuck_device_is_full(void **state)
{
	struct canfs_disk_count stuck = { .done = 100, .wait_msec = 1000, .inflight = 3 };
	struct canfs_disk_count end = { .done = 103, .wait_msec = 1000 + 3 * 350, .inflight = 0 };
	double credit_msec = 0;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_float_equal(canfs_disk_queue(&stuck, &stuck, 100, &credit_msec), 3, 1e-9);
	assert_float_equal(canfs_disk_queue(&stuck, &end, 100, &credit_msec), 1.5, 1e-9);
	assert_float_equal(credit_msec, 0, 1e-9);
}

static void queue_survives_counters_that_go_back(void **state)
{
	struct canfs_disk_count before = { .done = 100, .wait_msec = 1000, .inflight = 0 };
	struct canfs_disk_count now = { .done = 1, .wait_msec = 10, .inflight = 0 };
	double credit_msec = 0;

	(void)state;
	assert_float_equal(canfs_disk_queue(&before, &now, 100, &credit_msec), 0, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_stops_where_it_ends),
		cmocka_unit_test(cpu_counts_steal_as_busy_and_iowait_as_idle),
		cmocka_unit_test(vmstat_needs_all_three),
		cmocka_unit_test(net_dev_takes_first_and_ninth_column),
		cmocka_unit_test(net_dev_leaves_out_torn_lines),
		cmocka_unit_test(disk_counts_reads_and_writes),
		cmocka_unit_test(odd_numbers_cost_only_themselves),
		cmocka_unit_test(a_line_is_named_once),
		cmocka_unit_test(queue_is_waiting_time_over_time),
		cmocka_unit_test(queue_of_a_stuck_device_is_full),
		cmocka_unit_test(queue_survives_counters_that_go_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
