// SPDX-License-Identifier: LGPL-3.0-or-later
/* Which of the held data is sent early, and which is not: what the kernel sends, and what is rewritten. */
#include "tests/unit/act_scene.h"
#include "tests/unit/fake_writer.h"

#include <time.h>

#include "client-agent/actuators/flush.h"

/* The helper has then served so many requests. */
static void ask_for(struct scene *scene, uint64_t chunk_bytes, uint64_t requests)
{
	struct canfs_accelerate_status status;

	canfs_act_accelerate(&scene->actors, &scene->bidder, &scene->host, chunk_bytes);
	assert_int_equal(asked_to_send(scene, mount_a.bdi), requests);
	do {
		nanosleep(&(struct timespec) { .tv_nsec = 1000000 }, NULL);
		canfs_accelerate_status(scene->actors.accelerator, mount_a.bdi, &status);
	} while (status.requests < requests);
}

static void ask_to_send(struct scene *scene, uint64_t requests)
{
	ask_for(scene, MIB, requests);
}

static uint64_t sent(const struct scene *scene)
{
	struct canfs_accelerate_status status;

	canfs_accelerate_status(scene->actors.accelerator, mount_a.bdi, &status);
	return status.asked_bytes;
}

/* While the kernel's flushers are at it we would only compete with them; a flushing point that is ours they may never reach. */
static void test_what_the_kernel_sends_is_left_to_it(void **state)
{
	struct scene *scene = *state;

	fake_writer_mounts(&scene->root, "36 1 0:41 / /mnt/a rw - nfs srv:/a rw,vers=3\n");
	fake_writer(&scene->root, mount_a.id);
	scene->host.guarded = true; /* sends all there is */
	scene->host.flushing_bytes = 80 * MIB;
	scene->bidder.held.backlog_bytes = scene->host.meminfo.dirty_bytes = 81 * MIB;
	ask_to_send(scene, 1);
	assert_int_equal(sent(scene), 0);
	scene->host.now_usec += 100000;
	ask_to_send(scene, 1);
	scene->host.meminfo.dirty_bytes = 80 * MIB;
	ask_to_send(scene, 2);
	if (!canfs_flush_exact())
		assert_int_equal(sent(scene), MIB);
}

static void test_past_a_raised_flushing_point_both_send(void **state)
{
	struct scene *scene = *state;

	raise_flushing_point(scene);
	scene->host.flushing_bytes = 80 * MIB;
	scene->bidder.held.backlog_bytes = scene->host.meminfo.dirty_bytes = 81 * MIB;
	canfs_act_accelerate(&scene->actors, &scene->bidder, &scene->host, MIB);
	assert_int_equal(asked_to_send(scene, mount_a.bdi), 1);
}

static enum canfs_stake stake(const struct scene *scene)
{
	return canfs_act_stake(&scene->bidder);
}

static void test_a_log_has_a_small_stake_until_it_is_worth_a_commit(void **state)
{
	struct scene *scene = *state;

	scene->bidder.held.backlog_bytes = CANFS_BACKLOG_SMALL_BYTES - 1;
	assert_int_equal(stake(scene), CANFS_STAKE_NONE);
	scene->bidder.held.backlog_bytes = CANFS_BACKLOG_SMALL_BYTES;
	assert_int_equal(stake(scene), CANFS_STAKE_LARGE);
	scene->bidder.pace.gathering = true;
	assert_int_equal(stake(scene), CANFS_STAKE_SMALL);
	scene->bidder.seen.fill.value = CANFS_PACE_WORTH_BYTES;
	assert_int_equal(stake(scene), CANFS_STAKE_LARGE);
	scene->bidder.seen.fill.value = 0;
	scene->bidder.held.backlog_bytes = CANFS_PACE_WORTH_BYTES;
	assert_int_equal(stake(scene), CANFS_STAKE_LARGE);
	scene->bidder.terms.mode = CANFS_OBSERVE;
	assert_int_equal(stake(scene), CANFS_STAKE_SMALL);
}

/* Nothing of it is sent early. Looking at it ten times a second would cost its writer time. */
static void test_a_file_that_is_rewritten_is_looked_at_seldom(void **state)
{
	struct scene *scene = *state;

	fake_writer_mounts(&scene->root, "36 1 0:41 / /mnt/a rw - nfs srv:/a rw,vers=3\n");
	fake_writer(&scene->root, mount_a.id);
	scene->bidder.held.backlog_bytes = 20 * MIB;
	scene->bidder.write.verdict = CANFS_ACCELERATE;
	assert_false(canfs_act_rests(&scene->actors, &scene->bidder, scene->host.now_usec));
	ask_to_send(scene, 1);
	scene->host.now_usec += 100000;
	ask_to_send(scene, 2);
	assert_true(canfs_act_rests(&scene->actors, &scene->bidder, scene->host.now_usec));
	scene->host.now_usec += 100000;
	ask_to_send(scene, 2);
	scene->host.now_usec += 400000;
	ask_to_send(scene, 3);
	scene->host.guarded = true;
	scene->host.now_usec += 100000;
	ask_to_send(scene, 4);
}

/* Until the server is cheap again it may have stopped growing. */
static void test_what_grows_while_it_is_deferred_is_known_to_grow(void **state)
{
	struct scene *scene = *state;
	struct canfs_accelerate_status status;
	char file[PATH_MAX];

	fake_writer_mounts(&scene->root, "36 1 0:41 / /mnt/a rw - nfs srv:/a rw,vers=3\n");
	fake_writer(&scene->root, mount_a.id);
	fake_root_full(&scene->root, "/file", file);
	scene->bidder.held.backlog_bytes = 20 * MIB;
	scene->bidder.write.verdict = CANFS_DEFER;
	ask_for(scene, 0, 1);
	assert_int_equal(truncate(file, 16 * MIB), 0);
	scene->host.now_usec += 100000;
	ask_for(scene, 0, 1);
	scene->host.now_usec += 400000;
	ask_for(scene, 0, 2);
	assert_int_equal(sent(scene), 0);
	canfs_accelerate_status(scene->actors.accelerator, mount_a.bdi, &status);
	assert_true(status.grows);
	assert_false(status.rewrites);
	scene->bidder.write.verdict = CANFS_ACCELERATE;
	scene->host.now_usec += MINUTE;
	ask_to_send(scene, 3);
	if (!canfs_flush_exact())
		assert_int_equal(sent(scene), MIB);
}

/* Memory that is written again does not fill up. */
static void test_what_is_rewritten_fills_no_memory(void **state)
{
	struct scene *scene = *state;

	fake_writer_mounts(&scene->root, "36 1 0:41 / /mnt/a rw - nfs srv:/a rw,vers=3\n");
	fake_writer(&scene->root, mount_a.id);
	scene->bidder.held.backlog_bytes = 20 * MIB;
	scene->bidder.write.verdict = CANFS_ACCELERATE;
	scene->host.coming_bytes = scene->host.bound_bytes;
	ask_to_send(scene, 1);
	ask_to_send(scene, 2);
	scene->host.now_usec += 100000;
	ask_to_send(scene, 2);
	scene->bidder.act.grown_usec = scene->host.now_usec;
	ask_to_send(scene, 3);
}

/* A burst of the kernel's own makes the server expensive for a second. */
static void test_a_moment_of_high_prices_holds_nothing_that_is_rewritten(void **state)
{
	struct scene *scene = *state;

	fake_writer_mounts(&scene->root, "36 1 0:41 / /mnt/a rw - nfs srv:/a rw,vers=3\n");
	fake_writer(&scene->root, mount_a.id);
	scene->overwrites = true;
	scene->bidder.held.backlog_bytes = 20 * MIB;
	scene->bidder.write.verdict = CANFS_ACCELERATE;
	ask_to_send(scene, 1);
	scene->host.now_usec += 500000;
	ask_to_send(scene, 2);
	scene->bidder.write.verdict = CANFS_DEFER;
	scene->host.now_usec += 1000000;
	defer(scene);
	assert_false(canfs_defer_active(scene->actors.defer));
	scene->host.now_usec += 1000000;
	defer(scene);
	assert_true(canfs_defer_active(scene->actors.defer));
}

/* It may grow. */
static void test_what_is_not_known_is_held_at_once(void **state)
{
	struct scene *scene = *state;

	scene->overwrites = true;
	scene->bidder.held.backlog_bytes = 20 * MIB;
	canfs_act_accelerate(&scene->actors, &scene->bidder, &scene->host, 0);
	scene->bidder.write.verdict = CANFS_DEFER;
	scene->host.now_usec += 100000;
	defer(scene);
	assert_true(canfs_defer_active(scene->actors.defer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ACT_TEST(test_what_the_kernel_sends_is_left_to_it),
		ACT_TEST(test_past_a_raised_flushing_point_both_send),
		ACT_TEST(test_a_log_has_a_small_stake_until_it_is_worth_a_commit),
		ACT_TEST(test_a_file_that_is_rewritten_is_looked_at_seldom),
		ACT_TEST(test_what_grows_while_it_is_deferred_is_known_to_grow),
		ACT_TEST(test_what_is_rewritten_fills_no_memory),
		ACT_TEST(test_a_moment_of_high_prices_holds_nothing_that_is_rewritten),
		ACT_TEST(test_what_is_not_known_is_held_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
