/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What follows where memory is short, or readers need it as page cache. */
#include "tests/unit/act_scene.h"

#include "client-agent/arithmetic.h"
#include "client-agent/cache_worth.h"

/* What others need of memory is not to be filled: neither now nor as soon as they need a little less. */
static void check_lowered_for_others(struct scene *scene, bool guarded, double cache_worth)
{
	raise_flushing_point(scene);
	scene->purse.guarded = guarded;
	scene->purse.cache_worth = cache_worth;
	defer(scene);
	assert_flushing_point_is_back(scene);
	scene->purse.guarded = false;
	scene->purse.cache_worth = 0;
	scene->purse.now_usec += 1000000;
	defer(scene);
	assert_flushing_point_is_back(scene);
	scene->purse.now_usec += MINUTE;
	fake_kernel_settle(&scene->root);
	raise_flushing_point(scene);
}

static void test_short_memory_lowers_the_flushing_point(void **state)
{
	check_lowered_for_others(*state, true, 0);
}

static void test_readers_that_miss_their_cache_lower_the_flushing_point(void **state)
{
	check_lowered_for_others(*state, false, CANFS_CACHE_WORTH_NEEDED);
}

/* The guard lets go before all is drained: what was begun is finished, or the limits stay where they hurt. */
static void test_a_release_is_finished_though_its_reason_is_gone(void **state)
{
	struct scene *scene = *state;

	raise_flushing_point(scene);
	scene->purse.guarded = true;
	scene->purse.meminfo.dirty_bytes = 400 * MIB;
	defer(scene);
	assert_true(canfs_defer_active(scene->actors.defer));
	scene->purse.guarded = false;
	scene->purse.meminfo.dirty_bytes = 0;
	scene->purse.now_usec += 100000;
	defer(scene);
	assert_flushing_point_is_back(scene);
}

/* Dirty pages are no spare memory; once on guard, half as much more must be spare, and for a while. */
static void test_memory_guard(void **state)
{
	struct scene *scene = *state;
	struct canfs_meminfo *meminfo = &scene->purse.meminfo;
	const struct canfs_config *config = &scene->config;
	struct canfs_actors *actors = &scene->actors;

	meminfo->available_bytes = (config->guard_mib + 100) * MIB;
	meminfo->dirty_bytes = 100 * MIB;
	assert_false(canfs_act_guard(actors, config, &scene->purse, false));
	meminfo->dirty_bytes += MIB;
	assert_true(canfs_act_guard(actors, config, &scene->purse, false));
	meminfo->dirty_bytes -= (config->guard_mib / 2) * MIB;
	scene->purse.now_usec += MINUTE;
	assert_true(canfs_act_guard(actors, config, &scene->purse, true));
	meminfo->dirty_bytes -= MIB;
	scene->purse.now_usec += 4900000;
	assert_true(canfs_act_guard(actors, config, &scene->purse, true));
	assert_int_equal(canfs_decisions_count(&actors->decisions), 1);
	scene->purse.now_usec += 100000;
	assert_false(canfs_act_guard(actors, config, &scene->purse, true));
	assert_int_equal(canfs_decisions_count(&actors->decisions), 2);
	assert_string_equal(canfs_decisions_at(&actors->decisions, 0)->to, "at rest");
}

/* Readers use most of the memory: writers wait sooner, until a minute after them. */
static void test_a_crowded_cache_squeezes_writers(void **state)
{
	struct scene *scene = *state;
	struct canfs_purse *purse = &scene->purse;

	scene->bidder.write.verdict = CANFS_ACCELERATE;
	purse->cache_used_bytes = 400 * MIB;
	defer(scene);
	assert_false(canfs_defer_active(scene->actors.defer)); /* nobody writes */
	purse->coming_bytes = 50 * MIB;
	defer(scene);
	assert_false(
		canfs_defer_active(scene->actors.defer)); /* but to a mount that is only observed */
	scene->bidder.fill.value = 50 * MIB;
	defer(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 20 * MIB);
	assert_int_equal(fake_root_number(&scene->root, BACKGROUND_BYTES), 10 * MIB);
	purse->cache_used_bytes = 0;
	purse->now_usec += MINUTE - 1;
	defer(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 20 * MIB);
	defer_later(scene);
	assert_flushing_point_is_back(scene);
}

/* What was held back drains first, in stages, or writers would stop. */
static void test_a_crowded_cache_ends_a_deferral_first(void **state)
{
	struct scene *scene = *state;
	struct canfs_purse *purse = &scene->purse;

	raise_flushing_point(scene);
	purse->meminfo.dirty_bytes = 300 * MIB;
	purse->cache_used_bytes = 400 * MIB;
	scene->bidder.fill.value = 50 * MIB;
	for (int i = 0; i < 1000 && canfs_defer_active(scene->actors.defer); i++) {
		assert_true(
			fake_root_number(&scene->root, DIRTY_BYTES) > purse->meminfo.dirty_bytes);
		purse->meminfo.dirty_bytes -= canfs_smaller(purse->meminfo.dirty_bytes, 3 * MIB);
		purse->now_usec += 100000;
		defer(scene);
	}
	assert_flushing_point_is_back(scene);
	purse->meminfo.dirty_bytes = 0;
	defer_later(scene);
	assert_true(fake_root_number(&scene->root, DIRTY_BYTES) < 100 * MIB);
}

static void squeeze(struct scene *scene)
{
	scene->bidder.write.verdict = CANFS_ACCELERATE;
	scene->bidder.fill.value = 50 * MIB;
	scene->purse.cache_used_bytes = 400 * MIB;
	defer(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 20 * MIB);
}

/* Local writers are not to wait for readers of whom nobody is in the way. */
static void test_a_squeeze_ends_with_the_writers(void **state)
{
	struct scene *scene = *state;

	squeeze(scene);
	scene->bidder.fill.value = 0;
	scene->purse.now_usec += MINUTE - 1;
	defer(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 20 * MIB);
	defer_later(scene);
	assert_flushing_point_is_back(scene);
	defer_later(scene);
	assert_flushing_point_is_back(scene);
}

/* What a dead server does not take stays dirty: nobody else is to wait for that. */
static void test_a_squeeze_is_given_up_where_nothing_drains(void **state)
{
	struct scene *scene = *state;
	struct canfs_purse *purse = &scene->purse;

	scene->bidder.write.verdict = CANFS_ACCELERATE;
	scene->bidder.fill.value = 50 * MIB;
	purse->cache_used_bytes = 400 * MIB;
	purse->meminfo.dirty_bytes = 120 * MIB;
	for (int i = 0; i < 200; i++) {
		defer(scene);
		assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 120 * MIB);
		purse->now_usec += 100000;
	}
	for (int i = 0; i < 600; i++) {
		defer(scene);
		purse->now_usec += 100000;
	}
	assert_flushing_point_is_back(scene);
	purse->meminfo.dirty_bytes = 0;
	for (int i = 0; i < 600; i++) {
		fake_kernel_settle(&scene->root);
		purse->now_usec += 100000;
		defer(scene);
	}
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 20 * MIB);
}

/* When memory is short as well, that is no time for more dirty pages. */
static void test_a_squeeze_outlasts_the_guard(void **state)
{
	struct scene *scene = *state;

	squeeze(scene);
	scene->purse.guarded = true;
	for (int i = 0; i < 5; i++) {
		defer_later(scene);
		assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 20 * MIB);
	}
	scene->bidder.terms.mode = CANFS_OBSERVE;
	defer_later(scene);
	assert_flushing_point_is_back(scene);
}

/* A miss may be a local file's; and who has the squeeze switched off does without. */
static void test_no_squeeze_without_readers_of_ours_or_if_off(void **state)
{
	struct scene *scene = *state;
	struct canfs_purse *purse = &scene->purse;

	scene->bidder.write.verdict = CANFS_ACCELERATE;
	scene->bidder.fill.value = 50 * MIB;
	purse->coming_bytes = 50 * MIB;
	purse->cache_worth = 1;
	defer(scene);
	assert_false(canfs_defer_active(scene->actors.defer));
	purse->cache_used_bytes = 400 * MIB;
	purse->squeezes = false;
	defer_later(scene);
	assert_false(canfs_defer_active(scene->actors.defer));
	purse->squeezes = true;
	defer_later(scene);
	assert_true(canfs_defer_active(scene->actors.defer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ACT_TEST(test_no_squeeze_without_readers_of_ours_or_if_off),
		ACT_TEST(test_short_memory_lowers_the_flushing_point),
		ACT_TEST(test_readers_that_miss_their_cache_lower_the_flushing_point),
		ACT_TEST(test_a_release_is_finished_though_its_reason_is_gone),
		ACT_TEST(test_memory_guard),
		ACT_TEST(test_a_crowded_cache_squeezes_writers),
		ACT_TEST(test_a_crowded_cache_ends_a_deferral_first),
		ACT_TEST(test_a_squeeze_ends_with_the_writers),
		ACT_TEST(test_a_squeeze_is_given_up_where_nothing_drains),
		ACT_TEST(test_a_squeeze_outlasts_the_guard),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
