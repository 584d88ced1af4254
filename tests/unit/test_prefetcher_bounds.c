// SPDX-License-Identifier: LGPL-3.0-or-later
/* What the prefetcher takes of the server: descriptors, addresses, buffers, and waiting that is of no use. */
#include <sys/resource.h>

#include "tests/unit/prefetched.h"

/* Each that waits has a buffer. */
static void large_reads_wait_in_small_numbers(void **state)
{
	struct canfs_open_file *file = make("buffers", state, FILE_BYTES);
	const uint64_t bytes = CANFS_READS_WAITING_BYTES_MAX / 8;
	struct read reads[8], more;

	/* Each wants one page more of the file's end. */
	for (unsigned int i = 0; i < 8; i++)
		assert_true(begin(file, FILE_BYTES - (i + 1) * 4 * KIB, bytes, &reads[i]));
	assert_false(begin(file, 0, bytes, &more));
	assert_false(begin(file, 0, KIB, &more));
	assert_int_equal(stats().reads_let_through, 2);
	finish(&reads[0]);
	assert_int_equal(read_all(file, 0, KIB, 0), CANFS_READ_DELAYED);
	for (unsigned int i = 1; i < 8; i++)
		finish(&reads[i]);
	assert_int_equal(stats().waiting, 0);
	canfs_fd_cache_put(file);
}

static void at_most_so_many_are_open(void **state)
{
	static char objects[4 * OPEN_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(objects); i++) {
		struct canfs_open_file *file;
		char name[16];

		snprintf(name, sizeof(name), "many%zu", i);
		file = make(name, &objects[i], KIB);
		assert_non_null(file);
		canfs_fd_cache_put(file);
		assert_in_range(stats().fd_cache.open, 1, OPEN_MAX + 1);
	}
	assert_in_range(stats().fd_cache.displaced, sizeof(objects) - OPEN_MAX, sizeof(objects));
}

/* Where the process may have few descriptors, most are left to Ganesha; even if all of ours are in use. */
static void few_are_open_where_few_may_be(void **state)
{
	static char objects[200];
	struct canfs_open_file *file[sizeof(objects)];
	struct rlimit before, few;
	unsigned int had = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 1024;
	if (setrlimit(RLIMIT_NOFILE, &few) != 0)
		skip();
	tear_down(state);
	assert_int_equal(
		canfs_prefetcher_new(&prefetcher, &(struct canfs_prefetcher_config) { .files = 1000,
							  .open_max = 65536,
							  .lag_bytes = 4 << 20,
							  .root = "" }),
		0);
	assert_int_equal(canfs_prefetcher_open(&export_fs, prefetcher, directory), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (size_t i = 0; i < sizeof(objects); i++) {
		char name[16];

		snprintf(name, sizeof(name), "few%zu", i);
		file[i] = make(name, &objects[i], KIB);
		had += !!file[i];
		assert_in_range(stats().fd_cache.open, 1, 1024 / 16);
	}
	assert_in_range(had, 1024 / 32, 1024 / 16);
	for (size_t i = 0; i < sizeof(objects); i++)
		canfs_fd_cache_put(file[i]);
}

/* By mincore(2), which wants a mapping: of a file larger than what can be mapped, and far behind its beginning. */
static void files_are_mapped_in_part(void **state)
{
	struct canfs_open_file *file = make("sparse", state, 64 * KIB);
	const uint64_t tib = UINT64_C(1) << 40, bytes = 8 * tib,
		       far = 7 * tib + (1 << 30) - 4 * KIB;
	struct canfs_resident_map map = CANFS_RESIDENT_MAP_INITIALIZER;
	char path[128], block[8192] = { 1 };
	int fd;

	path_of("sparse", path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	if (pwrite(fd, block, sizeof(block), (off_t)far) != sizeof(block) ||
		ftruncate(fd, (off_t)bytes) != 0) {
		close(fd);
		canfs_fd_cache_put(file);
		skip(); /* not on this file system */
	}
	assert_true(canfs_is_resident_by_mincore(fd, far, 8 * KIB, bytes, &map));
	assert_in_range(map.bytes, 8 * KIB, 2 * CANFS_RESIDENT_WINDOW_BYTES);
	assert_false(canfs_is_resident_by_mincore(fd, tib, 4 * KIB, bytes, &map));
	assert_true(canfs_is_resident_by_mincore(fd, far, 4 * KIB, bytes, &map));
	evict(fd);
	assert_false(canfs_is_resident_by_mincore(fd, far, 8 * KIB, bytes, &map));
	canfs_resident_unmap(&map);
	close(fd);
	canfs_fd_cache_put(file);
}

/* A file whose pages never are in the page cache, as one of the kernel's own: nobody waits for them for ever. */
static void where_nothing_is_cached_nobody_waits(void **state)
{
	struct canfs_open_file *file = make("uncached", state, 64 * KIB);
	int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
	uint64_t waited;

	if (fd < 0) {
		canfs_fd_cache_put(file);
		skip();
	}
	assert_int_equal(dup2(fd, file->fd), file->fd);
	close(fd);
	canfs_prefetch_invalidate(export_fs, state, 0, UINT64_MAX);
	if (canfs_is_resident(file->fd, 0, 4 * KIB, 4 * KIB, &file->map)) {
		canfs_fd_cache_put(file);
		skip(); /* without cachestat(2), as under valgrind: such a file cannot be mapped */
	}
	for (int i = 0; i < 100 && read_all(file, 0, 4 * KIB, 0) == CANFS_READ_DELAYED; i++)
		continue;
	waited = stats().reads[CANFS_READ_DELAYED];
	assert_in_range(waited, 2, 20);
	assert_int_equal(read_all(file, 0, 4 * KIB, 0), CANFS_READ_AT_ONCE);
	assert_int_equal(stats().reads[CANFS_READ_DELAYED], waited);
	canfs_fd_cache_put(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(large_reads_wait_in_small_numbers),
		TEST(at_most_so_many_are_open),
		TEST(few_are_open_where_few_may_be),
		TEST(files_are_mapped_in_part),
		TEST(where_nothing_is_cached_nobody_waits),
	};

	return run_on_a_disk(tests, sizeof(tests) / sizeof(tests[0]));
}
