// SPDX-License-Identifier: LGPL-3.0-or-later
/* Monitors and sampler on a made-up /proc and /sys: time is a parameter, nothing is waited for. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include <ftw.h>
#include <cmocka.h>
#include "common/clock.h"
#include "server/monitors/devices.h"
#include "server/monitors/disk_types.h"
#include "server/market/sampler.h"

#define INTERVAL_USEC 100000

static char root[64];
static char said[1024]; /* what the monitors said last */
static int said_count;

static void say(const char *message)
{
	snprintf(said, sizeof(said), "%s", message);
	said_count++;
}

/* Creates path below the root, with its directories. */
static void put(const char *path, const char *text)
{
	char full[PATH_MAX];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void put_link(const char *path, const char *target)
{
	char full[PATH_MAX];

	put(path, "");
	snprintf(full, sizeof(full), "%s%s", root, path);
	unlink(full);
	assert_int_equal(symlink(target, full), 0);
}

static void put_gone(const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	assert_int_equal(unlink(full), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/canfs-monitors-XXXXXX");
	said_count = 0;
	return !mkdtemp(root);
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct canfs_sampler *open_sampler(unsigned int monitors, unsigned int link_mbit_per_sec)
{
	struct canfs_sampler_config config = { .interval_ms = 100,
		.publish = true,
		.monitors = monitors,
		.setup = { .root = root, .link_mbit_per_sec = link_mbit_per_sec },
		.say = say };
	struct canfs_sampler *sampler;

	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	return sampler;
}

static unsigned int flushes_msec; /* of every disk */

static void disk_stat(const char *disk, unsigned int reads, unsigned int read_msec,
	unsigned int writes, unsigned int write_msec, unsigned int inflight_reads)
{
	char path[PATH_MAX], text[256];

	snprintf(path, sizeof(path), "/sys/devices/%s/stat", disk);
	snprintf(text, sizeof(text), "%u 0 0 %u %u 0 0 %u 0 0 0 0 0 0 0 0 %u\n", reads, read_msec,
		writes, write_msec, flushes_msec);
	put(path, text);
	snprintf(path, sizeof(path), "/sys/devices/%s/inflight", disk);
	snprintf(text, sizeof(text), "%u 0\n", inflight_reads);
	put(path, text);
}

static void disk_type(const char *disk, const char *rotational)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/devices/%s/queue/rotational", disk);
	put(path, rotational);
	disk_stat(disk, 0, 0, 0, 0, 0);
}

static void finds_the_disk_of_a_partition(void **state)
{
	struct canfs_disk_path disks[4];

	(void)state;
	disk_type("sda", "1\n");
	put("/sys/devices/sda/sda1/partition", "1\n");
	put_link("/sys/dev/block/8:1", "../../devices/sda/sda1");
	assert_int_equal(canfs_find_disks(root, makedev(8, 1), NULL, disks, 4), 1);
	assert_string_equal(disks[0].path, "/sys/devices/sda");
}

static void finds_the_disks_under_dm_and_md_once(void **state)
{
	struct canfs_disk_path disks[4];

	(void)state;
	disk_type("sda", "1\n");
	disk_type("sdb", "1\n");
	put("/sys/devices/sda/sda1/partition", "1\n");
	put("/sys/devices/sda/sda2/partition", "2\n");
	put_link("/sys/devices/md0/slaves/sda1", "../../sda/sda1");
	put_link("/sys/devices/md0/slaves/sda2", "../../sda/sda2");
	put_link("/sys/devices/md0/slaves/sdb", "../../sdb");
	put_link("/sys/devices/dm-0/slaves/md0", "../../md0");
	put_link("/sys/dev/block/253:0", "../../devices/dm-0");
	assert_int_equal(canfs_find_disks(root, makedev(253, 0), NULL, disks, 4), 2);
	assert_int_equal(canfs_find_disks(root, makedev(253, 0), NULL, disks, 1), 1);
	assert_int_equal(canfs_find_disks(root, makedev(0, 42), NULL, disks, 4), -ENODATA);
}

static void devices_that_contain_each_other_end(void **state)
{
	struct canfs_disk_path disks[4];

	(void)state;
	put_link("/sys/devices/dm-0/slaves/dm-1", "../../dm-1");
	put_link("/sys/devices/dm-1/slaves/dm-0", "../../dm-0");
	put_link("/sys/dev/block/253:0", "../../devices/dm-0");
	assert_int_equal(canfs_find_disks(root, makedev(253, 0), NULL, disks, 4), -ENODATA);
}

static void bearing_goes_by_type(void **state)
{
	(void)state;
	disk_type("sda", "1\n");
	disk_type("sdb", "0\n");
	disk_type("nvme0n1", "0\n");
	assert_true(canfs_disk_type(root, "/sys/devices/sda")->reads == 1);
	assert_true(canfs_disk_type(root, "/sys/devices/sdb")->reads == 32);
	assert_true(canfs_disk_type(root, "/sys/devices/nvme0n1")->writes == 128);
	assert_true(canfs_disk_type(root, "/sys/devices/none")->reads == 1);
}

/* Steps until the averages have settled. add_msec: what each interval adds to the disk. */
static uint64_t run_disk(struct canfs_sampler *sampler, uint64_t now_usec, unsigned int *reads,
	unsigned int add_reads, unsigned int add_msec, unsigned int add_flushes_msec)
{
	static unsigned int msec;

	for (int i = 0; i < 40; i++) {
		*reads += add_reads;
		msec += add_msec;
		flushes_msec += add_flushes_msec;
		disk_stat("sda", *reads, msec, 0, 0, 0);
		now_usec += INTERVAL_USEC;
		canfs_sampler_step(sampler, now_usec);
	}
	return now_usec;
}

static void a_busy_disk_is_expensive_and_prices_only_its_export(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_DISK, 0);
	struct canfs_price_table *on_sda, *on_sdb;
	struct canfs_tag tag;
	unsigned int reads = 0;
	uint64_t now_usec = 1000000;

	(void)state;
	disk_type("sda", "1\n");
	disk_type("sdb", "1\n");
	put_link("/sys/dev/block/8:0", "../../devices/sda");
	put_link("/sys/dev/block/8:16", "../../devices/sdb");
	assert_int_equal(canfs_price_table_open(&on_sda, sampler, "/a", makedev(8, 0), NULL), 0);
	assert_int_equal(canfs_price_table_open(&on_sdb, sampler, "/b", makedev(8, 16), NULL), 0);
	assert_false(canfs_price_table_read(on_sda, now_usec, &tag));

	now_usec = run_disk(sampler, now_usec, &reads, 8, 98, 40);
	assert_true(canfs_price_table_read(on_sda, now_usec, &tag));
	assert_true(tag.write > 0.9 && tag.readahead == tag.write);
	assert_int_equal(tag.bottleneck, CANFS_DISK);
	assert_true(canfs_price_table_read(on_sdb, now_usec, &tag));
	assert_true(tag.write == 0);

	/* Its price does not change, but who waits has. */
	now_usec = run_disk(sampler, now_usec, &reads, 8, 98, 70);
	assert_true(canfs_price_table_read(on_sda, now_usec, &tag));
	assert_true(tag.write > 0.9);
	assert_int_equal(tag.bottleneck, CANFS_LOG);

	now_usec = run_disk(sampler, now_usec, &reads, 0, 0, 0);
	assert_true(canfs_price_table_read(on_sda, now_usec, &tag));
	assert_true(tag.write == 0);

	canfs_price_table_close(on_sda);
	canfs_price_table_close(on_sdb);
	canfs_sampler_free(sampler);
}

static void old_quotes_are_not_read(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_MEMORY, 0);
	struct canfs_price_table *prices;
	struct canfs_tag tag;

	(void)state;
	put("/proc/vmstat", "nr_dirty 50\nnr_writeback 50\nnr_dirty_threshold 100\n");
	assert_int_equal(canfs_price_table_open(&prices, sampler, "/a", 0, NULL), 0);
	canfs_sampler_step(sampler, 1000000);
	assert_true(canfs_price_table_read(prices, 1000000 + CANFS_STALE_MS * 1000, &tag));
	assert_true(tag.write == 1 && tag.bottleneck == CANFS_MEMORY);
	assert_true(tag.readahead == 0); /* it dirties nothing */
	assert_false(canfs_price_table_read(prices, 1001000 + CANFS_STALE_MS * 1000, &tag));
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

static void a_lost_source_is_said_once_and_leaves_the_market(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_MEMORY, 0);
	struct canfs_price_table *prices;
	struct canfs_tag tag;
	uint64_t now_usec = 1000000;

	(void)state;
	assert_int_equal(canfs_price_table_open(&prices, sampler, "/a", 0, NULL), 0);
	for (int i = 0; i < 3; i++)
		canfs_sampler_step(sampler, now_usec += INTERVAL_USEC);
	assert_int_equal(said_count, 1);
	assert_non_null(strstr(said, "memory monitor drops out"));
	assert_false(canfs_price_table_read(prices, now_usec, &tag));

	put("/proc/vmstat", "nr_dirty 0\nnr_writeback 0\nnr_dirty_threshold 100\n");
	for (int i = 0; i < 3; i++)
		canfs_sampler_step(sampler, now_usec += INTERVAL_USEC);
	assert_int_equal(said_count, 2);
	assert_non_null(strstr(said, "memory monitor is back"));
	assert_true(canfs_price_table_read(prices, now_usec, &tag));

	put_gone("/proc/vmstat");
	canfs_sampler_step(sampler, now_usec += INTERVAL_USEC);
	assert_int_equal(said_count, 3);
	assert_false(canfs_price_table_read(prices, now_usec, &tag));
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

static void an_export_without_a_disk_says_so(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_DISK, 0);
	struct canfs_price_table *prices;

	(void)state;
	assert_int_equal(
		canfs_price_table_open(&prices, sampler, "/tmpfs", makedev(0, 42), NULL), 0);
	canfs_sampler_step(sampler, 1000000);
	canfs_sampler_step(sampler, 1100000);
	assert_int_equal(said_count, 1);
	assert_string_equal(
		said, "disk monitor of /tmpfs drops out of the price: no block device below");
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

static void net_dev(unsigned int received_bytes, unsigned int sent_bytes)
{
	char text[512];

	snprintf(text, sizeof(text),
		"Inter-|\n face |\n    lo: 99%u 0 0 0 0 0 0 0 99%u 0 0 0 0 0 0 0\n"
		"  eth0: %u 0 0 0 0 0 0 0 %u 0 0 0 0 0 0 0\n",
		sent_bytes, sent_bytes, received_bytes, sent_bytes);
	put("/proc/net/dev", text);
}

/* 8 Mbit/s are 100000 bytes in 100 ms. */
static void check_network(struct canfs_sampler *sampler)
{
	struct canfs_price_table *prices;
	struct canfs_tag tag;
	uint64_t now_usec = 1000000;

	assert_int_equal(canfs_price_table_open(&prices, sampler, "/a", 0, NULL), 0);
	for (unsigned int i = 0; i < 40; i++) {
		net_dev(i * 1000, i * 100000);
		canfs_sampler_step(sampler, now_usec += INTERVAL_USEC);
	}
	assert_true(canfs_price_table_read(prices, now_usec, &tag));
	assert_true(tag.write > 0.99 && tag.bottleneck == CANFS_NETWORK);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

static void the_busier_direction_of_a_link_counts(void **state)
{
	(void)state;
	put("/sys/class/net/eth0/device", "");
	put("/sys/class/net/eth0/speed", "8\n");
	check_network(open_sampler(1u << CANFS_NETWORK, 0));
}

static void a_given_speed_goes_first(void **state)
{
	(void)state;
	put("/sys/class/net/eth0/device", "");
	put("/sys/class/net/eth0/speed", "-1\n");
	check_network(open_sampler(1u << CANFS_NETWORK, 8));
}

static void check_no_network(void)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_NETWORK, 0);

	for (unsigned int i = 1; i < 5; i++) {
		net_dev(i * 1000, i * 100000);
		canfs_sampler_step(sampler, i * INTERVAL_USEC);
	}
	assert_int_equal(said_count, 1);
	assert_non_null(strstr(said, "Link_Speed"));
	canfs_sampler_free(sampler);
}

static void a_link_of_unknown_speed_has_no_price(void **state)
{
	(void)state;
	put("/sys/class/net/eth0/device", "");
	put("/sys/class/net/eth0/speed", "-1\n");
	check_no_network();
}

static void a_tap_that_claims_10_mbit_has_no_price(void **state)
{
	(void)state;
	put("/sys/class/net/eth0/speed", "10\n");
	check_no_network();
}

static void a_full_processor_is_expensive(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_CPU, 0);
	struct canfs_price_table *prices;
	struct canfs_tag tag;
	uint64_t now_usec = 1000000;
	char text[128];

	(void)state;
	assert_int_equal(canfs_price_table_open(&prices, sampler, "/a", 0, NULL), 0);
	for (unsigned int i = 0; i < 40; i++) {
		snprintf(text, sizeof(text), "cpu  %u 0 0 1000 0 0 0 0 0 0\n", 20 * i);
		put("/proc/stat", text);
		canfs_sampler_step(sampler, now_usec += INTERVAL_USEC);
	}
	assert_true(canfs_price_table_read(prices, now_usec, &tag));
	assert_true(tag.write > 0.99 && tag.bottleneck == CANFS_CPU);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

static void a_clock_that_stands_or_goes_back_is_no_step(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_MEMORY, 0);

	(void)state;
	canfs_sampler_step(sampler, 1000000);
	canfs_sampler_step(sampler, 1000000);
	canfs_sampler_step(sampler, 999999);
	assert_int_equal(said_count, 1);
	canfs_sampler_free(sampler);
}

static void a_price_table_outlives_the_sampler(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_MEMORY, 0);
	struct canfs_price_table *prices;
	struct canfs_tag tag;

	(void)state;
	put("/proc/vmstat", "nr_dirty 1\nnr_writeback 0\nnr_dirty_threshold 100\n");
	assert_int_equal(canfs_price_table_open(&prices, sampler, "/a", 0, NULL), 0);
	canfs_sampler_step(sampler, 1000000);
	canfs_sampler_free(sampler);
	assert_true(canfs_price_table_read(prices, 1000000, &tag));
	assert_false(canfs_price_table_read(prices, 4000000, &tag));
	canfs_price_table_close(prices);
}

static void the_thread_starts_and_ends(void **state)
{
	struct canfs_sampler_config config = { .interval_ms = 20,
		.publish = true,
		.monitors = 1u << CANFS_MEMORY,
		.setup.root = root,
		.say = say };
	struct canfs_sampler *sampler;
	struct canfs_price_table *prices;
	struct canfs_tag tag;

	(void)state;
	put("/proc/vmstat", "nr_dirty 1\nnr_writeback 0\nnr_dirty_threshold 100\n");
	config.interval_ms = 19;
	assert_int_equal(canfs_sampler_new(&sampler, &config), -EINVAL);
	config.interval_ms = 20;
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	assert_int_equal(canfs_sampler_start(sampler), 0);
	assert_int_equal(canfs_price_table_open(&prices, sampler, "/a", 0, NULL), 0);
	while (!canfs_price_table_read(prices, canfs_now_usec(), &tag))
		usleep(1000);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
	canfs_sampler_free(NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(finds_the_disk_of_a_partition),
		TEST(finds_the_disks_under_dm_and_md_once),
		TEST(devices_that_contain_each_other_end),
		TEST(bearing_goes_by_type),
		TEST(a_busy_disk_is_expensive_and_prices_only_its_export),
		TEST(old_quotes_are_not_read),
		TEST(a_lost_source_is_said_once_and_leaves_the_market),
		TEST(an_export_without_a_disk_says_so),
		TEST(the_busier_direction_of_a_link_counts),
		TEST(a_given_speed_goes_first),
		TEST(a_link_of_unknown_speed_has_no_price),
		TEST(a_tap_that_claims_10_mbit_has_no_price),
		TEST(a_full_processor_is_expensive),
		TEST(a_clock_that_stands_or_goes_back_is_no_step),
		TEST(a_price_table_outlives_the_sampler),
		TEST(the_thread_starts_and_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
