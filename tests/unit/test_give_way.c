// SPDX-License-Identifier: LGPL-3.0-or-later
/* Does a fast writer give way to others, and only to them? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "client-agent/auction/give_way.h"

#define MIB       (UINT64_C(1) << 20)
#define TICK_USEC 100000

static const double high = 0.96, low = 0.06;

struct writer {
	struct canfs_give_way give_way;
	struct canfs_give_way_view view;
};

static struct writer a_quiet_one(void)
{
	struct writer writer = { .view = { .now_usec = 1000000,
					 .is_quiet = true,
					 .price = low,
					 .commits_wait = true,
					 .price_usec = 900000 } };

	canfs_give_way_init(&writer.give_way);
	assert_false(canfs_give_way_update(&writer.give_way, &writer.view));
	return writer;
}

/* For a second, at this price. */
static bool writes(struct writer *writer, bool too_fast, double price)
{
	bool gives_way = false;

	writer->view.is_quiet = false;
	writer->view.is_too_fast = too_fast;
	writer->view.price = price;
	for (unsigned int tick = 0; tick < 10; tick++) {
		writer->view.now_usec += TICK_USEC;
		writer->view.price_usec = writer->view.now_usec;
		gives_way = canfs_give_way_update(&writer->give_way, &writer->view);
		writer->view.sent_bytes += 10 * MIB;
	}
	return gives_way;
}

static void test_only_if_the_server_was_busy_before(void **state)
{
	struct writer one = a_quiet_one(), other = a_quiet_one();

	(void)state;
	assert_true(writes(&one, true, high));
	assert_false(writes(&other, true, low));
	assert_false(writes(&other, true, high)); /* its own doing */
}

static void test_readers_need_it_not(void **state)
{
	struct writer writer = a_quiet_one();

	(void)state;
	writer.view.commits_wait = false;
	assert_false(writes(&writer, true, high));
	writer.view.commits_wait = true; /* its own */
	assert_false(writes(&writer, true, high));
}

static void test_what_can_be_held_need_not(void **state)
{
	struct writer writer = a_quiet_one();

	(void)state;
	assert_false(writes(&writer, false, high));
	assert_true(writes(&writer, true, high)); /* it has become faster */
}

/* A price that came when much was sent is of that as well; one from before anybody wrote may be from before the others. */
static void test_a_price_of_another_time_says_nothing(void **state)
{
	struct writer late = a_quiet_one(), early = a_quiet_one();

	(void)state;
	late.view.sent_bytes = CANFS_GIVE_WAY_SENT_BYTES;
	assert_false(writes(&late, true, high));
	early.view.is_quiet = false;
	early.view.is_too_fast = true;
	early.view.price = high;
	early.view.now_usec += TICK_USEC;
	assert_false(canfs_give_way_update(&early.give_way, &early.view));
	assert_false(writes(&early, true, low));
}

/* An agent that starts while somebody writes knows nothing of before. */
static void test_unknown_beginning(void **state)
{
	struct writer writer = { .view = { .now_usec = 1000000 } };

	(void)state;
	canfs_give_way_init(&writer.give_way);
	assert_false(writes(&writer, true, high));
}

static void test_until_the_others_are_gone_or_nobody_writes(void **state)
{
	struct writer writer = a_quiet_one();

	(void)state;
	assert_true(writes(&writer, true, high));
	assert_true(writes(&writer, false, high)); /* made to wait */
	assert_true(writes(&writer, false, low));
	assert_true(writes(&writer, false, high)); /* a lull */
	assert_true(writes(&writer, false, NAN));
	assert_true(writes(&writer, false, low));
	writes(&writer, false, low);
	assert_false(writes(&writer, false, low));
	assert_false(writes(&writer, true, high)); /* its own doing, now that it does not wait */
	writer.view.is_quiet = true;
	assert_false(canfs_give_way_update(&writer.give_way, &writer.view));
	assert_true(writes(&writer, true, high));
	writer.view.is_quiet = true;
	assert_false(canfs_give_way_update(&writer.give_way, &writer.view));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_if_the_server_was_busy_before),
		cmocka_unit_test(test_readers_need_it_not),
		cmocka_unit_test(test_what_can_be_held_need_not),
		cmocka_unit_test(test_a_price_of_another_time_says_nothing),
		cmocka_unit_test(test_unknown_beginning),
		cmocka_unit_test(test_until_the_others_are_gone_or_nobody_writes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
