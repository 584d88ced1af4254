// SPDX-License-Identifier: LGPL-3.0-or-later
/* What exports may have of their own on the sampler, and what it lets others see of the price of memory. */
#include "tests/unit/fake_root.h"

#include <errno.h>
#include <math.h>
#include <sys/sysmacros.h>
#include "server/market/internal.h"
#include "server/monitors/monitors.h"
#include "pricing/price.h"

#define SEC UINT64_C(1000000)
#define MIB ((uint64_t)1 << 20)

static struct fake_root root;
static uint64_t last_usec; /* of the last step with a load */

static void say(const char *message)
{
	(void)message;
}

static int set_up(void **state)
{
	(void)state;
	fake_root_make(&root);
	/* One head: by its type it takes 1 read and 32 writes. */
	fake_root_write(&root, "/sys/dev/block/8:0/queue/rotational", "1\n");
	fake_root_write(&root, "/sys/dev/block/8:0/inflight", "0 0\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fake_root_remove(&root);
	return 0;
}

static struct canfs_sampler *open_sampler(
	enum canfs_resource resource, const struct canfs_monitor_setup *given)
{
	struct canfs_sampler_config config = { .interval_ms = 100,
		.publish = true,
		.monitors = 1u << resource,
		.setup = *given,
		.say = say };
	struct canfs_sampler *sampler;

	config.setup.root = root.path;
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	return sampler;
}

/* Mean queues of so many reads and writes, for a second. */
static void load_disk_further(
	struct canfs_sampler *sampler, unsigned int reads, unsigned int writes)
{
	static uint64_t now_usec = SEC;
	static unsigned int read_msec, write_msec, done;
	char text[128];

	snprintf(text, sizeof(text), "%u 0 0 %u %u 0 0 %u 0 0 0\n", done, read_msec, done,
		write_msec);
	fake_root_write(&root, "/sys/dev/block/8:0/stat", text);
	canfs_sampler_step(sampler, now_usec);
	last_usec = now_usec;
	now_usec += SEC;
	done += 10;
	read_msec += reads * 1000;
	write_msec += writes * 1000;
}

static void load_disk(struct canfs_sampler *sampler, unsigned int reads, unsigned int writes)
{
	for (int i = 0; i < 2; i++)
		load_disk_further(sampler, reads, writes);
}

struct seen {
	const char *path;
	struct canfs_market market;
};

static void look(const struct canfs_price_table_view *view, void *arg)
{
	struct seen *seen = arg;

	if (strcmp(view->path, seen->path) == 0)
		seen->market = *view->market;
}

static struct canfs_market market_of(struct canfs_sampler *sampler, const char *path)
{
	struct seen seen = { .path = path };

	canfs_sampler_visit(sampler, 0, look, &seen);
	return seen.market;
}

static int sample_half(void *state, double elapsed_sec, double *utilization)
{
	(void)state;
	(void)elapsed_sec;
	*utilization = 0.5;
	return 0;
}

static void close_nothing(void *state)
{
	(void)state;
}

/* Not the disk alone: a resource more that exports have, not the server. */
static void who_shares_disks_has_all_of_their_monitors(void **state)
{
	static const struct canfs_monitor_type type = { .resource = CANFS_MEMORY,
		.per_export = true,
		.sample = sample_half,
		.close = close_nothing };
	const struct canfs_monitor_setup of_server = { .link_mbit_per_sec = 0 };
	struct canfs_sampler *sampler = open_sampler(CANFS_DISK, &of_server);
	struct canfs_price_table *first, *second;

	(void)state;
	assert_int_equal(canfs_price_table_open(&first, sampler, "/a", makedev(8, 0), NULL), 0);
	assert_int_equal(canfs_price_table_open(&second, sampler, "/b", makedev(8, 0), NULL), 0);
	assert_ptr_equal(second->watched_by, first);
	first->monitors[CANFS_MEMORY] = (struct canfs_monitor) { .type = &type, .say = say };
	load_disk(sampler, 0, 2);
	for (int i = 0; i < 2; i++) {
		struct canfs_market market = market_of(sampler, i == 0 ? "/a" : "/b");

		assert_true(market.known[CANFS_DISK] && market.known[CANFS_MEMORY]);
		assert_float_equal(market.utilization[CANFS_MEMORY], 0.5, 1e-9);
	}
	canfs_price_table_close(second);
	canfs_price_table_close(first);
	canfs_sampler_free(sampler);
}

static void exports_have_disks_of_their_own(void **state)
{
	const struct canfs_monitor_setup of_server = { .disk_write_queue = 20 };
	const struct canfs_disk_options deep = { .read_queue = 8, .k = 50 };
	const struct canfs_disk_options writes = { .write_queue = 5 };
	struct canfs_sampler *sampler = open_sampler(CANFS_DISK, &of_server);
	struct canfs_price_table *price_tables[3];
	struct canfs_settings before, settings;
	struct canfs_market market;

	(void)state;
	assert_int_equal(
		canfs_price_table_open(&price_tables[0], sampler, "/a", makedev(8, 0), NULL), 0);
	assert_int_equal(
		canfs_price_table_open(&price_tables[1], sampler, "/deep", makedev(8, 0), &deep),
		0);
	assert_int_equal(canfs_price_table_open(
				 &price_tables[2], sampler, "/writes", makedev(8, 0), &writes),
		0);
	load_disk(sampler, 0, 2);
	assert_float_equal(market_of(sampler, "/a").utilization[CANFS_DISK], 0.1, 1e-9);
	assert_float_equal(market_of(sampler, "/deep").utilization[CANFS_DISK], 0.1, 1e-9);
	assert_float_equal(market_of(sampler, "/writes").utilization[CANFS_DISK], 0.4, 1e-9);
	for (int i = 0; i < 3; i++)
		canfs_price_table_close(price_tables[i]);

	assert_int_equal(
		canfs_price_table_open(&price_tables[1], sampler, "/deep", makedev(8, 0), &deep),
		0);
	load_disk(sampler, 4, 0);
	market = market_of(sampler, "/deep");
	assert_float_equal(market.utilization[CANFS_DISK], 0.5, 1e-9);
	assert_float_equal(market.k[CANFS_DISK], 50, 0);
	/* What is set for the server is for those without a k of their own. */
	canfs_sampler_settings(sampler, &before);
	settings = before;
	settings.k[CANFS_DISK] = 3;
	settings.pmax = 0.5;
	assert_int_equal(canfs_sampler_set(sampler, &before, &settings), 0);
	assert_int_equal(
		canfs_price_table_open(&price_tables[0], sampler, "/a", makedev(8, 0), NULL), 0);
	load_disk(sampler, 4, 0);
	assert_float_equal(market_of(sampler, "/a").k[CANFS_DISK], 3, 0);
	market = market_of(sampler, "/deep");
	assert_float_equal(canfs_market_price(&market, CANFS_DISK), canfs_price(0.5, 50) / 2, 1e-9);
	canfs_price_table_close(price_tables[0]);
	canfs_price_table_close(price_tables[1]);
	canfs_sampler_free(sampler);
}

/* Three exports of one file system: the one that looks at its disks goes, the others know on. */
static void exports_on_the_same_disks_share_their_monitor(void **state)
{
	static const char *const paths[] = { "/a", "/b", "/c" };
	const struct canfs_monitor_setup none = { 0 };
	const struct canfs_disk_options steep = { .k = 50 };
	struct canfs_sampler *sampler = open_sampler(CANFS_DISK, &none);
	struct canfs_price_table *price_tables[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(canfs_price_table_open(&price_tables[i], sampler, paths[i],
					 makedev(8, 0), i == 2 ? &steep : NULL),
			0);
	load_disk(sampler, 0, 8);
	for (int gone = 0; gone < 3; gone++) {
		for (int i = gone; i < 3; i++) {
			struct canfs_market market = market_of(sampler, paths[i]);

			assert_true(market.known[CANFS_DISK]);
			assert_float_equal(market.utilization[CANFS_DISK], 0.25, 1e-9);
			assert_float_equal(market.k[CANFS_DISK], i == 2 ? 50 : 4, 0);
		}
		canfs_price_table_close(price_tables[gone]);
		/* One step more: had the others to begin anew, they would know nothing now. */
		load_disk_further(sampler, 0, 8);
	}
	canfs_sampler_free(sampler);
}

/* The configuration was read again: an export leaves those whose disks are looked at as one, and comes back. */
static void disks_of_an_export_may_change(void **state)
{
	const struct canfs_monitor_setup none = { 0 };
	const struct canfs_disk_options as_server = { 0 }, steep = { .k = 50 },
					few = { .write_queue = 16, .k = 50 }, wrong = { .k = 1 };
	struct canfs_sampler *sampler = open_sampler(CANFS_DISK, &none);
	struct canfs_price_table *price_tables[2];
	struct canfs_tag tag;

	(void)state;
	/* b looks for both. */
	assert_int_equal(
		canfs_price_table_open(&price_tables[1], sampler, "/b", makedev(8, 0), NULL), 0);
	assert_int_equal(
		canfs_price_table_open(&price_tables[0], sampler, "/a", makedev(8, 0), NULL), 0);
	load_disk(sampler, 0, 8);
	assert_int_equal(canfs_price_table_change(price_tables[1], &as_server, last_usec + 1), 0);
	assert_int_equal(canfs_price_table_change(price_tables[1], &wrong, last_usec + 1), -EINVAL);
	assert_int_equal(canfs_price_table_change(price_tables[1], &steep, last_usec + 1), 1);
	load_disk_further(sampler, 0, 8);
	assert_float_equal(market_of(sampler, "/b").k[CANFS_DISK], 50, 0);
	assert_float_equal(market_of(sampler, "/b").utilization[CANFS_DISK], 0.25, 1e-9);

	assert_int_equal(canfs_price_table_change(price_tables[1], &few, last_usec + 1), 1);
	for (int i = 0; i < 2; i++)
		assert_true(canfs_price_table_read(price_tables[i], last_usec, &tag));
	load_disk_further(sampler, 0, 8);
	assert_float_equal(market_of(sampler, "/a").utilization[CANFS_DISK], 0.25, 1e-5);
	assert_float_equal(market_of(sampler, "/b").utilization[CANFS_DISK], 0.5, 1e-5);
	assert_float_equal(market_of(sampler, "/a").k[CANFS_DISK], 4, 0);

	assert_int_equal(canfs_price_table_change(price_tables[1], &as_server, last_usec + 1), 1);
	load_disk_further(sampler, 0, 8);
	for (int i = 0; i < 2; i++) {
		struct canfs_market market = market_of(sampler, i == 0 ? "/a" : "/b");

		assert_float_equal(market.utilization[CANFS_DISK], 0.25, 1e-5);
		assert_float_equal(market.k[CANFS_DISK], 4, 0);
		canfs_price_table_close(price_tables[i]);
	}
	canfs_sampler_free(sampler);
}

static void a_k_that_cannot_be_is_refused(void **state)
{
	const double wrong[] = { 1, -8, 1e7, (double)NAN, (double)INFINITY };
	const struct canfs_monitor_setup none = { 0 };
	struct canfs_sampler *sampler = open_sampler(CANFS_DISK, &none);

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct canfs_disk_options own = { .k = wrong[i] };
		struct canfs_price_table *prices = NULL;

		assert_int_equal(canfs_price_table_open(&prices, sampler, "/a", 0, &own), -EINVAL);
		assert_null(prices);
	}
	canfs_sampler_free(sampler);
}

static void settings_out_of_range_change_nothing(void **state)
{
	const double wrong[] = { -0.001, 1.001, (double)NAN };
	const struct canfs_monitor_setup none = { 0 };
	struct canfs_sampler *sampler = open_sampler(CANFS_DISK, &none);
	struct canfs_settings before, given, after;

	(void)state;
	canfs_sampler_settings(sampler, &before);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		given = before;
		given.publish = !before.publish;
		given.pmax = wrong[i];
		assert_int_equal(canfs_sampler_set(sampler, &before, &given), -EINVAL);
	}
	canfs_sampler_settings(sampler, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	canfs_sampler_free(sampler);
}

static void the_price_of_memory_can_be_looked_into(void **state)
{
	struct canfs_monitor_setup setup = { 0 };
	struct canfs_sampler *sampler;
	struct canfs_memory_view view;

	(void)state;
	fake_root_write(&root, "/proc/meminfo",
		"MemTotal: 1048576 kB\nMemFree: 10240 kB\nCached: 92160 kB\nShmem: 0 kB\n");
	assert_int_equal(canfs_ghosts_new(&setup.ghosts, MIB, 1), 0);
	sampler = open_sampler(CANFS_MEMORY, &setup);
	assert_true(canfs_sampler_memory(sampler, &view));
	assert_true(isnan(view.dirty_share) && view.has_ghosts && view.cache_bytes == 0);

	/* There is no /proc/vmstat yet. */
	canfs_sampler_step(sampler, SEC);
	assert_true(canfs_sampler_memory(sampler, &view));
	assert_true(isnan(view.dirty_share) && view.cache_bytes == 100 * MIB);
	fake_root_write(
		&root, "/proc/vmstat", "nr_dirty 5\nnr_writeback 5\nnr_dirty_threshold 100\n");
	for (uint64_t round = 2; round <= 3; round++) {
		for (uint64_t offset = 0; offset < 80 * MIB; offset += MIB)
			canfs_ghosts_note_read(setup.ghosts, 1, offset, MIB);
		canfs_sampler_step(sampler, round * SEC);
	}
	assert_true(canfs_sampler_memory(sampler, &view));
	assert_float_equal(view.dirty_share, 0.1, 1e-9);
	/* Half of 100 MiB holds nothing of a circle of 80, and more holds no more. */
	assert_true(view.forecast.hit > 0.4 && view.forecast.hit_less < 0.05);
	assert_true(view.forecast.hit_more >= view.forecast.hit);
	assert_true(view.forecast.utilization > 0.8);
	assert_true(view.usage.memory_bytes == MIB && view.usage.used_bytes <= MIB);
	canfs_sampler_free(sampler);
	canfs_ghosts_free(setup.ghosts);

	setup.ghosts = NULL;
	sampler = open_sampler(CANFS_MEMORY, &setup);
	canfs_sampler_step(sampler, SEC);
	assert_true(canfs_sampler_memory(sampler, &view));
	assert_true(!view.has_ghosts && view.dirty_share > 0);
	canfs_sampler_free(sampler);

	sampler = open_sampler(CANFS_CPU, &setup);
	assert_false(canfs_sampler_memory(sampler, &view));
	canfs_sampler_free(sampler);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_shares_disks_has_all_of_their_monitors),
		TEST(exports_have_disks_of_their_own),
		TEST(exports_on_the_same_disks_share_their_monitor),
		TEST(disks_of_an_export_may_change),
		TEST(a_k_that_cannot_be_is_refused),
		TEST(settings_out_of_range_change_nothing),
		TEST(the_price_of_memory_can_be_looked_into),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
