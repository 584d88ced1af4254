// SPDX-License-Identifier: LGPL-3.0-or-later
/* A device's queue at work on real files: through io_uring, where the kernel lets us, and through threads. */
#include "tests/unit/engine_scene.h"

#include <sys/mman.h>

#include "ganesha-fsal/read/scheduler/policy.h"

#define THREADS    4
#define PER_THREAD 1500

/* One fetch by itself; what it was done with. */
static int fetch_alone(struct item item)
{
	struct canfs_engine *engine = start("n-cscan", 100);

	assert_true(add(engine, &item));
	wait_for_all();
	assert_int_equal(item.done, 1);
	canfs_engine_free(engine);
	return last_error;
}

static unsigned int resident_pages(int fd, uint64_t bytes)
{
	unsigned char seen[FILE_BYTES / PAGE];
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	unsigned int n = 0;

	assert_true(map != MAP_FAILED);
	assert_int_equal(mincore(map, bytes, seen), 0);
	for (size_t i = 0; i < bytes / PAGE; i++)
		n += seen[i] & 1;
	munmap(map, bytes);
	return n;
}

static void test_pages_are_resident_when_done(void **state)
{
	(void)state;
	assert_int_equal(posix_fadvise(file[0], 0, 0, POSIX_FADV_DONTNEED), 0);
	if (resident_pages(file[0], FILE_BYTES) > MIB / PAGE)
		skip(); /* a file system in memory */
	assert_int_equal(fetch_alone(fetch_of(0, 0, MIB)), 0);
	assert_int_equal(resident_pages(file[0], MIB), MIB / PAGE);
}

static void test_end_of_file(void **state)
{
	(void)state;
	assert_int_equal(fetch_alone(fetch_of(1, FILE_BYTES - 10, MIB)), 0);
	assert_int_equal(fetch_alone(fetch_of(1, FILE_BYTES, 1)), 0);
	assert_int_equal(fetch_alone(fetch_of(1, 100 * FILE_BYTES, MIB)), 0);
}

static void test_errors_are_told(void **state)
{
	struct item item = fetch_of(0, 0, PAGE);
	char path[64];

	(void)state;
	item.fetch.fd = -1;
	assert_int_equal(fetch_alone(item), -EBADF);
	(void)snprintf(path, sizeof(path), "%s/0", directory);
	item.fetch.fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(item.fetch.fd >= 0);
	assert_int_equal(fetch_alone(item), -EBADF);
	close(item.fetch.fd);
	/* Of this one already the advice fails. */
	item.fetch.fd = open(path, O_PATH | O_CLOEXEC);
	assert_true(item.fetch.fd >= 0);
	assert_int_equal(fetch_alone(item), -EBADF);
	close(item.fetch.fd);
}

static void test_configuration_is_checked(void **state)
{
	struct canfs_engine_config config = { .policy = "scan", .depth = 4 };
	struct canfs_engine *engine;

	(void)state;
	assert_int_equal(canfs_engine_new(&engine, &config), -EINVAL);
	config.policy = "fifo";
	config.depth = 0;
	assert_int_equal(canfs_engine_new(&engine, &config), -EINVAL);
	config.depth = CANFS_ENGINE_DEPTH_MAX + 1;
	assert_int_equal(canfs_engine_new(&engine, &config), -EINVAL);
	canfs_engine_free(NULL);
}

struct adder {
	struct canfs_engine *engine;
	uint64_t seed;
	unsigned int refused;
	struct item *items;
};

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static struct item random_fetch(uint64_t *seed)
{
	struct item item = fetch_of((unsigned int)(next_random(seed) % FILES),
		next_random(seed) % FILE_BYTES, 1 + (uint32_t)(next_random(seed) % MIB));

	item.fetch.kind = next_random(seed) % 4 ? CANFS_FETCH_PREFETCH : CANFS_FETCH_DEMAND;
	item.fetch.stream = (uint32_t)(next_random(seed) % 16);
	return item;
}

static void *add_many(void *arg)
{
	struct adder *adder = arg;

	for (unsigned int i = 0; i < PER_THREAD; i++) {
		adder->items[i] = random_fetch(&adder->seed);
		adder->refused += !add(adder->engine, &adder->items[i]);
		if (i % 64 == 0)
			canfs_engine_cancel(adder->engine, i % FILES, i % FILE_BYTES);
		if (i % 256 == 0)
			(void)canfs_engine_stats(adder->engine);
	}
	return NULL;
}

/* Many threads; `meanwhile` runs beside them. Each is done once, or was refused. */
static void run_crowd(struct canfs_engine *engine, void (*meanwhile)(struct canfs_engine *))
{
	struct adder adder[THREADS];
	pthread_t thread[THREADS];
	unsigned int refused = 0;

	for (unsigned int i = 0; i < THREADS; i++) {
		adder[i] = (struct adder) { engine, i, 0, calloc(PER_THREAD, sizeof(struct item)) };
		assert_non_null(adder[i].items);
		assert_int_equal(pthread_create(&thread[i], NULL, add_many, &adder[i]), 0);
	}
	if (meanwhile)
		meanwhile(engine);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	if (!meanwhile) {
		canfs_engine_free(engine); /* with most of them in flight */
		assert_int_equal(in_flight, 0);
	} else {
		wait_for_all();
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		unsigned int done_count = 0;

		for (unsigned int j = 0; j < PER_THREAD; j++) {
			assert_true(adder[i].items[j].done <= 1);
			done_count += adder[i].items[j].done;
		}
		assert_int_equal(done_count + adder[i].refused, PER_THREAD);
		refused += adder[i].refused;
		free(adder[i].items);
	}
	assert_int_equal(failures, 0);
	assert_int_equal(successes + cancellations + refused, THREADS * PER_THREAD);
}

static void switch_policies(struct canfs_engine *engine)
{
	for (int round = 0; round < 40; round++) {
		for (size_t i = 0; canfs_policies[i]; i++) {
			assert_int_equal(
				canfs_engine_set_policy(engine, canfs_policies[i]->name), 0);
			assert_string_equal(
				canfs_engine_stats(engine).policy, canfs_policies[i]->name);
			usleep(100);
		}
	}
	assert_int_equal(canfs_engine_set_policy(engine, "scan"), -EINVAL);
}

static void test_nothing_is_lost_when_policies_change(void **state)
{
	struct canfs_engine *engine = start("fifo", 1000);
	struct canfs_engine_stats stats;

	(void)state;
	run_crowd(engine, switch_policies);
	stats = canfs_engine_stats(engine);
	assert_int_equal(stats.waiting + stats.in_kernel, 0);
	assert_int_equal(stats.done[0] + stats.done[1], successes);
	assert_int_equal(stats.cancelled, cancellations);
	assert_int_equal(stats.failed, 0);
	assert_int_equal(stats.refused + stats.done[0] + stats.done[1] + stats.cancelled,
		THREADS * PER_THREAD);
	canfs_engine_free(engine);
}

static void test_end_with_fetches_outstanding(void **state)
{
	(void)state;
	for (size_t i = 0; canfs_policies[i]; i++)
		run_crowd(start(canfs_policies[i]->name, 100000), NULL);
}

/* A waiter that is told may add the next at once, as a reader does, and free what it was told of. */
static struct canfs_engine *chain_engine;

static void add_link(struct canfs_fetch *fetch, int error)
{
	struct item *item = malloc(sizeof(*item));
	uint64_t offset = fetch->offset + PAGE;

	assert_int_equal(error, 0);
	assert_non_null(item);
	free(fetch);
	*item = fetch_of(2, offset, PAGE);
	item->fetch.done = add_link;
	if (offset < FILE_BYTES / 4) {
		assert_true(canfs_engine_add(chain_engine, &item->fetch));
		return;
	}
	done(&item->fetch, 0);
	free(item);
}

static void test_who_is_told_may_add(void **state)
{
	struct item *first = malloc(sizeof(*first));

	(void)state;
	assert_non_null(first);
	*first = fetch_of(2, 0, PAGE);
	first->fetch.done = add_link;
	in_flight = 1;
	chain_engine = start("elevator", 1);
	assert_true(canfs_engine_add(chain_engine, &first->fetch));
	wait_for_all();
	assert_int_equal(
		canfs_engine_stats(chain_engine).done[CANFS_FETCH_DEMAND], FILE_BYTES / 4 / PAGE);
	canfs_engine_free(chain_engine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_pages_are_resident_when_done),
		BOTH(test_end_of_file),
		BOTH(test_errors_are_told),
		BOTH(test_configuration_is_checked),
		BOTH(test_nothing_is_lost_when_policies_change),
		BOTH(test_end_with_fetches_outstanding),
		BOTH(test_who_is_told_may_add),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
