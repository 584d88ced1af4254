// SPDX-License-Identifier: LGPL-3.0-or-later
/* The monitor of a back end: what operations tell, by way of an export's price table, comes to be a price. */
#include "fake_root.h"

#include <sys/sysmacros.h>
#include "server/market/sampler.h"
#include "server/monitors/responses.h"

#define SEC   UINT64_C(1000000)
#define BYTES 8192

static struct fake_root root;
static uint64_t now_usec;

static void say(const char *message)
{
	(void)message;
}

static int set_up(void **state)
{
	(void)state;
	now_usec = SEC;
	fake_root_make(&root);
	fake_root_write(&root, "/sys/dev/block/8:0/queue/rotational", "1\n");
	fake_root_write(&root, "/sys/dev/block/8:0/inflight", "0 0\n");
	fake_root_write(&root, "/sys/dev/block/8:0/stat", "0 0 0 0 0 0 0 0 0 0 0\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fake_root_remove(&root);
	return 0;
}

static struct canfs_sampler *open_sampler(unsigned int monitors)
{
	const struct canfs_sampler_config config = { .interval_ms = 100,
		.publish = true,
		.monitors = monitors,
		.setup = { .root = root.path },
		.say = say };
	struct canfs_sampler *sampler;

	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	return sampler;
}

static struct canfs_price_table *open_export(
	struct canfs_sampler *sampler, const char *path, dev_t device)
{
	struct canfs_price_table *prices;

	assert_int_equal(canfs_price_table_open(&prices, sampler, path, device, NULL), 0);
	return prices;
}

static void step(struct canfs_sampler *sampler)
{
	now_usec += SEC / 10;
	canfs_sampler_step(sampler, now_usec);
}

/* For so many steps, so many reads at a time, which take so long, one after the other. */
static void read_for(struct canfs_sampler *sampler, struct canfs_price_table *prices, int steps,
	unsigned int at_a_time, uint64_t usec)
{
	struct canfs_responses *responses = canfs_price_table_responses(prices);

	for (int i = 0; i < steps; i++) {
		for (uint64_t at = 0; at_a_time > 0 && at + at_a_time * usec <= SEC / 10;
			at += at_a_time * usec) {
			for (unsigned int n = 0; n < at_a_time; n++)
				assert_int_equal(canfs_response_begin(responses), n);
			for (unsigned int n = 0; n < at_a_time; n++)
				canfs_response_end(
					responses, CANFS_RESPONSE_READ, BYTES, n, (n + 1) * usec);
		}
		step(sampler);
	}
}

static struct canfs_tag tag_of(struct canfs_price_table *prices)
{
	struct canfs_tag tag = { .bottleneck = CANFS_NONE };

	assert_true(canfs_price_table_peek(prices, now_usec, &tag));
	return tag;
}

static void a_slow_back_end_is_expensive(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_BACKEND);
	struct canfs_price_table *prices = open_export(sampler, "/volume", 0);

	(void)state;
	read_for(sampler, prices, 10, 0, SEC);
	assert_true(tag_of(prices).write == 0 && tag_of(prices).bottleneck == CANFS_BACKEND);
	read_for(sampler, prices, 1, 1, 5000);
	assert_true(tag_of(prices).write > 0 && tag_of(prices).write < 1);
	read_for(sampler, prices, 20, 4, 5000);
	assert_true(tag_of(prices).write > 0.9 && tag_of(prices).readahead > 0.9);
	assert_int_equal(tag_of(prices).bottleneck, CANFS_BACKEND);
	read_for(sampler, prices, 20, 0, SEC);
	assert_true(tag_of(prices).write < 0.05);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

static void look(const struct canfs_price_table_view *view, void *arg)
{
	*(double *)arg = view->backend_nominal;
}

static void what_is_known_of_it_is_shown(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_BACKEND);
	struct canfs_price_table *prices = open_export(sampler, "/volume", 0);
	double nominal = 0;

	(void)state;
	canfs_sampler_visit(sampler, now_usec, look, &nominal);
	assert_float_equal(nominal, 1, 1e-9);
	read_for(sampler, prices, 20, 1, 5000);
	read_for(sampler, prices, 600, 4, 5000);
	canfs_sampler_visit(sampler, now_usec, look, &nominal);
	assert_true(nominal >= 1 && nominal < 2);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

static void quick_operations_cost_nothing(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_BACKEND);
	struct canfs_price_table *prices = open_export(sampler, "/volume", 0);

	(void)state;
	read_for(sampler, prices, 20, 16, 60);
	assert_true(tag_of(prices).write == 0);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

/* Nothing ends any more: there is nothing that took long, but more and more waits. */
static void a_back_end_that_hangs_is_expensive(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_BACKEND);
	struct canfs_price_table *prices = open_export(sampler, "/volume", 0);
	struct canfs_responses *responses = canfs_price_table_responses(prices);

	(void)state;
	step(sampler);
	for (int i = 0; i < 16; i++)
		canfs_response_begin(responses);
	for (int i = 0; i < 20; i++)
		step(sampler);
	assert_true(tag_of(prices).write > 0.9);
	for (unsigned int i = 0; i < 16; i++)
		canfs_response_end(responses, CANFS_RESPONSE_READ, BYTES, i, 2 * SEC);
	for (int i = 0; i < 20; i++)
		step(sampler);
	assert_true(tag_of(prices).write < 0.05);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

/* They have no time of their own, but who meets one was not alone. */
static void commits_are_others_only(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_BACKEND);
	struct canfs_price_table *prices = open_export(sampler, "/volume", 0);
	struct canfs_responses *responses = canfs_price_table_responses(prices);

	(void)state;
	for (int i = 0; i < 100; i++)
		canfs_response_begin_commit(responses);
	for (int i = 0; i < 20; i++)
		step(sampler);
	assert_true(tag_of(prices).write == 0);
	assert_int_equal(canfs_response_begin(responses), 100);
	for (int i = 0; i < 100; i++)
		canfs_response_end_commit(responses);
	assert_int_equal(canfs_response_begin(responses), 1);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

static void it_runs_where_no_disk_is_watched(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_DISK | 1u << CANFS_BACKEND);
	struct canfs_price_table *on_disk = open_export(sampler, "/disk", makedev(8, 0));
	struct canfs_price_table *remote = open_export(sampler, "/volume", 0);

	(void)state;
	for (int i = 0; i < 3; i++)
		step(sampler);
	assert_int_equal(tag_of(on_disk).bottleneck, CANFS_DISK);
	assert_int_equal(tag_of(remote).bottleneck, CANFS_BACKEND);
	canfs_price_table_close(remote);
	canfs_price_table_close(on_disk);
	canfs_sampler_free(sampler);
}

/* Exports on one device queue for the same; of others nobody knows. */
static void exports_on_one_device_share_it(void **state)
{
	struct canfs_sampler *sampler = open_sampler(1u << CANFS_BACKEND);
	struct canfs_price_table *a = open_export(sampler, "/a", makedev(8, 0));
	struct canfs_price_table *b = open_export(sampler, "/b", makedev(8, 0));
	struct canfs_price_table *c = open_export(sampler, "/c", 0);
	struct canfs_price_table *d = open_export(sampler, "/d", 0);

	(void)state;
	assert_ptr_equal(canfs_price_table_responses(a), canfs_price_table_responses(b));
	assert_ptr_not_equal(canfs_price_table_responses(c), canfs_price_table_responses(d));
	read_for(sampler, b, 20, 1, 5000);
	canfs_price_table_close(a);
	read_for(sampler, b, 20, 8, 5000);
	assert_true(tag_of(b).write > 0.9);
	assert_true(tag_of(c).write == 0 && tag_of(d).write == 0);
	canfs_price_table_close(b);
	canfs_price_table_close(c);
	/* The server ends in a hurry. */
	canfs_sampler_free(sampler);
	canfs_response_begin(canfs_price_table_responses(d));
	canfs_price_table_close(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_slow_back_end_is_expensive, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_known_of_it_is_shown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(quick_operations_cost_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_back_end_that_hangs_is_expensive, set_up, tear_down),
		cmocka_unit_test_setup_teardown(commits_are_others_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			it_runs_where_no_disk_is_watched, set_up, tear_down),
		cmocka_unit_test_setup_teardown(exports_on_one_device_share_it, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
