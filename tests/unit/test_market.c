// SPDX-License-Identifier: LGPL-3.0-or-later
/* The server's market: the most expensive resource prices the operation (CA-NFS §3.2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "pricing/market.h"
#include "pricing/price.h"

static void set(struct canfs_market *market, enum canfs_resource resource, double utilization)
{
	market->utilization[resource] = utilization;
	market->known[resource] = true;
}

/* The example of market.h. */
static struct canfs_market busy_disk(void)
{
	struct canfs_market market;

	canfs_market_init(&market);
	set(&market, CANFS_CPU, 0.10);
	set(&market, CANFS_NETWORK, 0.45);
	set(&market, CANFS_DISK, 0.93);
	set(&market, CANFS_MEMORY, 0.30);
	return market;
}

static void assert_quote(const struct canfs_market *market, enum canfs_operation operation,
	enum canfs_resource bottleneck)
{
	struct canfs_quote quote = canfs_market_quote(market, operation);

	assert_int_equal(quote.bottleneck, bottleneck);
	assert_true(quote.price == canfs_market_price(market, bottleneck));
}

static void test_nothing_known_prices_nothing(void **state)
{
	struct canfs_market market;

	(void)state;
	canfs_market_init(&market);
	for (int i = 0; i < CANFS_OPERATIONS; i++)
		assert_quote(&market, (enum canfs_operation)i, CANFS_NONE);
	assert_true(canfs_market_price(&market, CANFS_DISK) == 0.0);
}

/* §3.2: disks want a smaller k than networks and memory. */
static void test_default_k(void **state)
{
	struct canfs_market market;

	(void)state;
	canfs_market_init(&market);
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		assert_true(market.k[i] >= CANFS_K_MIN && market.k[i] <= CANFS_K_MAX);
		if (i != CANFS_DISK && i != CANFS_BACKEND)
			assert_true(market.k[CANFS_DISK] < market.k[i]);
	}
}

static void test_example_of_the_header(void **state)
{
	struct canfs_market market = busy_disk();

	(void)state;
	assert_true(fabs(canfs_market_price(&market, CANFS_CPU) - 0.01) < 0.005);
	assert_true(fabs(canfs_market_price(&market, CANFS_NETWORK) - 0.09) < 0.005);
	assert_true(fabs(canfs_market_price(&market, CANFS_DISK) - 0.88) < 0.005);
	assert_true(fabs(canfs_market_price(&market, CANFS_MEMORY) - 0.06) < 0.005);
}

static void test_highest_price_wins(void **state)
{
	struct canfs_market market = busy_disk();

	(void)state;
	assert_quote(&market, CANFS_WRITE, CANFS_DISK);
	assert_quote(&market, CANFS_READAHEAD, CANFS_DISK);
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++)
		assert_true(canfs_market_quote(&market, CANFS_WRITE).price >=
			    canfs_market_price(&market, (enum canfs_resource)i));
}

/* It is the price that is compared, not the utilization: 0.6 of a disk is more expensive than 0.7 of a link. */
static void test_bottleneck_is_not_the_highest_utilization(void **state)
{
	struct canfs_market market;

	(void)state;
	canfs_market_init(&market);
	set(&market, CANFS_NETWORK, 0.70);
	set(&market, CANFS_DISK, 0.60);
	assert_quote(&market, CANFS_WRITE, CANFS_DISK);
	set(&market, CANFS_NETWORK, 0.95);
	assert_quote(&market, CANFS_WRITE, CANFS_NETWORK);
}

static void test_each_resource_can_be_the_bottleneck(void **state)
{
	(void)state;
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		struct canfs_market market;

		canfs_market_init(&market);
		for (int j = CANFS_NONE + 1; j < CANFS_RESOURCES; j++)
			set(&market, (enum canfs_resource)j, j == i ? 1.0 : 0.1);
		assert_quote(&market, CANFS_WRITE, (enum canfs_resource)i);
		assert_true(canfs_market_quote(&market, CANFS_WRITE).price == CANFS_PRICE_MAX);
	}
}

/* §2.2: read-aheads are priced by disk and network; the server's dirty memory is not theirs. */
static void test_readahead_does_not_pay_memory(void **state)
{
	struct canfs_market market = busy_disk();

	(void)state;
	set(&market, CANFS_MEMORY, 1.0);
	assert_quote(&market, CANFS_WRITE, CANFS_MEMORY);
	assert_quote(&market, CANFS_READAHEAD, CANFS_DISK);
}

static void test_unknown_resource_is_out_of_the_market(void **state)
{
	struct canfs_market market = busy_disk();

	(void)state;
	market.known[CANFS_DISK] = false;
	assert_quote(&market, CANFS_WRITE, CANFS_NETWORK);
	assert_quote(&market, CANFS_READAHEAD, CANFS_NETWORK);
	assert_true(canfs_market_price(&market, CANFS_DISK) == 0.0);
}

static void test_idle_but_known_has_a_bottleneck(void **state)
{
	struct canfs_market market;

	(void)state;
	canfs_market_init(&market);
	set(&market, CANFS_NETWORK, 0.0);
	set(&market, CANFS_DISK, 0.0);
	assert_quote(&market, CANFS_READAHEAD, CANFS_NETWORK);
	assert_true(canfs_market_quote(&market, CANFS_READAHEAD).price == 0.0);
}

static void test_lost_monitor_is_not_free(void **state)
{
	struct canfs_market market = busy_disk();

	(void)state;
	set(&market, CANFS_NETWORK, NAN);
	assert_quote(&market, CANFS_READAHEAD, CANFS_NETWORK);
	assert_true(canfs_market_price(&market, CANFS_NETWORK) == CANFS_PRICE_MAX);
}

/* §3.2: one Pmax for all, so that the bottleneck stays what it is. */
static void test_pmax_scales_all_prices_alike(void **state)
{
	struct canfs_market market = busy_disk(), full = market;

	(void)state;
	market.pmax = 0.25;
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++)
		assert_true(canfs_market_price(&market, (enum canfs_resource)i) ==
			    canfs_market_price(&full, (enum canfs_resource)i) * 0.25);
	assert_quote(&market, CANFS_WRITE, CANFS_DISK);
	market.pmax = 0;
	assert_true(canfs_market_quote(&market, CANFS_WRITE).price == 0);
	assert_true(canfs_market_quote(&market, CANFS_WRITE).bottleneck != CANFS_NONE);
}

static void test_out_of_range_is_priced_as_nothing(void **state)
{
	struct canfs_market market = busy_disk();

	(void)state;
	market.known[CANFS_NONE] = true;
	market.utilization[CANFS_NONE] = 1.0;
	assert_true(canfs_market_price(&market, CANFS_NONE) == 0.0);
	assert_true(canfs_market_price(&market, CANFS_RESOURCES) == 0.0);
	assert_quote(&market, CANFS_WRITE, CANFS_DISK);
	assert_quote(&market, CANFS_OPERATIONS, CANFS_NONE);
}

/* Who waits for the disk's flushes waits for the disk: its price, under another name. */
static void test_a_disk_that_flushes_is_a_log(void **state)
{
	struct canfs_market market = busy_disk();
	struct canfs_quote log, disk = canfs_market_quote(&market, CANFS_WRITE);

	(void)state;
	market.flushing = CANFS_LOG_FLUSHING - 0.01;
	assert_quote(&market, CANFS_WRITE, CANFS_DISK);
	market.flushing = CANFS_LOG_FLUSHING;
	log = canfs_market_quote(&market, CANFS_WRITE);
	assert_int_equal(log.bottleneck, CANFS_LOG);
	assert_true(log.price == disk.price);
	set(&market, CANFS_NETWORK, 1.0);
	assert_quote(&market, CANFS_WRITE, CANFS_NETWORK);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(canfs_resource_name(CANFS_CPU), "cpu");
	assert_string_equal(canfs_resource_name(CANFS_NETWORK), "network");
	assert_string_equal(canfs_resource_name(CANFS_DISK), "disk");
	assert_string_equal(canfs_resource_name(CANFS_MEMORY), "memory");
	assert_string_equal(canfs_resource_name(CANFS_BACKEND), "backend");
	assert_string_equal(canfs_resource_name(CANFS_PEER), "peer");
	assert_string_equal(canfs_resource_name(CANFS_LOG), "log");
	assert_string_equal(canfs_resource_name(CANFS_NONE), "none");
	assert_string_equal(canfs_resource_name(CANFS_OWN_NETWORK), "own network");
	assert_string_equal(canfs_resource_name(CANFS_OWN_NETWORK + 1), "none");
	assert_string_equal(canfs_operation_name(CANFS_WRITE), "write");
	assert_string_equal(canfs_operation_name(CANFS_READAHEAD), "read-ahead");
	assert_string_equal(canfs_operation_name(CANFS_OPERATIONS), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_known_prices_nothing),
		cmocka_unit_test(test_default_k),
		cmocka_unit_test(test_example_of_the_header),
		cmocka_unit_test(test_highest_price_wins),
		cmocka_unit_test(test_bottleneck_is_not_the_highest_utilization),
		cmocka_unit_test(test_each_resource_can_be_the_bottleneck),
		cmocka_unit_test(test_readahead_does_not_pay_memory),
		cmocka_unit_test(test_unknown_resource_is_out_of_the_market),
		cmocka_unit_test(test_idle_but_known_has_a_bottleneck),
		cmocka_unit_test(test_lost_monitor_is_not_free),
		cmocka_unit_test(test_pmax_scales_all_prices_alike),
		cmocka_unit_test(test_out_of_range_is_priced_as_nothing),
		cmocka_unit_test(test_a_disk_that_flushes_is_a_log),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
