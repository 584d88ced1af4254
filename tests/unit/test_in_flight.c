// SPDX-License-Identifier: LGPL-3.0-or-later
/* What of the system's Writeback is one mount's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client-agent/auction/in_flight.h"

#define MIB       (1ull << 20)
#define TICK_USEC 100000

struct scene {
	struct canfs_in_flight in_flight;
	struct canfs_mountstats stats;
	uint64_t now_usec;
};

static int setup(void **state)
{
	static struct scene scene;

	scene = (struct scene) { .now_usec = 1000000 };
	canfs_in_flight_update(&scene.in_flight, &scene.stats, 0, scene.now_usec);
	*state = &scene;
	return 0;
}

static uint64_t tick_mib(struct scene *scene, uint64_t writeback_mib)
{
	scene->now_usec += TICK_USEC;
	return canfs_in_flight_update(
		       &scene->in_flight, &scene->stats, writeback_mib * MIB, scene->now_usec) /
	       MIB;
}

/* WRITEs that are begun, and such that are answered. */
static void send_mib(struct scene *scene, uint64_t begun, uint64_t answered)
{
	scene->stats.begun_write_bytes += begun * MIB;
	scene->stats.server_write_bytes += answered * MIB;
}

static void commit(struct scene *scene, uint64_t round_trip_msec)
{
	scene->stats.commit.ops++;
	scene->stats.commit.rtt_msec += round_trip_msec;
}

static void test_a_mount_that_sends_nothing_has_nothing_in_flight(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 10; i++)
		assert_int_equal(tick_mib(scene, 500), 0);
}

static void test_from_the_first_page_to_the_commit(void **state)
{
	struct scene *scene = *state;

	send_mib(scene, 16, 0);
	assert_int_equal(tick_mib(scene, 16), 16);
	send_mib(scene, 0, 10);
	assert_int_equal(tick_mib(scene, 500), 16);
	send_mib(scene, 0, 6);
	assert_int_equal(tick_mib(scene, 500), 16);
	for (int i = 0; i < 5; i++) /* the COMMIT takes its time */
		assert_int_equal(tick_mib(scene, 500), 16);
	commit(scene, 100);
	tick_mib(scene, 500);
	commit(scene, 100);
	tick_mib(scene, 500);
	assert_int_equal(tick_mib(scene, 500), 0);
}

/* One file, one COMMIT, and nothing after it that could tell. */
static void test_the_last_commit_counts_a_second_later(void **state)
{
	struct scene *scene = *state;

	send_mib(scene, 16, 16);
	tick_mib(scene, 500);
	commit(scene, 100);
	for (int i = 0; i < 11; i++)
		assert_int_equal(tick_mib(scene, 500), 16);
	tick_mib(scene, 500);
	assert_int_equal(tick_mib(scene, 500), 0);
	send_mib(scene, 4, 4); /* of which no COMMIT has been heard */
	for (int i = 0; i < 50; i++)
		assert_int_equal(tick_mib(scene, 500), 4);
}

/* 2 MiB a tick, committed within two: neither does the estimate grow nor is it less than what is true. */
static void test_a_stream_beside_a_local_disk(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 200; i++) {
		send_mib(scene, 2, 2);
		if (i % 2)
			commit(scene, 150);
		uint64_t ours = tick_mib(scene, 500);
		if (i > 10)
			assert_in_range(ours, 4, 12);
	}
}

/* Two files: one's COMMIT says nothing of the other's bytes. */
static void test_a_slow_commit_of_another_file(void **state)
{
	struct scene *scene = *state;

	send_mib(scene, 32, 32);
	assert_int_equal(tick_mib(scene, 32), 32);
	for (int i = 0; i < 3; i++)
		tick_mib(scene, 32);
	commit(scene, 400);
	assert_int_equal(tick_mib(scene, 32), 32);
	commit(scene, 400);
	assert_int_equal(tick_mib(scene, 500), 32);
}

/* Half a page is begun as one: that must not add up. */
static void test_small_files_leave_nothing(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 1000; i++) {
		send_mib(scene, 1, 0);
		scene->stats.server_write_bytes += MIB / 2;
		commit(scene, 1);
		assert_int_equal(tick_mib(scene, 0), 0);
	}
	assert_int_equal(tick_mib(scene, 500), 0);
}

static void test_direct_writes_are_no_writeback(void **state)
{
	struct scene *scene = *state;

	scene->stats.direct_write_bytes += 100 * MIB;
	send_mib(scene, 0, 100);
	assert_int_equal(tick_mib(scene, 500), 0);
}

static void test_counters_that_run_backwards_start_anew(void **state)
{
	struct scene *scene = *state;

	send_mib(scene, 50, 50);
	assert_int_equal(tick_mib(scene, 500), 50);
	scene->stats = (struct canfs_mountstats) { 0 };
	assert_int_equal(tick_mib(scene, 500), 0);
	send_mib(scene, 3, 1);
	assert_int_equal(tick_mib(scene, 500), 3);
}

/* Linux 6.11 counts a large folio as one page: then all of Writeback may be ours, as nothing tells. */
static void test_large_folios_count_as_one_page(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 20; i++) {
		scene->stats.begun_write_bytes += 16 * 4096; /* folios of 1 MiB */
		tick_mib(scene, 16);
		send_mib(scene, 0, 16);
		commit(scene, 100);
		tick_mib(scene, 16);
	}
	scene->stats.begun_write_bytes += 16 * 4096;
	assert_int_equal(tick_mib(scene, 16), 16);
	for (int i = 0; i < 50; i++) /* a server that does not answer */
		assert_int_equal(tick_mib(scene, 16), 16);
}

/* What was on its way when we came, and what is sent twice, is no large folio. */
static void test_bytes_that_were_not_begun(void **state)
{
	struct scene *scene = *state;

	send_mib(scene, 0, 16);
	commit(scene, 1);
	tick_mib(scene, 500);
	for (int i = 0; i < 40; i++) {
		send_mib(scene, 4, 4);
		commit(scene, 1);
		tick_mib(scene, 500);
	}
	for (int i = 0; i < 20; i++)
		tick_mib(scene, 500);
	assert_int_equal(tick_mib(scene, 500), 0);
}

#define IN_FLIGHT_TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FLIGHT_TEST(test_a_mount_that_sends_nothing_has_nothing_in_flight),
		IN_FLIGHT_TEST(test_from_the_first_page_to_the_commit),
		IN_FLIGHT_TEST(test_the_last_commit_counts_a_second_later),
		IN_FLIGHT_TEST(test_a_stream_beside_a_local_disk),
		IN_FLIGHT_TEST(test_a_slow_commit_of_another_file),
		IN_FLIGHT_TEST(test_small_files_leave_nothing),
		IN_FLIGHT_TEST(test_direct_writes_are_no_writeback),
		IN_FLIGHT_TEST(test_large_folios_count_as_one_page),
		IN_FLIGHT_TEST(test_bytes_that_were_not_begun),
		IN_FLIGHT_TEST(test_counters_that_run_backwards_start_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
