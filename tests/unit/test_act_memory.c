// SPDX-License-Identifier: LGPL-3.0-or-later
/* What follows where memory is short, or readers need it as page cache. */
#include "tests/unit/act_scene.h"

#include "client-agent/auction/arithmetic.h"
#include "client-agent/auction/cache_worth.h"

/* What others need of memory is not to be filled: neither now nor as soon as they need a little less. */
static void check_lowered_for_others(struct scene *scene, bool guarded, double cache_worth)
{
	raise_flushing_point(scene);
	scene->host.guarded = guarded;
	scene->host.cache_worth = cache_worth;
	defer(scene);
	assert_flushing_point_is_back(scene);
	scene->host.guarded = false;
	scene->host.cache_worth = 0;
	scene->host.now_usec += 1000000;
	defer(scene);
	assert_flushing_point_is_back(scene);
	scene->host.now_usec += MINUTE;
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
	scene->host.guarded = true;
	scene->host.meminfo.dirty_bytes = 400 * MIB;
	defer(scene);
	assert_true(canfs_defer_active(scene->actors.defer));
	scene->host.guarded = false;
	scene->host.meminfo.dirty_bytes = 0;
	scene->host.now_usec += 100000;
	defer(scene);
	assert_flushing_point_is_back(scene);
}

/* Dirty pages are no spare memory; once on guard, half as much more must be spare, and for a while. */
static void test_memory_guard(void **state)
{
	struct scene *scene = *state;
	struct canfs_meminfo *meminfo = &scene->host.meminfo;
	struct canfs_actors *actors = &scene->actors;

	meminfo->available_bytes = CANFS_ACT_GUARD_BYTES + 100 * MIB;
	meminfo->dirty_bytes = 100 * MIB;
	assert_false(canfs_act_guard(actors, &scene->host, false));
	meminfo->dirty_bytes += MIB;
	assert_true(canfs_act_guard(actors, &scene->host, false));
	meminfo->dirty_bytes -= CANFS_ACT_GUARD_BYTES / 2;
	scene->host.now_usec += MINUTE;
	assert_true(canfs_act_guard(actors, &scene->host, true));
	meminfo->dirty_bytes -= MIB;
	scene->host.now_usec += 4900000;
	assert_true(canfs_act_guard(actors, &scene->host, true));
	assert_int_equal(canfs_decisions_count(&actors->decisions), 1);
	scene->host.now_usec += 100000;
	assert_false(canfs_act_guard(actors, &scene->host, true));
	assert_int_equal(canfs_decisions_count(&actors->decisions), 2);
	assert_string_equal(canfs_decisions_at(&actors->decisions, 0)->to, "inactive");
}

/* Readers use most of the memory: writers wait sooner, until a minute after them. */
static void test_a_crowded_cache_squeezes_writers(void **state)
{
	struct scene *scene = *state;
	struct canfs_host_state *host = &scene->host;

	scene->bidder.write.verdict = CANFS_ACCELERATE;
	host->cache_used_bytes = 400 * MIB;
	defer(scene);
	assert_false(canfs_defer_active(scene->actors.defer)); /* nobody writes */
	host->coming_bytes = 50 * MIB;
	defer(scene);
	assert_false(
		canfs_defer_active(scene->actors.defer)); /* but to a mount that is only observed */
	scene->bidder.seen.fill.value = 50 * MIB;
	defer(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 20 * MIB);
	assert_int_equal(fake_root_number(&scene->root, BACKGROUND_BYTES), 10 * MIB);
	host->cache_used_bytes = 0;
	host->now_usec += MINUTE - 1;
	defer(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 20 * MIB);
	defer_later(scene);
	assert_flushing_point_is_back(scene);
}

/* What was held back drains first, in stages, or writers would stop. */
static void test_a_crowded_cache_ends_a_deferral_first(void **state)
{
	struct scene *scene = *state;
	struct canfs_host_state *host = &scene->host;

	raise_flushing_point(scene);
	host->meminfo.dirty_bytes = 300 * MIB;
	host->cache_used_bytes = 400 * MIB;
	scene->bidder.seen.fill.value = 50 * MIB;
	for (int i = 0; i < 1000 && canfs_defer_active(scene->actors.defer); i++) {
		assert_true(
			fake_root_number(&scene->root, DIRTY_BYTES) > host->meminfo.dirty_bytes);
		host->meminfo.dirty_bytes -= canfs_smaller(host->meminfo.dirty_bytes, 3 * MIB);
		host->now_usec += 100000;
		defer(scene);
	}
	assert_flushing_point_is_back(scene);
	host->meminfo.dirty_bytes = 0;
	defer_later(scene);
	assert_true(fake_root_number(&scene->root, DIRTY_BYTES) < 100 * MIB);
}

/* Others' commits wait for the server: what this client writes waits here, if nobody else's writes would have to. */
static void test_who_gives_way_is_squeezed(void **state)
{
	struct scene *scene = *state;
	struct canfs_host_state *host = &scene->host;

	scene->bidder.write.verdict = CANFS_DEFER;
	scene->bidder.give_way.active = true;
	host->meminfo.dirty_bytes = 72 * MIB;
	host->backlog_bytes = 40 * MIB;
	defer(scene);
	assert_false(canfs_defer_active(scene->actors.defer));
	host->backlog_bytes++;
	defer_later(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 72 * MIB);
	host->meminfo.dirty_bytes = 32 * MIB;
	host->backlog_bytes = 0;
	defer_later(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 32 * MIB);
	scene->bidder.give_way.active = false;
	defer_later(scene);
	assert_flushing_point_is_back(scene);
}

/* What was held while its writer was slow drains first. */
static void test_giving_way_ends_a_deferral_first(void **state)
{
	struct scene *scene = *state;

	raise_flushing_point(scene);
	scene->bidder.give_way.active = true;
	defer_later(scene);
	assert_flushing_point_is_back(scene);
	defer_later(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 32 * MIB);
}

/* However large the client is: what matters is what the server has to write. */
static void test_a_large_client_is_squeezed_as_much(void **state)
{
	struct scene *scene = *state;

	scene->bidder.write.verdict = CANFS_DEFER;
	scene->bidder.give_way.active = true;
	scene->host.meminfo.available_bytes = 100000 * MIB;
	defer(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 32 * MIB);
}

static void squeeze(struct scene *scene)
{
	scene->bidder.write.verdict = CANFS_ACCELERATE;
	scene->bidder.seen.fill.value = 50 * MIB;
	scene->host.cache_used_bytes = 400 * MIB;
	defer(scene);
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 20 * MIB);
}

/* It takes no more of the page cache; squeezed it would be sent again and again. */
static void test_no_squeeze_of_what_is_overwritten(void **state)
{
	struct scene *scene = *state;

	scene->overwrites = true;
	scene->bidder.write.verdict = CANFS_ACCELERATE;
	scene->bidder.seen.fill.value = 50 * MIB;
	scene->host.cache_used_bytes = 400 * MIB;
	defer(scene);
	assert_false(canfs_defer_active(scene->actors.defer));
	scene->overwrites = false;
	squeeze(scene);
}

/* Local writers are not to wait for readers that are in nobody's way. */
static void test_a_squeeze_ends_with_the_writers(void **state)
{
	struct scene *scene = *state;

	squeeze(scene);
	scene->bidder.seen.fill.value = 0;
	scene->host.now_usec += MINUTE - 1;
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
	struct canfs_host_state *host = &scene->host;

	scene->bidder.write.verdict = CANFS_ACCELERATE;
	scene->bidder.seen.fill.value = 50 * MIB;
	host->cache_used_bytes = 400 * MIB;
	host->meminfo.dirty_bytes = 120 * MIB;
	for (int i = 0; i < 200; i++) {
		defer(scene);
		assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 120 * MIB);
		host->now_usec += 100000;
	}
	for (int i = 0; i < 600; i++) {
		defer(scene);
		host->now_usec += 100000;
	}
	assert_flushing_point_is_back(scene);
	host->meminfo.dirty_bytes = 0;
	for (int i = 0; i < 600; i++) {
		fake_kernel_settle(&scene->root);
		host->now_usec += 100000;
		defer(scene);
	}
	assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 20 * MIB);
}

/* When memory is short as well, that is no time for more dirty pages. */
static void test_a_squeeze_outlasts_the_guard(void **state)
{
	struct scene *scene = *state;

	squeeze(scene);
	scene->host.guarded = true;
	for (int i = 0; i < 5; i++) {
		defer_later(scene);
		assert_int_equal(fake_root_number(&scene->root, DIRTY_BYTES), 20 * MIB);
	}
	scene->bidder.terms.mode = CANFS_OBSERVE;
	defer_later(scene);
	assert_flushing_point_is_back(scene);
}

/* A miss may be a local file's. */
static void test_no_squeeze_without_readers_of_ours(void **state)
{
	struct scene *scene = *state;
	struct canfs_host_state *host = &scene->host;

	scene->bidder.write.verdict = CANFS_ACCELERATE;
	scene->bidder.seen.fill.value = 50 * MIB;
	host->coming_bytes = 50 * MIB;
	host->cache_worth = 1;
	defer(scene);
	assert_false(canfs_defer_active(scene->actors.defer));
	host->cache_used_bytes = 400 * MIB;
	defer_later(scene);
	assert_true(canfs_defer_active(scene->actors.defer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ACT_TEST(test_no_squeeze_without_readers_of_ours),
		ACT_TEST(test_short_memory_lowers_the_flushing_point),
		ACT_TEST(test_readers_that_miss_their_cache_lower_the_flushing_point),
		ACT_TEST(test_a_release_is_finished_though_its_reason_is_gone),
		ACT_TEST(test_memory_guard),
		ACT_TEST(test_a_crowded_cache_squeezes_writers),
		ACT_TEST(test_who_gives_way_is_squeezed),
		ACT_TEST(test_giving_way_ends_a_deferral_first),
		ACT_TEST(test_a_large_client_is_squeezed_as_much),
		ACT_TEST(test_a_crowded_cache_ends_a_deferral_first),
		ACT_TEST(test_no_squeeze_of_what_is_overwritten),
		ACT_TEST(test_a_squeeze_ends_with_the_writers),
		ACT_TEST(test_a_squeeze_is_given_up_where_nothing_drains),
		ACT_TEST(test_a_squeeze_outlasts_the_guard),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
