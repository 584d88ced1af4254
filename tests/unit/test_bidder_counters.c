// SPDX-License-Identifier: LGPL-3.0-or-later
/* What a bidder makes of counters: how much is held, for how long and by whom, and what was read. */
#include "tests/unit/bidder_scene.h"

/* A tick at which the counters are not read. */
static void step_uncounted(struct scene *scene, uint64_t dirty_mib, uint64_t writeback_mib)
{
	scene->host.now_usec += TICK_USEC;
	scene->host.meminfo.dirty_bytes = dirty_mib * MIB;
	scene->host.meminfo.writeback_bytes = writeback_mib * MIB;
	canfs_bidder_observe(&scene->bidder, NULL, &scene->host.meminfo, scene->host.now_usec);
}

/* The server is expensive for ever: before the kernel's 30 s are over what is held begins to leave. */
static void test_old_data_leaves(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(steps(scene, 50, 100, &high), 0);
	assert_true(steps(scene, 200, 100, &high) > 0);
	/* Once it has been clean, the clock starts anew. A part of a batch may still be owed. */
	step(scene, 0, &high);
	assert_true(steps(scene, 50, 100, &high) <= CANFS_PACE_WORTH_BYTES);
}

/* A writer of 5 MiB/s whose data is sent as it comes, for so long. */
static void write_and_send(struct scene *scene, unsigned int seconds, const struct canfs_tag *tag)
{
	for (unsigned int i = 0; i < 10 * seconds; i++) {
		scene->stats.server_write_bytes += MIB / 2;
		step(scene, 0, tag);
	}
}

/* To the kernel a file is as old as its first dirty page, whatever was sent since: a writer that goes on is never clean. */
static void test_a_writer_that_goes_on_grows_old(void **state)
{
	struct scene *scene = *state;

	write_and_send(scene, 25, &high);
	assert_true(steps(scene, 20, 40, &high) > 0);
	/* Then the kernel's flusher has been there, however much is held. */
	steps(scene, 90, 40, &high);
	assert_int_equal(steps(scene, 20, 40, &high), 0);
}

/* Half a MiB waits for more to come, unless it is what is left when the writer stops. */
static void test_the_rest_leaves_when_the_writer_stops(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 50; i++)
		step_bytes(scene, MIB / 2, &cheap);
	assert_false(canfs_bidder_holds(&scene->bidder));
	steps(scene, 20, 20, &cheap);
	scene->stats.server_write_bytes += 20 * MIB - MIB / 2;
	step_bytes(scene, MIB / 2, &cheap);
	for (int i = 0; canfs_bidder_fills(&scene->bidder); i++) {
		assert_false(canfs_bidder_holds(&scene->bidder));
		assert_true(i < 100);
		step_bytes(scene, MIB / 2, &cheap);
	}
	assert_true(canfs_bidder_holds(&scene->bidder));
	assert_true(step_bytes(scene, MIB / 2, &cheap) > 0);
	step_bytes(scene, 0, &cheap);
	assert_false(canfs_bidder_holds(&scene->bidder));
}

/* The counters are not read at each tick: what is dirty is, and what is on its way. */
static void test_what_was_counted_holds_until_it_is_counted_again(void **state)
{
	struct scene *scene = *state;
	struct canfs_bidder *bidder = &scene->bidder;
	double fill;

	step_uncounted(scene, 0, 0);
	assert_false(canfs_bidder_holds(bidder)); /* nothing was ever counted */
	step(scene, 0, NULL);
	scene->stats.write.ops++;
	step(scene, 100, NULL);
	fill = bidder->seen.fill.value;
	step_uncounted(scene, 60, 30);
	assert_int_equal(bidder->held.backlog_bytes, 90 * MIB);
	assert_true(bidder->seen.fill.value == fill); /* not: nothing was written */
}

/* 40 of 100 MiB leave between two looks, and are subtracted once. */
static void test_what_was_sent_between_two_samples_counts_once(void **state)
{
	struct scene *scene = *state;

	step(scene, 0, NULL);
	step(scene, 100, NULL);
	step_uncounted(scene, 60, 0);
	assert_int_equal(scene->bidder.held.backlog_bytes, 60 * MIB);
	scene->stats.server_write_bytes += 40 * MIB;
	step(scene, 60, NULL);
	assert_int_equal(scene->bidder.held.backlog.unsent_bytes, 60 * MIB);
}

/* Another mount's sending, between two looks, makes an idle one hold nothing. */
static void test_an_idle_mount_sends_nothing_between_two_samples(void **state)
{
	struct scene *scene = *state;

	step(scene, 0, NULL);
	step(scene, 0, NULL);
	step_uncounted(scene, 60, 60);
	assert_false(canfs_bidder_holds(&scene->bidder));
}

/* Somebody else's write-back, a local disk's or another mount's, is not held here. */
static void test_foreign_writeback_is_not_ours(void **state)
{
	struct scene *scene = *state;

	step(scene, 0, NULL);
	scene->host.now_usec += 60000000;
	scene->host.meminfo.writeback_bytes = 50 * MIB;
	step(scene, 0, NULL);
	assert_false(canfs_bidder_holds(&scene->bidder));
	scene->stats.server_write_bytes += 20 * MIB;
	step(scene, 0, NULL);
	assert_int_equal(scene->bidder.held.backlog_bytes, 20 * MIB);
}

/* Nor does it keep what is held here from a server that is idle. */
static void test_foreign_writeback_closes_no_window(void **state)
{
	struct scene *scene = *state;

	step(scene, 0, &cheap);
	scene->host.meminfo.writeback_bytes = 500 * MIB;
	assert_true(steps(scene, 20, 300, &cheap) > 16 * MIB);
}

/* Its file was removed, or others' dirty pages were taken for its own: some time after nothing is held. */
static void test_a_mount_on_which_nothing_moves_holds_nothing(void **state)
{
	struct scene *scene = *state;

	step(scene, 0, &high);
	step(scene, 20, &high);
	assert_true(canfs_bidder_holds(&scene->bidder));
	scene->host.now_usec += 50 * 1000000ull;
	step(scene, 20, &high);
	assert_false(canfs_bidder_holds(&scene->bidder));
}

/* What was read before we looked is nobody's use of the page cache now. */
static void test_reads_count_from_the_first_sample(void **state)
{
	struct scene *scene = *state;

	scene->stats.normal_read_bytes = 9000000 * MIB;
	scene->stats.server_read_bytes = 1000000 * MIB;
	scene->stats.direct_read_bytes = 1000 * MIB;
	step_bytes(scene, 0, NULL);
	assert_int_equal(scene->bidder.seen.cache_read_bytes, 0);
	assert_int_equal(scene->bidder.seen.cache_fetched_bytes, 0);
	scene->stats.normal_read_bytes += 30 * MIB;
	scene->stats.server_read_bytes += 15 * MIB;
	scene->stats.direct_read_bytes += 5 * MIB;
	step_bytes(scene, 0, NULL);
	assert_int_equal(scene->bidder.seen.cache_read_bytes, 30 * MIB);
	assert_int_equal(scene->bidder.seen.cache_fetched_bytes, 10 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scene_test(test_reads_count_from_the_first_sample),
		scene_test(test_old_data_leaves),
		scene_test(test_a_writer_that_goes_on_grows_old),
		scene_test(test_the_rest_leaves_when_the_writer_stops),
		scene_test(test_what_was_counted_holds_until_it_is_counted_again),
		scene_test(test_what_was_sent_between_two_samples_counts_once),
		scene_test(test_an_idle_mount_sends_nothing_between_two_samples),
		scene_test(test_foreign_writeback_is_not_ours),
		scene_test(test_foreign_writeback_closes_no_window),
		scene_test(test_a_mount_on_which_nothing_moves_holds_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
