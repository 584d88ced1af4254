// SPDX-License-Identifier: LGPL-3.0-or-later
/* One BDI in the auction: from counters and prices to a verdict and bytes to send. */
#include "tests/unit/bidder_scene.h"

#include <errno.h>
#include <string.h>

static void test_a_mount_without_an_address_is_refused(void **state)
{
	struct scene *scene = *state;
	struct canfs_mount mount = { .export_path = "/", .version = 3 };
	struct canfs_bidder bidder;

	assert_int_equal(canfs_bidder_init(&bidder, &mount, &scene->config, 1), -EDESTADDRREQ);
}

/* Where a question goes, as it says when it fails: nothing answers by a deadline that is over. */
static void test_the_way_to_ask_is_that_of_the_mount(void **state)
{
	static const struct {
		int version;
		bool tcp;
		uint16_t port;
		const char *says;
	} cases[] = {
		{ 3, true, 0, "rpcbind at 0.0.0.1 port 111:" },
		{ 3, true, 7, "rpcbind at 0.0.0.1 port 111:" }, /* for MOUNT */
		{ 4, true, 0, "NFS at 0.0.0.1 port 2049:" },
		{ 4, true, 7, "NFS at 0.0.0.1 port 7:" },
		{ 4, false, 20049, "NFS at 0.0.0.1 port 2049:" }, /* proto=rdma: not a TCP port */
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct canfs_mount mount = {
			.mountpoint = "/nowhere",
			.export_path = "/",
			.version = cases[i].version,
			.tcp = cases[i].tcp,
			.port = cases[i].port,
		};
		struct sockaddr_in address = { .sin_family = AF_INET };
		struct canfs_bidder bidder;
		struct canfs_space space;

		address.sin_addr.s_addr = htonl(1);
		memcpy(&mount.address, &address, sizeof(address));
		assert_int_equal(canfs_bidder_init(&bidder, &mount, &scene->config, 1), 0);
		if (!canfs_fsstat_start(bidder.poller.fsstat, 0))
			assert_true(canfs_fsstat_step(bidder.poller.fsstat, 1, &space) < 0);
		assert_ptr_equal(strstr(canfs_fsstat_error(bidder.poller.fsstat), cases[i].says),
			canfs_fsstat_error(bidder.poller.fsstat));
		canfs_bidder_fini(&bidder);
	}
}

static void test_no_price_means_the_kernels_defaults(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(steps(scene, 20, 600, NULL), 0);
	assert_int_equal(scene->bidder.write.verdict, CANFS_HOLD);
}

static void test_holds_while_the_server_is_expensive_and_sends_when_cheap(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(steps(scene, 20, 300, &high), 0);
	assert_int_equal(scene->bidder.write.verdict, CANFS_DEFER);
	assert_true(canfs_bidder_holds(&scene->bidder));
	/* But for the step that the verdict came with, and at most one dwell before it. */
	assert_in_range(scene->bidder.deferred_usec, 10 * TICK_USEC, 19 * TICK_USEC);
	assert_true(steps(scene, 20, 300, &cheap) > 16 * MIB);
	assert_int_equal(scene->bidder.write.verdict, CANFS_ACCELERATE);
	assert_in_range(scene->bidder.deferred_usec, 10 * TICK_USEC, 30 * TICK_USEC);
	/* Back to a high price: it stops. */
	steps(scene, 3, 250, &high);
	assert_int_equal(steps(scene, 20, 250, &high), 0);
}

static void test_idle_server_gets_the_data_at_once(void **state)
{
	struct scene *scene = *state;

	steps(scene, 5, 10, &cheap);
	assert_int_equal(scene->bidder.write.verdict, CANFS_ACCELERATE); /* Pmin > 0 */
}

static void test_a_full_client_sends_even_to_an_overloaded_server(void **state)
{
	struct scene *scene = *state;
	const struct canfs_tag full = { .write = 1.0, .bottleneck = CANFS_DISK };

	steps(scene, 20, 300, &full);
	assert_int_equal(scene->bidder.write.verdict, CANFS_DEFER);
	assert_true(steps(scene, 10, 700, &full) > 0);
	assert_int_equal(scene->bidder.write.verdict, CANFS_ACCELERATE); /* Pmax + epsilon */
}

static void test_low_priority_halves_the_bid(void **state)
{
	struct scene *scene = *state;
	const struct canfs_tag tag = { .write = 0.5, .bottleneck = CANFS_DISK };
	double normal;

	steps(scene, 5, 680, &tag);
	normal = scene->bidder.own_write;
	assert_true(normal > tag.write);
	assert_int_equal(scene->bidder.write.verdict, CANFS_ACCELERATE);
	scene->host.low_priority_bytes = 680 * MIB;
	steps(scene, 5, 680, &tag);
	assert_float_equal(scene->bidder.own_write, normal / 2, 1e-9);
	assert_int_equal(scene->bidder.write.verdict, CANFS_DEFER);
	/* Others' data is not to wait behind it for memory. */
	scene->host.low_priority_bytes = 600 * MIB;
	steps(scene, 5, 680, &tag);
	assert_float_equal(scene->bidder.own_write, normal, 1e-9);
	assert_int_equal(scene->bidder.write.verdict, CANFS_ACCELERATE);
}

static void test_low_priority_stays_within_floor_and_ceiling(void **state)
{
	struct scene *scene = *state;
	const struct canfs_tag full = { .write = 1.0, .bottleneck = CANFS_DISK };

	scene->host.low_priority_bytes = 700 * MIB;
	assert_true(steps(scene, 10, 700, &cheap) > 0);
	assert_true(scene->bidder.own_write >= canfs_auction_defaults.price_min);
	steps(scene, 10, 700, &full); /* its writers wait */
	assert_int_equal(scene->bidder.write.verdict, CANFS_DEFER);
	scene->host.low_priority_bytes = 0;
	steps(scene, 10, 700, &full);
	assert_int_equal(scene->bidder.write.verdict, CANFS_ACCELERATE);
}

/* Idle for seconds, the server cheap when last asked: the first data waits for a fresh price. */
static void test_an_old_price_sends_nothing(void **state)
{
	struct scene *scene = *state;

	steps(scene, 100, 0, &cheap);
	scene->host.now_usec += 5000000;
	scene->stats.normal_write_bytes += 40 * MIB;
	scene->host.meminfo.dirty_bytes = 40 * MIB;
	canfs_bidder_observe(
		&scene->bidder, &scene->stats, &scene->host.meminfo, scene->host.now_usec);
	assert_true(canfs_bidder_holds(&scene->bidder));
	assert_int_equal(canfs_bidder_bid(&scene->bidder, &cheap, &scene->host), 0);
	/* And an idle time does not earn a flood. */
	assert_in_range(step(scene, 40, &cheap), 0, 1 * MIB);
}

/* The writer outruns whatever the client may hold: its first bid is at the ceiling. */
static void test_what_is_coming_counts(void **state)
{
	struct scene *scene = *state;

	step(scene, 0, &high);
	for (uint64_t held = 1; held < 10; held++) {
		step(scene, held * 100, &high); /* 1000 MiB/s into 700 MiB */
		scene->host.coming_bytes = (uint64_t)scene->bidder.seen.fill.value;
	}
	scene->host.backlog_bytes = 0;
	canfs_bidder_bid(&scene->bidder, &high, &scene->host);
	assert_int_equal(scene->bidder.write.verdict, CANFS_ACCELERATE);
}

/* A writer of 300 MiB/s with 200 MiB of room left: stock would not stop it, nor may we. */
static void test_a_nearly_full_client_sends_what_is_written(void **state)
{
	struct scene *scene = *state;
	const struct canfs_tag full = { .write = 1.0 };
	uint64_t sent = 0;

	step(scene, 0, &full);
	for (uint64_t held = 1; held <= 20; held++) {
		sent = step(scene, held * 30, &full);
		scene->host.coming_bytes = (uint64_t)scene->bidder.seen.fill.value;
	}
	assert_in_range(sent, 20 * MIB, 32 * MIB);
}

static void test_short_memory_overrules_any_price(void **state)
{
	struct scene *scene = *state;

	steps(scene, 20, 300, &high);
	scene->host.guarded = true;
	assert_true(steps(scene, 20, 300, &high) > 0);
	assert_true(steps(scene, 20, 300, NULL) > 0);
}

static void test_wasted_readahead_is_worth_less(void **state)
{
	struct scene *scene = *state;
	const struct canfs_tag half = { .readahead = 0.3 };

	step(scene, 0, &half);
	assert_int_equal(scene->bidder.readahead.verdict, CANFS_ACCELERATE);
	for (int i = 0; i < 600; i++) { /* one byte of eight is used */
		scene->stats.normal_read_bytes += 1 * MIB;
		scene->stats.server_read_bytes += 8 * MIB;
		step(scene, 0, &half);
	}
	assert_int_equal(scene->bidder.readahead.verdict, CANFS_DEFER);
}

/* To a server that is busy nothing that the link does not need; to one that is idle, why not? */
static void test_readahead_beyond_the_link_is_worth_less(void **state)
{
	struct scene *scene = *state;
	const struct canfs_tag busy = { .readahead = 0.5 }, idle = { .readahead = 0.1 };

	step(scene, 0, &busy);
	assert_int_equal(scene->bidder.readahead.verdict, CANFS_ACCELERATE);
	assert_int_equal(scene->bidder.beyond.verdict, CANFS_DEFER);
	steps(scene, 5, 0, &idle);
	assert_int_equal(scene->bidder.beyond.verdict, CANFS_ACCELERATE);
	step(scene, 0, NULL);
	assert_int_equal(scene->bidder.beyond.verdict, CANFS_HOLD);
}

static void test_direct_reads_are_no_wasted_readahead(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 600; i++) {
		scene->stats.direct_read_bytes += 8 * MIB;
		scene->stats.server_read_bytes += 8 * MIB;
		step(scene, 0, NULL);
	}
	assert_true(scene->bidder.confidence.average.value > 0.99);
}

/* A client whose readers miss what was pushed out does not keep more dirty pages, however few they are. */
static void test_a_cache_that_is_missed_raises_the_own_price(void **state)
{
	struct scene *scene = *state;
	struct canfs_tag tag = { .write = 0.3, .bottleneck = CANFS_DISK };

	for (int i = 0; i < 5; i++)
		step(scene, 20, &tag);
	assert_int_equal(scene->bidder.write.verdict, CANFS_DEFER);
	scene->host.cache_worth = 0.9;
	for (int i = 0; i < 5; i++)
		step(scene, 20, &tag);
	assert_int_equal(scene->bidder.write.verdict, CANFS_ACCELERATE);
}

/* 700 MiB are the bound. A slow writer's data is held, once it is known to be slow; a fast one's is not. */
static void test_who_fills_the_client_in_a_moment_is_not_held(void **state)
{
	static const struct {
		unsigned int ticks, mib_per_tick;
		bool worth;
		bool blocked; /* for a second after that */
		double price;
	} rows[] = { { 4, 4, false, false, 0.96 }, { 7, 4, true, false, 0.96 },
		{ 7, 4, true, true, 0.96 }, { 7, 50, false, false, 0.96 },
		{ 7, 50, false, true, 0.96 }, { 7, 50, false, false, 0 },
		/* Full in four seconds: only if it may leave meanwhile. */
		{ 7, 15, false, false, 0.96 }, { 7, 15, true, false, 0 } };
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct canfs_tag tag = { .write = rows[i].price, .bottleneck = CANFS_DISK };

		teardown(state);
		setup(state);
		step(scene, 0, &tag);
		scene->host.now_usec += 900000; /* an idle client looks once a second */
		for (unsigned int tick = 1; tick <= rows[i].ticks; tick++)
			step(scene, tick * rows[i].mib_per_tick, &tag);
		if (rows[i].blocked)
			steps(scene, 10, rows[i].ticks * rows[i].mib_per_tick, &tag);
		assert_int_equal(
			canfs_bidder_is_worth_holding(&scene->bidder, &scene->host), rows[i].worth);
	}
}

/* 700 MiB are the bound. Who writes more than that in eight seconds to a server that was busy before gives way. */
static void test_a_fast_writer_gives_way(void **state)
{
	static const struct {
		const struct canfs_tag *before;
		unsigned int mib_per_tick;
		bool gives_way;
	} rows[] = { { &commits, 50, true }, { &high, 50, false }, { &cheap, 50, false },
		{ &commits, 4, false } };
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		teardown(state);
		setup(state);
		step(scene, 0, NULL);
		step(scene, 2, rows[i].before);
		for (unsigned int tick = 1; tick <= 7; tick++)
			step(scene, tick * rows[i].mib_per_tick, &high);
		assert_int_equal(scene->bidder.give_way.active, rows[i].gives_way);
		steps(scene, 50, 0, &high);
		assert_false(scene->bidder.give_way.active);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scene_test(test_a_fast_writer_gives_way),
		scene_test(test_a_mount_without_an_address_is_refused),
		scene_test(test_the_way_to_ask_is_that_of_the_mount),
		scene_test(test_no_price_means_the_kernels_defaults),
		scene_test(test_holds_while_the_server_is_expensive_and_sends_when_cheap),
		scene_test(test_idle_server_gets_the_data_at_once),
		scene_test(test_a_full_client_sends_even_to_an_overloaded_server),
		scene_test(test_low_priority_halves_the_bid),
		scene_test(test_low_priority_stays_within_floor_and_ceiling),
		scene_test(test_an_old_price_sends_nothing),
		scene_test(test_what_is_coming_counts),
		scene_test(test_a_nearly_full_client_sends_what_is_written),
		scene_test(test_short_memory_overrules_any_price),
		scene_test(test_wasted_readahead_is_worth_less),
		scene_test(test_readahead_beyond_the_link_is_worth_less),
		scene_test(test_direct_reads_are_no_wasted_readahead),
		scene_test(test_a_cache_that_is_missed_raises_the_own_price),
		scene_test(test_who_fills_the_client_in_a_moment_is_not_held),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
