// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Servers that lie: prices that are always 0 or always 1, that flip or jump, tags that come and go. The
 * chain from price to knob runs on a made-up kernel and a made-up writer and reader, in made-up time:
 *
 *	price -> poller -> bidder -> act -> knobs -> kernel flushes beyond the background --.
 *	                   ^                                                             |
 *	                   `---------- dirty bytes <-- writer: 20 MB/s, 6 s of 10 -------'
 *
 * Whatever they say: every knob stays within its bounds, no more is held than may be, few knobs are
 * turned, and all is as it was some time after the last tag.
 */
#include "tests/unit/fake_kernel.h"

#include "client-agent/actuators/act.h"

#define MIB             (UINT64_C(1) << 20)
#define SEC             UINT64_C(1000000)
#define TICK_USEC       (SEC / 5)
#define HOSTILE_SEC     80
#define CHANGES_PER_MIN 120
#define AFTERWARDS_SEC                                                                             \
	110 /* canfs_config_lost_usec(), the release's drain, a minute for what failed */
#define TOTAL_BYTES    (2000 * MIB)
#define WRITE_PER_TICK (4 * MIB)
#define DRAIN_PER_TICK (10 * MIB)
#define BACKGROUND_MIB 160 /* 10 % of what is available */

struct world {
	struct fake_root root;
	struct canfs_agent_config config;
	struct canfs_actors actors;
	struct canfs_bidder bidder[2];
	struct canfs_mountstats stats;
	uint64_t now_usec;
	uint64_t dirty_bytes;
	uint64_t most_dirty_bytes;
	unsigned int writes; /* of knobs */
	unsigned int seed;
	bool guarded;
};

/* What a server says at a time: a price (both operations), NO_TAG, or nothing at all. */
#define NO_TAG  -1.0
#define NOTHING -2.0

static double always_cheap(struct world *world, uint64_t sec)
{
	(void)world;
	(void)sec;
	return 0;
}

static double always_expensive(struct world *world, uint64_t sec)
{
	(void)world;
	(void)sec;
	return 1;
}

static double flips_every_second(struct world *world, uint64_t sec)
{
	(void)world;
	return (double)(sec % 2);
}

static double flips_every_time(struct world *world, uint64_t sec)
{
	(void)sec;
	return world->now_usec / TICK_USEC % 2 ? 1 : 0;
}

static double jumps(struct world *world, uint64_t sec)
{
	(void)sec;
	return (double)(rand_r(&world->seed) % 256) / 255;
}

static double tags_come_and_go(struct world *world, uint64_t sec)
{
	(void)world;
	return sec % 8 < 4 ? (double)(sec % 3) / 2 : NO_TAG;
}

static double tags_flicker(struct world *world, uint64_t sec)
{
	return rand_r(&world->seed) % 4 ? (double)(sec % 2) : NO_TAG;
}

/* Speaks up just before its price is given up, each time with the opposite. */
static double speaks_rarely(struct world *world, uint64_t sec)
{
	(void)world;
	return sec % 29 < 1 ? (double)(sec / 29 % 2) : NOTHING;
}

static double says_nothing(struct world *world, uint64_t sec)
{
	(void)world;
	(void)sec;
	return NOTHING;
}

static double tags_nothing(struct world *world, uint64_t sec)
{
	(void)world;
	(void)sec;
	return NO_TAG;
}

/* As canfs_poller_tick() takes an answer. */
static void answer(struct world *world, struct canfs_bidder *bidder, double price)
{
	struct canfs_poller *poller = &bidder->poller;
	struct canfs_space space = { UINT64_C(1) << 40, UINT64_C(1) << 39, UINT64_C(1) << 39 };

	if (price == NOTHING)
		return;
	poller->answers++;
	poller->tag =
		(struct canfs_tag) { .write = price, .readahead = price, .bottleneck = CANFS_DISK };
	assert_int_equal(canfs_tag_encode(&space, &poller->tag), 0);
	canfs_publisher_note(&poller->publisher, price >= 0 ? &space : NULL);
	if (price < 0)
		return;
	poller->tag_usec = world->now_usec;
}

static uint64_t background_bytes(const struct world *world)
{
	uint64_t bytes = fake_root_number(&world->root, BACKGROUND_BYTES);

	return bytes ? bytes : BACKGROUND_MIB * MIB;
}

/* The application writes and reads a lot; the kernel flushes what is beyond the background. */
static void applications_run(struct world *world)
{
	struct canfs_mountstats *stats = &world->stats;

	stats->age_sec = 100;
	stats->found = true;
	if (world->now_usec / SEC % 10 < 6) {
		stats->normal_write_bytes += WRITE_PER_TICK;
		world->dirty_bytes += WRITE_PER_TICK;
	}
	stats->normal_read_bytes += MIB;
	stats->server_read_bytes += MIB;
	stats->read.ops++;
	if (world->dirty_bytes > background_bytes(world)) {
		world->dirty_bytes -= DRAIN_PER_TICK;
		stats->server_write_bytes += DRAIN_PER_TICK;
		stats->write.ops++;
	}
	if (world->dirty_bytes > world->most_dirty_bytes)
		world->most_dirty_bytes = world->dirty_bytes;
}

static void send_bytes(struct world *world, uint64_t bytes)
{
	if (bytes > DRAIN_PER_TICK)
		bytes = DRAIN_PER_TICK;
	if (bytes > world->dirty_bytes)
		bytes = world->dirty_bytes;
	world->dirty_bytes -= bytes;
	world->stats.server_write_bytes += bytes;
	world->stats.write.ops += bytes != 0;
}

/* The same steps as loop.c's, but for the questions. */
static void agent_ticks(struct world *world, double price)
{
	struct canfs_bidder *bidders[] = { &world->bidder[0], &world->bidder[1] };
	struct canfs_host_state host = { .now_usec = world->now_usec,
		.meminfo = { .total_bytes = TOTAL_BYTES,
			.available_bytes = 10 * BACKGROUND_MIB * MIB,
			.dirty_bytes = world->dirty_bytes } };
	uint64_t chunk;

	canfs_tuner_tick(world->actors.tuner, CHANGES_PER_MIN, world->now_usec);
	for (int i = 0; i < 2; i++) {
		answer(world, bidders[i], price);
		canfs_bidder_observe(bidders[i], &world->stats, &host.meminfo, world->now_usec);
	}
	host.backlog_bytes = bidders[0]->held.backlog_bytes;
	host.coming_bytes = (uint64_t)bidders[0]->seen.fill.value;
	host.bound_bytes = TOTAL_BYTES / 100 * world->config.hold_pct + 1;
	for (int i = 0; i < 2; i++) {
		const struct canfs_tag *tag =
			canfs_poller_price(&bidders[i]->poller, world->now_usec);

		chunk = canfs_bidder_bid(bidders[i], tag, &host);
		canfs_act_accelerate(&world->actors, bidders[i], &host, chunk);
		canfs_act_readahead(&world->actors, bidders[i], world->now_usec);
		if (i == 0)
			send_bytes(world, chunk);
	}
	canfs_act_defer(&world->actors, bidders, 2, &host);
}

static void assert_within_bounds(const struct world *world)
{
	uint64_t bound = TOTAL_BYTES / 100 * world->config.hold_pct + 1;
	uint64_t limit = fake_root_number(&world->root, DIRTY_BYTES);
	uint64_t background = fake_root_number(&world->root, BACKGROUND_BYTES);
	uint64_t shares = fake_root_number(&world->root, BDI_A "/min_ratio") +
			  fake_root_number(&world->root, BDI_B "/min_ratio");

	if (limit)
		assert_in_range(limit, 20 * 16 * MIB,
			canfs_defer_background_bytes(bound) / 100 * 115 + 2 * MIB);
	if (background)
		assert_in_range(background, 4 * MIB, canfs_defer_background_bytes(bound) + 2 * MIB);
	assert_in_range(shares, 0, CANFS_DEFER_SHARE_PCT);
	assert_in_range(fake_root_number(&world->root, BDI_A "/read_ahead_kb"), 100, 6000);
	assert_in_range(fake_root_number(&world->root, BDI_B "/read_ahead_kb"), 100, 6000);
}

/* What may be held, and what is written until the kernel begins to flush. */
static uint64_t most_bytes(const struct world *world)
{
	uint64_t bound = TOTAL_BYTES / 100 * world->config.hold_pct + 1;

	return canfs_defer_background_bytes(bound) + 2 * DRAIN_PER_TICK;
}

static void assert_all_is_as_it_was(const struct world *world)
{
	assert_int_equal(fake_root_number(&world->root, DIRTY_BYTES), 0);
	assert_int_equal(fake_root_number(&world->root, DIRTY_RATIO), 20);
	assert_int_equal(fake_root_number(&world->root, BACKGROUND_BYTES), 0);
	assert_int_equal(fake_root_number(&world->root, BACKGROUND_RATIO), 10);
	assert_int_equal(fake_root_number(&world->root, BDI_A "/min_ratio"), 0);
	assert_int_equal(fake_root_number(&world->root, BDI_B "/min_ratio"), 0);
	assert_int_equal(fake_root_number(&world->root, BDI_A "/read_ahead_kb"), 128);
	assert_int_equal(fake_root_number(&world->root, BDI_B "/read_ahead_kb"), 128);
	assert_int_equal(canfs_journal_count(world->actors.journal), 0);
}

static void run(struct world *world, double (*price)(struct world *, uint64_t), uint64_t sec)
{
	uint64_t start = world->now_usec;

	for (; world->now_usec < start + sec * SEC; world->now_usec += TICK_USEC) {
		applications_run(world);
		agent_ticks(world, price(world, world->now_usec / SEC));
		unsigned int writes = fake_kernel_settle(&world->root);

		world->writes += writes;
		if (writes)
			assert_within_bounds(world);
		assert_true(world->dirty_bytes <= most_bytes(world));
	}
}

static struct world *new_world(void)
{
	struct world *world = calloc(1, sizeof(*world));
	const struct canfs_mount *const mounts[] = { &mount_a, &mount_b };
	char error[256];

	assert_non_null(world);
	fake_root_make(&world->root);
	fake_root_write(&world->root, DIRTY_BYTES, "0");
	fake_root_write(&world->root, DIRTY_RATIO, "20");
	fake_root_write(&world->root, BACKGROUND_BYTES, "0");
	fake_root_write(&world->root, BACKGROUND_RATIO, "10");
	fake_bdi(&world->root, BDI_A);
	fake_bdi(&world->root, BDI_B);
	fake_kernel_settle(&world->root);
	canfs_config_defaults(&world->config);
	canfs_config_set_mode(&world->config, CANFS_ENFORCE);
	strcpy(world->config.state_dir, "/state");
	assert_int_equal(canfs_actors_open(&world->actors, &world->config, world->root.path, error,
				 sizeof(error)),
		0);
	for (int i = 0; i < 2; i++) {
		struct canfs_mount mount = *mounts[i];

		mount.version = 3;
		strcpy(mount.export_path, "/");
		mount.address.ss_family = AF_INET;
		assert_int_equal(
			canfs_bidder_init(&world->bidder[i], &mount, &world->config, 1), 0);
	}
	world->now_usec = 1000 * SEC;
	world->seed = 1;
	return world;
}

static void free_world(struct world *world)
{
	canfs_bidder_fini(&world->bidder[0]);
	canfs_bidder_fini(&world->bidder[1]);
	canfs_actors_close(&world->actors);
	fake_root_remove(&world->root);
	free(world);
}

static void test_hostile_prices(void **state)
{
	static const struct {
		const char *name;
		double (*price)(struct world *world, uint64_t sec);
		bool acts; /* or it would show nothing */
	} servers[] = {
		{ "always cheap", always_cheap, true },
		{ "always expensive", always_expensive, true },
		{ "flips every second", flips_every_second, true },
		{ "flips every time", flips_every_time, true },
		{ "jumps", jumps, true },
		{ "tags come and go", tags_come_and_go, true },
		{ "tags flicker", tags_flicker, false }, /* may never be believed */
		{ "speaks rarely", speaks_rarely, true },
		{ "says nothing", says_nothing, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		struct world *world = new_world();
		unsigned int allowed = CHANGES_PER_MIN * (1 + (HOSTILE_SEC + AFTERWARDS_SEC) / 60);

		run(world, servers[i].price, HOSTILE_SEC);
		print_message("%s: %u knobs written, at most %llu MiB dirty\n", servers[i].name,
			world->writes, (unsigned long long)(world->most_dirty_bytes / MIB));
		if (servers[i].acts)
			assert_true(world->writes > 0);
		run(world, i % 2 ? tags_nothing : says_nothing, AFTERWARDS_SEC);
		assert_all_is_as_it_was(world);
		/* Each change may be undone, in steps while a release drains. */
		assert_in_range(world->writes, 0, 2 * allowed);
		free_world(world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_prices),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
