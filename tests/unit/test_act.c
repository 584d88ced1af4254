// SPDX-License-Identifier: LGPL-3.0-or-later
/* What follows the auctions, on a made-up kernel: above all that every knob is put back. */
#include "tests/unit/act_scene.h"

static void act_readahead(struct scene *scene)
{
	canfs_act_readahead(&scene->actors, &scene->bidder, scene->host.now_usec);
}

static void raise_readahead(struct scene *scene)
{
	scene->bidder.readahead.verdict = CANFS_ACCELERATE;
	act_readahead(scene);
	assert_int_equal(fake_root_number(&scene->root, RA_A), 256);
	scene->host.now_usec += MINUTE;
	scene->bidder.seen.reading_usec = scene->host.now_usec;
}

static void test_readahead_is_back_without_a_price(void **state)
{
	struct scene *scene = *state;

	raise_readahead(scene);
	canfs_auction_reset(&scene->bidder.readahead);
	act_readahead(scene);
	assert_int_equal(fake_root_number(&scene->root, RA_A), 128);
	assert_int_equal(canfs_journal_count(scene->actors.journal), 0);
}

static void test_readahead_is_back_when_switched_off(void **state)
{
	struct scene *scene = *state;

	raise_readahead(scene);
	scene->bidder.terms.readahead = false;
	act_readahead(scene);
	assert_int_equal(fake_root_number(&scene->root, RA_A), 128);
}

static void test_readahead_of_a_mount_that_goes_is_back(void **state)
{
	struct scene *scene = *state;

	raise_readahead(scene);
	assert_int_equal(canfs_act_let_go(&scene->actors, &scene->bidder), 0);
	assert_int_equal(fake_root_number(&scene->root, RA_A), 128);
}

static void test_readahead_of_someone_else_stays_theirs(void **state)
{
	struct scene *scene = *state;

	raise_readahead(scene);
	fake_root_write(&scene->root, RA_A, "1000\n");
	act_readahead(scene); /* yields */
	canfs_auction_reset(&scene->bidder.readahead);
	scene->host.now_usec += MINUTE;
	act_readahead(scene);
	scene->host.now_usec += MINUTE;
	scene->bidder.seen.reading_usec = scene->host.now_usec;
	scene->bidder.readahead.verdict = CANFS_ACCELERATE;
	act_readahead(scene);
	assert_int_equal(fake_root_number(&scene->root, RA_A), 1000);
}

static void test_flushing_point_is_back_without_a_price(void **state)
{
	struct scene *scene = *state;

	raise_flushing_point(scene);
	canfs_auction_reset(&scene->bidder.write);
	defer(scene);
	assert_flushing_point_is_back(scene);
}

static void test_flushing_point_is_back_when_switched_off(void **state)
{
	struct scene *scene = *state;

	raise_flushing_point(scene);
	scene->bidder.terms.writeback = false;
	defer(scene);
	assert_flushing_point_is_back(scene);
}

static void test_flushing_point_is_back_when_someone_takes_a_limit(void **state)
{
	struct scene *scene = *state;

	raise_flushing_point(scene);
	fake_root_write(&scene->root, DIRTY_BYTES, "123456789\n");
	defer_later(scene);
	assert_false(canfs_defer_available(scene->actors.defer));
	defer(scene);
	canfs_tuner_forget_yielded(scene->actors.tuner);
	assert_flushing_point_is_back(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 123456789);
}

static void test_raised_flushing_point_follows_memory_slowly(void **state)
{
	struct scene *scene = *state;
	uint64_t raised;

	raise_flushing_point(scene);
	raised = fake_root_number(&scene->root, BACKGROUND_BYTES);
	scene->host.bound_bytes *= 2;
	defer(scene);
	assert_int_equal(fake_root_number(&scene->root, BACKGROUND_BYTES), raised);
	defer_later(scene);
	assert_true(fake_root_number(&scene->root, BACKGROUND_BYTES) > raised);
}

/* What someone else has made of min_ratio is theirs after a release, too. */
static void test_share_of_someone_else_stays_theirs(void **state)
{
	struct scene *scene = *state;

	raise_flushing_point(scene);
	fake_root_write(&scene->root, SHARE_A, "7\n");
	defer_later(scene); /* yields */
	canfs_auction_reset(&scene->bidder.write);
	defer(scene);
	assert_false(canfs_defer_active(scene->actors.defer));
	scene->bidder.write.verdict = CANFS_DEFER;
	defer_later(scene);
	assert_true(canfs_defer_active(scene->actors.defer));
	assert_int_equal(fake_root_number(&scene->root, SHARE_A), 7);
}

static void test_flushing_point_is_back_when_only_to_be_observed(void **state)
{
	struct scene *scene = *state;

	raise_flushing_point(scene);
	scene->bidder.terms.mode = CANFS_OBSERVE;
	defer(scene);
	assert_flushing_point_is_back(scene);
}

static void hold_on_both(struct scene *scene, struct canfs_bidder *bidders[2])
{
	fake_bdi(&scene->root, BDI_B);
	for (size_t i = 0; i < 2; i++) {
		bidders[i]->write.verdict = CANFS_DEFER;
		bidders[i]->held.backlog_bytes = 100 * MIB;
	}
	canfs_act_defer(&scene->actors, bidders, 2, &scene->host);
	assert_int_equal(fake_root_number(&scene->root, SHARE_A), 45);
	assert_int_equal(fake_root_number(&scene->root, BDI_B "/min_ratio"), 45);
	fake_kernel_settle(&scene->root);
}

static void ticks(struct scene *scene, struct canfs_bidder *bidders[2], int n)
{
	while (n-- > 0) {
		scene->host.now_usec += 100000;
		canfs_act_defer(&scene->actors, bidders, 2, &scene->host);
	}
}

/* A mount without a price is drained before it loses its share, or the kernel would send all at once. */
static void test_mount_that_leaves_is_drained_first(void **state)
{
	struct scene *scene = *state;
	struct canfs_bidder other = { .mount = mount_b, .terms = scene->config.terms };
	struct canfs_bidder *bidders[] = { &scene->bidder, &other };

	hold_on_both(scene, bidders);
	canfs_auction_reset(&scene->bidder.write);
	ticks(scene, bidders, 20);
	assert_int_equal(fake_root_number(&scene->root, SHARE_A), 45);
	assert_true(asked_to_send(scene, mount_a.bdi) > 0);
	assert_int_equal(asked_to_send(scene, mount_b.bdi), 0);
	scene->bidder.held.backlog_bytes = 0;
	ticks(scene, bidders, 30);
	assert_int_equal(fake_root_number(&scene->root, SHARE_A), 0);
	assert_int_equal(fake_root_number(&scene->root, BDI_B "/min_ratio"), 90);
}

/* A dead server takes nothing, and others are not to wait for it. */
static void test_mount_that_cannot_be_drained_leaves(void **state)
{
	struct scene *scene = *state;
	struct canfs_bidder other = { .mount = mount_b, .terms = scene->config.terms };
	struct canfs_bidder *bidders[] = { &scene->bidder, &other };

	hold_on_both(scene, bidders);
	scene->bidder.terms.mode = CANFS_OBSERVE;
	ticks(scene, bidders, 299);
	assert_int_equal(fake_root_number(&scene->root, SHARE_A), 45);
	ticks(scene, bidders, 30);
	assert_int_equal(fake_root_number(&scene->root, SHARE_A), 0);
	assert_int_equal(fake_root_number(&scene->root, BDI_B "/min_ratio"), 90);
}

static void test_observed_mount_is_left_alone(void **state)
{
	struct scene *scene = *state;
	struct canfs_bidder other = { .mount = mount_b, .terms = scene->config.terms };
	struct canfs_bidder *bidders[] = { &scene->bidder, &other };

	fake_bdi(&scene->root, BDI_B);
	other.terms.mode = CANFS_OBSERVE;
	other.write.verdict = scene->bidder.write.verdict = CANFS_DEFER;
	other.held.backlog_bytes = scene->bidder.held.backlog_bytes = 2 * MIB;
	canfs_act_defer(&scene->actors, bidders, 2, &scene->host);
	assert_int_equal(fake_root_number(&scene->root, SHARE_A), 90);
	assert_int_equal(fake_root_number(&scene->root, BDI_B "/min_ratio"), 0);
	other.readahead.verdict = CANFS_ACCELERATE;
	other.seen.stats.age_sec = 100;
	other.seen.reading_usec = scene->host.now_usec;
	canfs_act_readahead(&scene->actors, &other, scene->host.now_usec);
	assert_int_equal(fake_root_number(&scene->root, BDI_B "/read_ahead_kb"), 128);
}

/* An administrator's value beyond the bounds is not dragged into them against the verdict. */
static void test_readahead_moves_only_where_the_verdict_goes(void **state)
{
	static const struct {
		enum canfs_verdict verdict;
		const char *from;
		uint64_t to;
	} moves[] = {
		{ CANFS_DEFER, "16", 16 },
		{ CANFS_DEFER, "64", 64 },
		{ CANFS_DEFER, "100", 64 },
		{ CANFS_DEFER, "1500", 748 },
		{ CANFS_DEFER, "15000", 1024 },
		{ CANFS_DEFER, "99999999999", 1024 },
		{ CANFS_ACCELERATE, "16", 64 },
		{ CANFS_ACCELERATE, "700", 1024 },
		{ CANFS_ACCELERATE, "15000", 15000 },
		{ CANFS_ACCELERATE, "99999999999", 99999999999 },
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		fake_root_write(&scene->root, RA_A, moves[i].from);
		scene->bidder.readahead.verdict = moves[i].verdict;
		act_readahead(scene);
		assert_int_equal(fake_root_number(&scene->root, RA_A), moves[i].to);
		assert_int_equal(canfs_act_let_go(&scene->actors, &scene->bidder), 0);
		assert_int_equal(
			fake_root_number(&scene->root, RA_A), strtoull(moves[i].from, NULL, 10));
		scene->host.now_usec += MINUTE;
		scene->bidder.seen.reading_usec = scene->host.now_usec;
	}
}

/* More than the link needs is for servers that are idle, and then not without end. */
static void test_readahead_is_enough_for_the_link(void **state)
{
	static const struct {
		enum canfs_verdict beyond;
		uint32_t round_trip_usec;
		uint64_t from, to;
	} moves[] = {
		{ CANFS_DEFER, 200, 128, 128 },
		{ CANFS_DEFER, 200, 64, 128 },
		{ CANFS_DEFER, 200, 1024, 512 },
		{ CANFS_DEFER, 200, 200, 128 },
		{ CANFS_DEFER, 2000, 256, 488 }, /* 125 MB/s for 2 ms, twice */
		{ CANFS_DEFER, 2000, 488, 488 },
		{ CANFS_DEFER, 5000, 1024, 1024 },
		{ CANFS_DEFER, 0, 512, 1024 },
		{ CANFS_ACCELERATE, 200, 256, 512 },
		{ CANFS_ACCELERATE, 200, 512, 512 },
		{ CANFS_ACCELERATE, 5000, 512, 1024 },
		{ CANFS_HOLD, 200, 1024, 1024 },
	};
	struct scene *scene = *state;
	char from[24];

	scene->bidder.readahead.verdict = CANFS_ACCELERATE;
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		snprintf(from, sizeof(from), "%llu", (unsigned long long)moves[i].from);
		fake_root_write(&scene->root, RA_A, from);
		scene->bidder.beyond.verdict = moves[i].beyond;
		scene->bidder.seen.round_trip_usec = moves[i].round_trip_usec;
		act_readahead(scene);
		assert_int_equal(fake_root_number(&scene->root, RA_A), moves[i].to);
		assert_int_equal(canfs_act_let_go(&scene->actors, &scene->bidder), 0);
		scene->host.now_usec += MINUTE;
		scene->bidder.seen.reading_usec = scene->host.now_usec;
	}
}

/* A container: the knobs can be read, but not written. Nothing is raised, and that is said once. */
static void test_knobs_that_cannot_be_written(void **state)
{
	static const char *const paths[] = { DIRTY_BYTES, BACKGROUND_BYTES, SHARE_A, RA_A };
	struct scene *scene = *state;
	char full[PATH_MAX];
	uid_t uid = geteuid();

	assert_int_equal(chmod(scene->root.path, 0755), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		fake_root_full(&scene->root, paths[i], full);
		assert_int_equal(chmod(full, 0444), 0);
	}
	if (uid == 0)
		assert_int_equal(seteuid(65534), 0);
	scene->bidder.write.verdict = CANFS_DEFER;
	scene->bidder.held.backlog_bytes = 2 * MIB;
	scene->bidder.readahead.verdict = CANFS_ACCELERATE;
	for (int minute = 0; minute < 3; minute++) {
		scene->bidder.seen.reading_usec = scene->host.now_usec += MINUTE;
		defer(scene);
		act_readahead(scene);
	}
	assert_int_equal(seteuid(uid), 0);
	assert_false(canfs_defer_available(scene->actors.defer));
	assert_true(scene->actors.warned.defer && scene->actors.warned.readahead);
	assert_int_equal(fake_root_number(&scene->root, RA_A), 128);
	assert_int_equal(fake_root_number(&scene->root, SHARE_A), 0);
	assert_int_equal(canfs_journal_count(scene->actors.journal), 0);
}

static void test_flushing_point_that_fails_rests(void **state)
{
	struct scene *scene = *state;

	fake_root_write(&scene->root, DIRTY_BYTES, "no number\n");
	scene->bidder.write.verdict = CANFS_DEFER;
	scene->bidder.held.backlog_bytes = 2 * MIB;
	defer(scene);
	fake_root_write(&scene->root, DIRTY_BYTES, "0\n");
	scene->host.now_usec += 100000;
	defer(scene);
	assert_false(canfs_defer_active(scene->actors.defer));
	scene->host.now_usec += MINUTE;
	raise_flushing_point(scene);
}

/* Whatever the agent may turn: a new knob is not to be forgotten. */
static void test_every_knob_is_put_back(void **state)
{
	struct scene *scene = *state;

	for (enum canfs_knob knob = 0; knob < CANFS_KNOBS; knob++) {
		const struct canfs_knob_info *info = canfs_knob_info(knob);
		struct canfs_bdi bdi = info->per_bdi ? mount_a.bdi : whole_system;
		uint64_t before, now;

		assert_int_equal(canfs_knob_read(scene->root.path, knob, bdi, &before), 0);
		assert_int_equal(canfs_knob_set(scene->actors.tuner, knob,
					 info->per_bdi ? &mount_a : NULL, info->lowest + 1, NULL),
			0);
		fake_kernel_settle(&scene->root);
		assert_int_equal(canfs_act_restore_all(&scene->actors), 0);
		fake_kernel_settle(&scene->root);
		assert_int_equal(canfs_knob_read(scene->root.path, knob, bdi, &now), 0);
		assert_true(now == before);
		assert_int_equal(canfs_journal_count(scene->actors.journal), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ACT_TEST(test_readahead_is_back_without_a_price),
		ACT_TEST(test_readahead_is_back_when_switched_off),
		ACT_TEST(test_readahead_of_a_mount_that_goes_is_back),
		ACT_TEST(test_readahead_of_someone_else_stays_theirs),
		ACT_TEST(test_flushing_point_is_back_without_a_price),
		ACT_TEST(test_flushing_point_is_back_when_switched_off),
		ACT_TEST(test_flushing_point_is_back_when_someone_takes_a_limit),
		ACT_TEST(test_raised_flushing_point_follows_memory_slowly),
		ACT_TEST(test_share_of_someone_else_stays_theirs),
		ACT_TEST(test_flushing_point_is_back_when_only_to_be_observed),
		ACT_TEST(test_mount_that_leaves_is_drained_first),
		ACT_TEST(test_mount_that_cannot_be_drained_leaves),
		ACT_TEST(test_observed_mount_is_left_alone),
		ACT_TEST(test_readahead_moves_only_where_the_verdict_goes),
		ACT_TEST(test_readahead_is_enough_for_the_link),
		ACT_TEST(test_knobs_that_cannot_be_written),
		ACT_TEST(test_flushing_point_that_fails_rests),
		ACT_TEST(test_every_knob_is_put_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
