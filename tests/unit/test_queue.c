// SPDX-License-Identifier: LGPL-3.0-or-later
/* A device's queue: which fetch joins which, which goes first, what is refused and cancelled. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/fetches.h"

static struct canfs_queue queue;
static struct canfs_fetch_list finished;

static int setup(void **state)
{
	(void)state;
	finished = (struct canfs_fetch_list) { 0 };
	begin_queue(&queue, "elevator");
	return 0;
}

static void assert_own(const struct canfs_fetch *fetch, uint64_t from, uint64_t to)
{
	assert_int_equal(fetch->from, from);
	assert_int_equal(fetch->to, to);
}

/* Told: these, in this order, and no more. */
static void assert_told(struct canfs_fetch *first, struct canfs_fetch *second)
{
	assert_ptr_equal(finished.first, first);
	if (first)
		assert_ptr_equal(first->next, second);
	if (second)
		assert_null(second->next);
	finished = (struct canfs_fetch_list) { 0 };
}

static void test_demand_joins_prefetch_in_the_kernel(void **state)
{
	struct canfs_fetch ahead = prefetch(1, 0, (uint32_t)MIB),
			   wanted = demand(1, 64 * KIB, 64 * KIB);

	(void)state;
	add(&queue, &ahead);
	assert_ptr_equal(take(&queue), &ahead);
	add(&queue, &wanted);
	assert_int_equal(canfs_fetch_own_bytes(&wanted), 0);
	assert_null(take(&queue)); /* no slot for it */
	assert_int_equal(queue.waiting, 0);
	canfs_queue_finish(&queue, &ahead, 0, &finished);
	assert_told(&ahead, &wanted);
	assert_int_equal(queue.joined, 1);
	end_queue(&queue);
}

static void test_errors_reach_those_who_joined(void **state)
{
	struct canfs_fetch ahead = prefetch(1, 0, (uint32_t)MIB), wanted = demand(1, 0, 4096);

	(void)state;
	add(&queue, &ahead);
	add(&queue, &wanted);
	canfs_queue_finish(&queue, take(&queue), -EIO, &finished);
	assert_int_equal(wanted.error, -EIO);
	assert_told(&ahead, &wanted);
	end_queue(&queue);
}

/* It is done when all have it that it needs: two others, and what is between them. */
static void test_parts_of_a_fetch(void **state)
{
	struct canfs_fetch front = prefetch(1, 0, 256 * KIB),
			   end = prefetch(1, 512 * KIB, (uint32_t)MIB),
			   wanted = demand(1, 128 * KIB, 512 * KIB);

	(void)state;
	add(&queue, &front);
	add(&queue, &end);
	add(&queue, &wanted);
	assert_own(&wanted, 256 * KIB, 512 * KIB);
	canfs_queue_finish(&queue, canfs_queue_take(&queue, CANFS_FETCH_PREFETCH), 0, &finished);
	assert_told(&front, NULL);
	canfs_queue_finish(&queue, canfs_queue_take(&queue, CANFS_FETCH_DEMAND), -EIO, &finished);
	assert_told(NULL, NULL); /* its own part: the end is still missing */
	canfs_queue_finish(&queue, canfs_queue_take(&queue, CANFS_FETCH_PREFETCH), 0, &finished);
	assert_told(&end, &wanted);
	assert_int_equal(wanted.error, -EIO);
	assert_int_equal(end.error, 0);
	end_queue(&queue);
}

static void test_only_the_same_bytes_are_joined(void **state)
{
	struct canfs_fetch ahead = prefetch(1, MIB, (uint32_t)MIB),
			   other_file = demand(2, MIB, 4096), before = demand(1, MIB - 4096, 4096),
			   after = demand(1, 2 * MIB, 4096),
			   around = demand(1, MIB - 4096, MIB / 2);

	(void)state;
	add(&queue, &ahead);
	add(&queue, &other_file);
	add(&queue, &before);
	add(&queue, &after);
	assert_int_equal(queue.joined, 0);
	add(&queue, &around);
	assert_int_equal(canfs_fetch_own_bytes(&around), 0); /* `before` and `ahead` have it */
	assert_int_equal(around.pending, 2);
	end_queue(&queue);
}

/* The last one that may be joined ends with the address space. */
static void test_end_of_offsets(void **state)
{
	struct canfs_fetch last = prefetch(1, UINT64_MAX - 4096, 4096),
			   again = demand(1, UINT64_MAX - 1, 1);

	(void)state;
	add(&queue, &last);
	add(&queue, &again);
	assert_int_equal(queue.joined, 1);
	end_queue(&queue);
}

/* Whatever the policy would serve, and whatever prefetch is in the kernel; the oldest first. */
static void test_demand_waits_for_no_prefetch(void **state)
{
	struct canfs_fetch ahead[2] = { prefetch(1, 0, 4096), prefetch(1, MIB, 4096) };
	struct canfs_fetch wanted[2] = { demand(2, 100 * MIB, 4096), demand(3, 0, 4096) }, *taken;

	(void)state;
	for (size_t p = 0; canfs_policies[p]; p++) {
		canfs_queue_set_policy(&queue, canfs_policies[p]);
		for (size_t i = 0; i < 2; i++)
			add(&queue, &ahead[i]);
		for (size_t i = 0; i < 2; i++)
			add(&queue, &wanted[i]);
		taken = canfs_queue_take(&queue, CANFS_FETCH_PREFETCH); /* whichever is first */
		assert_ptr_equal(canfs_queue_take(&queue, CANFS_FETCH_DEMAND), &wanted[0]);
		assert_int_equal(queue.in_kernel[CANFS_FETCH_DEMAND], 1);
		assert_int_equal(queue.in_kernel[CANFS_FETCH_PREFETCH], 1);
		assert_int_equal(queue.prefetch_bytes, 4096);
		assert_ptr_equal(serve(&queue), &wanted[1]);
		canfs_queue_finish(&queue, &wanted[0], 0, &finished);
		canfs_queue_finish(&queue, taken, 0, &finished);
		assert_told(&wanted[0], taken);
		assert_ptr_equal(serve(&queue), taken == &ahead[0] ? &ahead[1] : &ahead[0]);
	}
	end_queue(&queue);
}

/* Else sequential readers that wait for their prefetch would undo the order that makes them fast. */
static void test_who_has_joined_keeps_that_place(void **state)
{
	struct canfs_fetch first = prefetch(1, 0, (uint32_t)MIB),
			   ahead = prefetch(2, 50 * MIB, (uint32_t)MIB),
			   wanted = demand(2, 50 * MIB, 4096);

	(void)state;
	add(&queue, &first);
	add(&queue, &ahead);
	add(&queue, &wanted);
	assert_ptr_equal(serve(&queue), &first);
	assert_ptr_equal(serve(&queue), &ahead);
	assert_int_equal(wanted.pending, 0);
	end_queue(&queue);
}

static void test_without_an_order_who_has_joined_hurries(void **state)
{
	struct canfs_fetch first = prefetch(1, 0, (uint32_t)MIB),
			   ahead = prefetch(2, 50 * MIB, (uint32_t)MIB),
			   wanted = demand(2, 50 * MIB, 4096);

	(void)state;
	canfs_queue_set_policy(&queue, canfs_policy_named("none"));
	add(&queue, &first);
	add(&queue, &ahead);
	add(&queue, &wanted);
	assert_ptr_equal(serve(&queue), &ahead);
	end_queue(&queue);
}

static void test_prefetch_is_refused_demand_is_not(void **state)
{
	struct canfs_fetch first = prefetch(1, 0, 4096), second = prefetch(1, MIB, 4096),
			   wanted = demand(1, 2 * MIB, 4096), again, again_too;

	(void)state;
	queue.config.waiting_max = 1;
	add(&queue, &first);
	assert_false(canfs_queue_enter(&queue, &second, 0));
	assert_int_equal(queue.refused, 1);
	add(&queue, &wanted);
	assert_int_equal(queue.waiting, 2);
	/* nor is there an end to those that join one */
	again = first;
	assert_false(canfs_queue_enter(&queue, &again, 0));
	queue.config.waiting_max = 3;
	add(&queue, &again);
	again_too = first;
	assert_false(canfs_queue_enter(&queue, &again_too, 0));
	end_queue(&queue);
}

static void test_cancel(void **state)
{
	struct canfs_fetch before = prefetch(1, 0, 4096), from_there = prefetch(1, MIB, 4096),
			   hurried = prefetch(1, 2 * MIB, 4096), joining = demand(1, 2 * MIB, 4096),
			   in_kernel = prefetch(1, 3 * MIB, 4096),
			   wanted = demand(1, 4 * MIB, 4096),
			   other_file = prefetch(2, 5 * MIB, 4096);

	(void)state;
	add(&queue, &in_kernel);
	assert_ptr_equal(take(&queue), &in_kernel);
	add(&queue, &before);
	add(&queue, &from_there);
	add(&queue, &hurried);
	add(&queue, &joining);
	add(&queue, &wanted);
	add(&queue, &other_file);
	canfs_queue_cancel(&queue, 1, MIB, &finished);
	assert_int_equal(from_there.error, -ECANCELED);
	assert_told(&from_there, NULL);
	canfs_queue_cancel_all(&queue, &finished);
	assert_int_equal(joining.error, -ECANCELED);
	assert_int_equal(wanted.error, -ECANCELED);
	assert_int_equal(queue.waiting, 0);
	finished = (struct canfs_fetch_list) { 0 };
	canfs_queue_finish(&queue, &in_kernel, 0, &finished);
	assert_told(&in_kernel, NULL);
	assert_int_equal(in_kernel.error, 0);
	end_queue(&queue);
}

/* A prefetch that has joined another is cancelled with it, and told once. */
static void test_cancel_of_what_has_been_joined(void **state)
{
	struct canfs_fetch ahead = prefetch(1, 0, (uint32_t)MIB),
			   part = prefetch(1, MIB / 2, (uint32_t)MIB);

	(void)state;
	add(&queue, &ahead);
	add(&queue, &part);
	assert_own(&part, MIB, MIB + MIB / 2);
	canfs_queue_cancel(&queue, 1, 0, &finished);
	assert_told(&ahead, &part);
	assert_int_equal(part.error, -ECANCELED);
	end_queue(&queue);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_demand_joins_prefetch_in_the_kernel),
		TEST(test_errors_reach_those_who_joined),
		TEST(test_parts_of_a_fetch),
		TEST(test_only_the_same_bytes_are_joined),
		TEST(test_end_of_offsets),
		TEST(test_demand_waits_for_no_prefetch),
		TEST(test_who_has_joined_keeps_that_place),
		TEST(test_without_an_order_who_has_joined_hurries),
		TEST(test_prefetch_is_refused_demand_is_not),
		TEST(test_cancel),
		TEST(test_cancel_of_what_has_been_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
