// SPDX-License-Identifier: LGPL-3.0-or-later
/* Ghost caches that many threads poller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <cmocka.h>
#include "server/monitors/ghosts.h"
#include "tests/unit/exact_lru.h"

#define THREADS     4
#define CACHE_BYTES ((uint64_t)64 << 20)
#define MEMORY      ((size_t)1 << 20)
#define SEED        7

static struct canfs_ghosts *new_ghosts(size_t memory_bytes, uint64_t cache_bytes)
{
	struct canfs_ghosts *ghosts;

	assert_int_equal(canfs_ghosts_new(&ghosts, memory_bytes, SEED), 0);
	canfs_ghosts_resize(ghosts, cache_bytes);
	return ghosts;
}

/* A file that is read from its beginning to its end, some times. */
static void read_file(
	struct canfs_ghosts *ghosts, uint64_t file, uint64_t size_bytes, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++) {
		for (uint64_t offset = 0; offset < size_bytes; offset += 65536)
			canfs_ghosts_note_read(ghosts, file, offset, 65536);
	}
}

static void forecasts_one_cache(void **state)
{
	struct canfs_ghosts *ghosts = new_ghosts(MEMORY, CACHE_BYTES);
	struct canfs_ghost_forecast forecast;

	(void)state;
	read_file(ghosts, 1, CACHE_BYTES * 3 / 4, 2);
	canfs_ghosts_forecast(ghosts, 1e9);
	read_file(ghosts, 1, CACHE_BYTES * 3 / 4, 2);
	forecast = canfs_ghosts_forecast(ghosts, 1e9);
	assert_true(forecast.hit_less < 0.1 && forecast.hit > 0.9 && forecast.utilization > 0.9);
	assert_int_equal(canfs_ghosts_usage(ghosts).missed_reads, 0);
	canfs_ghosts_free(ghosts);
}

static void what_was_read_long_ago_does_not_count(void **state)
{
	struct canfs_ghosts *ghosts = new_ghosts(MEMORY, CACHE_BYTES);
	double utilization;

	(void)state;
	read_file(ghosts, 1, CACHE_BYTES * 3 / 4, 8);
	utilization = canfs_ghosts_forecast(ghosts, 0.1).utilization;
	assert_true(utilization > 0.8);
	assert_true(canfs_ghosts_forecast(ghosts, 0.1).utilization > utilization - 0.01);
	assert_true(canfs_ghosts_forecast(ghosts, 100).utilization < 0.01);
	canfs_ghosts_free(ghosts);
}

static void memory_is_bounded(void **state)
{
	struct canfs_ghosts *ghosts = new_ghosts(MEMORY, (uint64_t)1 << 40);
	struct canfs_ghosts_usage usage;

	(void)state;
	assert_true(canfs_ghosts_usage(ghosts).used_bytes < MEMORY / 4);
	for (uint64_t file = 0; file < 10000; file++)
		canfs_ghosts_note_read(ghosts, file, 0, CANFS_GHOST_READ_MAX_BYTES);
	usage = canfs_ghosts_usage(ghosts);
	assert_int_equal(usage.memory_bytes, MEMORY);
	assert_true(usage.used_bytes > MEMORY * 3 / 4 && usage.used_bytes <= MEMORY);
	canfs_ghosts_free(ghosts);
}

static void refuses_memory_out_of_range_and_takes_none(void **state)
{
	struct canfs_ghosts *ghosts;

	(void)state;
	assert_int_equal(canfs_ghosts_new(&ghosts, CANFS_GHOSTS_MEMORY_MIN_BYTES - 1, 0), -EINVAL);
	assert_int_equal(canfs_ghosts_new(&ghosts, CANFS_GHOSTS_MEMORY_MAX_BYTES + 1, 0), -EINVAL);
	canfs_ghosts_note_read(NULL, 1, 0, 4096);
	canfs_ghosts_free(NULL);
}

struct reader {
	pthread_t thread;
	struct canfs_ghosts *ghosts;
	uint64_t random;
};

static void *reads(void *arg)
{
	struct reader *reader = arg;

	for (int i = 0; i < 50000; i++) {
		uint64_t file = (uint64_t)(trace_random(&reader->random) * 1000);

		canfs_ghosts_note_read(reader->ghosts, file, 0, 1u << 20);
	}
	return NULL;
}

/* For ThreadSanitizer: workers read while the market takes its forecasts and the cache changes. */
static void threads_read_while_the_market_asks(void **state)
{
	struct canfs_ghosts *ghosts = new_ghosts(MEMORY, CACHE_BYTES);
	struct reader readers[THREADS];

	(void)state;
	for (uint64_t i = 0; i < THREADS; i++) {
		readers[i] = (struct reader) { .ghosts = ghosts, .random = i };
		assert_int_equal(pthread_create(&readers[i].thread, NULL, reads, &readers[i]), 0);
	}
	for (unsigned int i = 0; i < 200; i++) {
		struct canfs_ghost_forecast forecast = canfs_ghosts_forecast(ghosts, 0.1);
		struct canfs_ghosts_usage usage = canfs_ghosts_usage(ghosts);

		assert_true(forecast.utilization >= 0 && forecast.utilization <= 1);
		assert_true(forecast.hit_less <= forecast.hit && forecast.hit <= forecast.hit_more);
		assert_true(usage.used_bytes <= MEMORY);
		canfs_ghosts_resize(ghosts, CACHE_BYTES << i % 8);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(readers[i].thread, NULL);
	canfs_ghosts_free(ghosts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forecasts_one_cache),
		cmocka_unit_test(what_was_read_long_ago_does_not_count),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(refuses_memory_out_of_range_and_takes_none),
		cmocka_unit_test(threads_read_while_the_market_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
