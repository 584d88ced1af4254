// SPDX-License-Identifier: LGPL-3.0-or-later
/* How much of streams passes while another read waits for the disk, and in which order the rest follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ganesha-fsal/read/prefetch/throttle.h"

#define READS      16u
#define READ_BYTES UINT64_C(1000)
#define LAG        (2 * READ_BYTES)

struct scene {
	struct canfs_throttle throttle;
	struct canfs_job job[READS];
	unsigned int next;     /* READ to come */
	unsigned int released; /* so many of those that were held, in order */
	unsigned int held;
};

static void set_up(struct scene *scene, unsigned int streams)
{
	struct canfs_held released;

	*scene = (struct scene) { .next = 0 };
	canfs_throttle_init(&scene->throttle, LAG);
	canfs_throttle_tick(&scene->throttle, streams, &released);
	assert_true(STAILQ_EMPTY(&released));
}

/* Does the next READ proceed at once? */
static bool passes(struct scene *scene)
{
	struct canfs_job *job = &scene->job[scene->next++];

	job->bytes = READ_BYTES;
	if (canfs_throttle_passes(&scene->throttle, READ_BYTES))
		return true;
	if (!canfs_throttle_hold(&scene->throttle, job))
		return true;
	scene->held++;
	return false;
}

static unsigned int take(struct scene *scene, struct canfs_held *released)
{
	unsigned int first = scene->next - scene->held, n = 0;
	struct canfs_job *job;

	STAILQ_FOREACH (job, released, next) {
		assert_ptr_equal(job, &scene->job[first + scene->released]);
		scene->released++;
		n++;
	}
	return n;
}

static unsigned int served(struct scene *scene)
{
	struct canfs_held released;

	canfs_throttle_end(&scene->throttle, &released);
	return take(scene, &released);
}

static unsigned int done(struct scene *scene)
{
	struct canfs_held released;

	canfs_throttle_done(&scene->throttle, READ_BYTES, &released);
	return take(scene, &released);
}

static unsigned int tick(struct scene *scene)
{
	struct canfs_held released;

	canfs_throttle_tick(&scene->throttle, 1, &released);
	return take(scene, &released);
}

static void alone_all_passes(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene, 1);
	for (unsigned int i = 0; i < READS; i++)
		assert_true(passes(&scene));
	canfs_throttle_destroy(&scene.throttle);
}

static void each_stream_has_its_part(void **state)
{
	static const struct {
		unsigned int streams, reads;
	} cases[] = { { 0, 2 }, { 1, 2 }, { 3, 6 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene scene;

		set_up(&scene, cases[i].streams);
		canfs_throttle_begin(&scene.throttle);
		for (unsigned int n = 0; n < cases[i].reads; n++)
			assert_true(passes(&scene));
		assert_false(passes(&scene));
		assert_int_equal(served(&scene), 1);
		assert_int_equal(done(&scene), 0);
		canfs_throttle_destroy(&scene.throttle);
	}
}

static void many_streams_have_no_more_than_eight(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene, 100);
	assert_int_equal(canfs_throttle_bound(&scene.throttle), CANFS_THROTTLE_STREAMS * LAG);
	canfs_throttle_destroy(&scene.throttle);
}

/* As two are answered two more follow, also while nobody waits, and new ones come behind. */
static void what_was_held_does_not_flood_the_disk(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene, 1);
	canfs_throttle_begin(&scene.throttle);
	for (unsigned int i = 0; i < 9; i++)
		assert_int_equal(passes(&scene), i < 2);
	assert_int_equal(served(&scene), 2);
	assert_false(passes(&scene)); /* not before the others */
	canfs_throttle_begin(&scene.throttle);
	assert_int_equal(done(&scene), 1);
	assert_int_equal(done(&scene), 1);
	assert_int_equal(done(&scene), 0); /* that was the lag */
	assert_int_equal(served(&scene), 1);
	for (unsigned int left = 3; left > 0; left--)
		assert_int_equal(done(&scene), 1);
	assert_int_equal(done(&scene), 0);
	assert_int_equal(scene.released, scene.held);
	assert_true(passes(&scene));
	canfs_throttle_destroy(&scene.throttle);
}

/* A read that waits for a lock may wait long. */
static void nothing_is_held_for_long(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene, 1);
	canfs_throttle_begin(&scene.throttle);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(passes(&scene), i < 2);
	assert_int_equal(tick(&scene), 0);
	assert_int_equal(tick(&scene), 4);
	assert_true(passes(&scene));
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(done(&scene), 0);
	assert_int_equal(served(&scene), 0);
	canfs_throttle_begin(&scene.throttle);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(passes(&scene), i < 2);
	assert_int_equal(served(&scene), 1);
	assert_int_equal(done(&scene), 0);
	canfs_throttle_destroy(&scene.throttle);
}

/* While READs are released there is no reason to give up. */
static void a_queue_that_moves_is_left_in_order(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene, 1);
	canfs_throttle_begin(&scene.throttle);
	for (unsigned int i = 0; i < READS; i++)
		assert_int_equal(passes(&scene), i < 2);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(served(&scene), i == 0 ? 2 : 0);
		canfs_throttle_begin(&scene.throttle);
		assert_int_equal(done(&scene), 1);
		assert_int_equal(tick(&scene), 0);
	}
	canfs_throttle_destroy(&scene.throttle);
}

/* Two random reads wait. */
static void a_large_read_is_released_too(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene, 1);
	scene.throttle.lag_bytes = READ_BYTES / 2;
	canfs_throttle_begin(&scene.throttle);
	canfs_throttle_begin(&scene.throttle);
	assert_true(passes(&scene)); /* the first one */
	assert_false(passes(&scene));
	assert_int_equal(served(&scene), 1);
	canfs_throttle_destroy(&scene.throttle);
}

/* A client that always has more under way than the bound does not keep its READs held. */
static void holding_ends_with_the_random_reads(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene, 1);
	canfs_throttle_begin(&scene.throttle);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(passes(&scene), i < 2);
	assert_int_equal(served(&scene), 2);
	assert_int_equal(done(&scene), 1);
	assert_int_equal(tick(&scene), 0); /* one came since the last tick */
	assert_false(passes(&scene));
	assert_int_equal(tick(&scene), 4);
	assert_true(passes(&scene));
	canfs_throttle_begin(&scene.throttle); /* protected at once */
	assert_true(passes(&scene));
	assert_true(passes(&scene));
	assert_false(passes(&scene));
	canfs_throttle_destroy(&scene.throttle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone_all_passes),
		cmocka_unit_test(each_stream_has_its_part),
		cmocka_unit_test(many_streams_have_no_more_than_eight),
		cmocka_unit_test(what_was_held_does_not_flood_the_disk),
		cmocka_unit_test(a_large_read_is_released_too),
		cmocka_unit_test(holding_ends_with_the_random_reads),
		cmocka_unit_test(nothing_is_held_for_long),
		cmocka_unit_test(a_queue_that_moves_is_left_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
