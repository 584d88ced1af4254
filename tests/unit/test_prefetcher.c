// SPDX-License-Identifier: LGPL-3.0-or-later
/* Reads of files in a directory of this machine, without Ganesha: who waits, for what, and what is held open. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "ganesha-fsal/prefetch/prefetcher.h"
#include "ganesha-fsal/prefetch/resident.h"

#define KIB        ((uint64_t)1024)
#define FILE_BYTES (16 * 1024 * KIB)
#define OPEN_MAX   32

static char directory[] = "/var/tmp/canfs-test-XXXXXX";
static struct canfs_prefetcher *prefetcher;
static struct canfs_tree *tree;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;

struct read {
	struct canfs_waiting_read waiting;
	bool ready;
};

static void ready(struct canfs_waiting_read *waiting)
{
	struct read *read = (struct read *)waiting;

	pthread_mutex_lock(&mutex);
	read->ready = true;
	pthread_cond_broadcast(&came);
	pthread_mutex_unlock(&mutex);
}

static void await(struct read *read)
{
	pthread_mutex_lock(&mutex);
	while (!read->ready)
		pthread_cond_wait(&came, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void begin(struct canfs_local_file *file, uint64_t offset, uint64_t bytes, struct read *read)
{
	*read = (struct read) { .waiting.ready = ready };
	canfs_prefetch_wait(file, 1, offset, bytes, &read->waiting);
}

static void path_of(const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", directory, name);
}

static void evict(int fd)
{
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
}

/* A new file, nothing of it in the page cache, opened as Ganesha's handle would have it. */
static struct canfs_local_file *make(const char *name, const void *object, uint64_t bytes)
{
	_Alignas(struct file_handle) char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	struct file_handle *kernel = (struct file_handle *)room;
	static char block[64 * 1024] = { 1 };
	uint8_t wire[2 + MAX_HANDLE_SZ];
	char path[128];
	struct stat st;
	int mount, fd;

	path_of(name, path);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	for (uint64_t at = 0; at < bytes; at += sizeof(block))
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	evict(fd);
	assert_int_equal(fstat(fd, &st), 0);
	kernel->handle_bytes = MAX_HANDLE_SZ;
	assert_int_equal(name_to_handle_at(fd, "", kernel, &mount, AT_EMPTY_PATH), 0);
	close(fd);
	wire[0] = 0x40;
	wire[1] = (uint8_t)kernel->handle_type;
	memcpy(wire + 2, kernel->f_handle, kernel->handle_bytes);
	return canfs_local_open(tree, object, (uint64_t)(uintptr_t)object, st.st_ino, wire,
		2 + kernel->handle_bytes);
}

static int set_up(void **state)
{
	struct canfs_prefetcher_config config = {
		.files = 1000, .open_max = OPEN_MAX, .lag_bytes = 4 << 20, .root = ""
	};

	(void)state;
	assert_int_equal(canfs_prefetcher_new(&prefetcher, &config), 0);
	assert_int_equal(canfs_prefetcher_open(&tree, prefetcher, directory), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	canfs_prefetcher_drain(tree);
	canfs_prefetcher_close(tree);
	assert_int_equal(canfs_prefetcher_trees(prefetcher), 0);
	canfs_prefetcher_free(prefetcher);
	return 0;
}

static struct canfs_prefetcher_stats stats(void)
{
	struct canfs_prefetcher_stats now;

	canfs_prefetcher_stats(prefetcher, &now);
	return now;
}

static void a_read_waits_for_its_pages(void **state)
{
	struct canfs_local_file *file = make("cold", state, FILE_BYTES);
	struct read read;

	assert_non_null(file);
	assert_true(canfs_prefetch_must_wait(file, 300 * KIB + 1, 64 * KIB));
	begin(file, 300 * KIB + 1, 64 * KIB, &read);
	await(&read);
	canfs_prefetch_answered(tree, 64 * KIB);
	assert_int_equal(stats().reads_made_to_wait, 1);
	assert_false(canfs_prefetch_must_wait(file, 300 * KIB + 1, 64 * KIB));
	assert_int_equal(stats().reads_at_once, 1);
	/* What was not asked for is not there. */
	assert_true(canfs_prefetch_must_wait(file, 8 * KIB * KIB, KIB));
	canfs_prefetch_answered(tree, KIB);
	assert_int_equal(stats().waiting, 0);
	canfs_local_put(file);
}

static void one_may_be_larger_than_a_fetch_or_the_file(void **state)
{
	struct canfs_local_file *file = make("large", state, FILE_BYTES);
	struct read read;

	assert_true(canfs_prefetch_must_wait(file, 5 * KIB, 2 * FILE_BYTES));
	begin(file, 5 * KIB, 2 * FILE_BYTES, &read);
	await(&read);
	canfs_prefetch_answered(tree, 2 * FILE_BYTES);
	assert_false(canfs_prefetch_must_wait(file, 5 * KIB, 2 * FILE_BYTES));
	/* Behind the end there is nothing to wait for. */
	assert_false(canfs_prefetch_must_wait(file, FILE_BYTES, KIB));
	assert_false(canfs_prefetch_must_wait(file, UINT64_C(1) << 62, KIB));
	canfs_local_put(file);
}

/* Each that waits has a buffer. */
static void large_reads_wait_in_small_numbers(void **state)
{
	struct canfs_local_file *file = make("buffers", state, FILE_BYTES);
	const uint64_t bytes = CANFS_READS_WAITING_BYTES_MAX / 8;

	for (int i = 0; i < 8; i++)
		assert_true(canfs_prefetch_must_wait(file, 0, bytes));
	assert_false(canfs_prefetch_must_wait(file, 0, bytes));
	assert_false(canfs_prefetch_must_wait(file, 0, KIB));
	assert_int_equal(stats().reads_let_through, 2);
	canfs_prefetch_answered(tree, bytes);
	assert_true(canfs_prefetch_must_wait(file, 0, KIB));
	canfs_prefetch_answered(tree, KIB);
	for (int i = 0; i < 7; i++)
		canfs_prefetch_answered(tree, bytes);
	assert_int_equal(stats().waiting, 0);
	canfs_local_put(file);
}

static void visit(const struct canfs_device_view *view, void *ahead)
{
	*(uint64_t *)ahead += view->engine.bytes[CANFS_FETCH_PREFETCH];
}

/* All of it is read in order: most was there, or under way, before it was asked for. */
static void who_reads_in_order_finds_it_there(void **state)
{
	struct canfs_local_file *file = make("ordered", state, FILE_BYTES);
	struct read read;
	uint64_t ahead = 0;

	for (uint64_t at = 0; at < FILE_BYTES; at += 64 * KIB) {
		if (canfs_prefetch_must_wait(file, at, 64 * KIB)) {
			begin(file, at, 64 * KIB, &read);
			canfs_prefetch_ahead(file, at, 64 * KIB, 1);
			await(&read);
			canfs_prefetch_answered(tree, 64 * KIB);
		} else {
			canfs_prefetch_ahead(file, at, 64 * KIB, 1);
		}
	}
	canfs_local_put(file);
	canfs_prefetcher_visit(prefetcher, visit, &ahead);
	assert_in_range(ahead, FILE_BYTES / 2, FILE_BYTES);
}

static void visit_cancelled(const struct canfs_device_view *view, void *cancelled)
{
	*(uint64_t *)cancelled += view->engine.cancelled;
}

/* Who reads a database in order is not held up by those who write in it. */
static void writes_within_a_file_cancel_nothing(void **state)
{
	struct canfs_local_file *file = make("database", state, FILE_BYTES);
	uint64_t cancelled = 0, ahead = 0;
	struct read read;

	for (uint64_t at = 0; at < FILE_BYTES; at += 64 * KIB) {
		bool waits = canfs_prefetch_must_wait(file, at, 64 * KIB);

		if (waits)
			begin(file, at, 64 * KIB, &read);
		canfs_prefetch_ahead(file, at, 64 * KIB, 1);
		canfs_prefetch_written(tree, state, 0, 4 * KIB);
		if (waits) {
			await(&read);
			canfs_prefetch_answered(tree, 64 * KIB);
		}
	}
	canfs_prefetcher_visit(prefetcher, visit_cancelled, &cancelled);
	canfs_prefetcher_visit(prefetcher, visit, &ahead);
	assert_int_equal(cancelled, 0);
	assert_in_range(ahead, FILE_BYTES / 2, FILE_BYTES);
	/* But that of one who writes behind its end is seen. */
	assert_false(file->resize);
	canfs_prefetch_written(tree, state, FILE_BYTES - KIB, 2 * KIB);
	assert_true(file->resize);
	canfs_local_put(file);
}

static void unwilling_servers_read_nothing_ahead(void **state)
{
	struct canfs_local_file *file = make("unwilling", state, FILE_BYTES);
	uint64_t ahead = 0;

	for (uint64_t at = 0; at < FILE_BYTES; at += 64 * KIB)
		canfs_prefetch_ahead(file, at, 64 * KIB, 0);
	canfs_local_put(file);
	canfs_prefetcher_drain(tree);
	canfs_prefetcher_visit(prefetcher, visit, &ahead);
	assert_int_equal(ahead, 0);
}

static void *drain(void *arg)
{
	canfs_prefetcher_drain(arg);
	return NULL;
}

static void a_drained_tree_takes_nothing(void **state)
{
	struct canfs_local_file *file = make("drained", state, FILE_BYTES);
	struct read reads[200];
	pthread_t thread;

	for (size_t i = 0; i < 200; i++) {
		assert_true(canfs_prefetch_must_wait(file, i * 64 * KIB, 4 * KIB));
		begin(file, i * 64 * KIB, 4 * KIB, &reads[i]);
	}
	assert_int_equal(pthread_create(&thread, NULL, drain, tree), 0);
	/* Whoever waits is told, and leaves. */
	for (size_t i = 0; i < 200; i++) {
		await(&reads[i]);
		canfs_prefetch_answered(tree, 4 * KIB);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	canfs_local_put(file);
	canfs_prefetcher_drain(tree);
	assert_int_equal(stats().locals.open, 0);
	assert_true(canfs_tree_is_draining(tree));
	assert_null(canfs_local_find(tree, state));
	assert_null(make("late", state, KIB));
}

static void at_most_so_many_are_open(void **state)
{
	static char objects[4 * OPEN_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(objects); i++) {
		struct canfs_local_file *file;
		char name[16];

		snprintf(name, sizeof(name), "many%zu", i);
		file = make(name, &objects[i], KIB);
		assert_non_null(file);
		canfs_local_put(file);
		assert_in_range(stats().locals.open, 1, OPEN_MAX + 1);
	}
	assert_in_range(stats().locals.displaced, sizeof(objects) - OPEN_MAX, sizeof(objects));
}

/* Where the process may have few descriptors, most are left to Ganesha; even if all of ours are in use. */
static void few_are_open_where_few_may_be(void **state)
{
	static char objects[200];
	struct canfs_local_file *file[sizeof(objects)];
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
	assert_int_equal(canfs_prefetcher_open(&tree, prefetcher, directory), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (size_t i = 0; i < sizeof(objects); i++) {
		char name[16];

		snprintf(name, sizeof(name), "few%zu", i);
		file[i] = make(name, &objects[i], KIB);
		had += file[i] != NULL;
		assert_in_range(stats().locals.open, 1, 1024 / 16);
	}
	assert_in_range(had, 1024 / 32, 1024 / 16);
	for (size_t i = 0; i < sizeof(objects); i++)
		canfs_local_put(file[i]);
}

static void what_is_forgotten_is_closed(void **state)
{
	struct canfs_local_file *file = make("forgotten", state, KIB);

	assert_ptr_equal(canfs_local_find(tree, state), file);
	canfs_local_put(file);
	canfs_prefetch_forget(prefetcher, state);
	assert_null(canfs_local_find(tree, state));
	canfs_local_put(file); /* the last */
	assert_null(canfs_tree_off(tree));
}

static void a_change_of_size_is_seen(void **state)
{
	struct canfs_local_file *file = make("growing", state, 64 * KIB);
	char path[128];

	path_of("growing", path);
	assert_false(canfs_prefetch_must_wait(file, 64 * KIB, KIB));
	assert_int_equal(truncate(path, 0), 0);
	canfs_prefetch_changed(tree, state, 0);
	assert_false(canfs_prefetch_must_wait(file, 0, KIB)); /* nothing is left to wait for */
	canfs_local_put(file);
}

static void other_handles_switch_it_off(void **state)
{
	uint8_t wire[] = { 0x40, 1, 9, 9, 9, 9, 9, 9, 9, 9 };

	/* A handle that names nothing is no reason. */
	assert_null(canfs_local_open(tree, state, 1, 1, wire, sizeof(wire)));
	assert_null(canfs_tree_off(tree));
	wire[0] = 0x1f;
	assert_null(canfs_local_open(tree, state, 1, 1, wire, sizeof(wire)));
	assert_string_equal(canfs_tree_off(tree), "its handles have another layout");
	assert_null(make("never", state, KIB));
}

static void visit_depth(const struct canfs_device_view *view, void *depth)
{
	*(unsigned int *)depth = view->engine.depth;
}

/* What one device of the kernel is made of, the kernel need not know. */
static void the_depth_may_be_set(void **state)
{
	unsigned int depth = 0;

	canfs_prefetcher_visit(prefetcher, visit_depth, &depth);
	assert_in_range(depth, 4, 32);
	tear_down(state);
	assert_int_equal(
		canfs_prefetcher_new(&prefetcher, &(struct canfs_prefetcher_config) { .files = 1000,
							  .open_max = OPEN_MAX,
							  .depth = 48,
							  .lag_bytes = 4 << 20,
							  .root = "" }),
		0);
	assert_int_equal(canfs_prefetcher_open(&tree, prefetcher, directory), 0);
	canfs_prefetcher_visit(prefetcher, visit_depth, &depth);
	assert_int_equal(depth, 48);
}

static void policies_are_those_there_are(void **state)
{
	(void)state;
	assert_int_equal(canfs_prefetcher_set_policy(prefetcher, "elevator"), 0);
	assert_int_equal(canfs_prefetcher_set_policy(prefetcher, "auto"), 0);
	assert_int_equal(canfs_prefetcher_set_policy(prefetcher, "best"), -EINVAL);
	assert_int_equal(canfs_prefetcher_set_policy(prefetcher, ""), -EINVAL);
}

static void what_is_on_no_disk_is_not_taken(void **state)
{
	struct canfs_tree *other = NULL;

	(void)state;
	assert_int_equal(canfs_prefetcher_open(&other, prefetcher, "/proc"), -ENODATA);
	assert_int_equal(canfs_prefetcher_open(&other, prefetcher, "/nowhere"), -ENOENT);
	assert_null(other);
}

static void both_probes_see_the_same(void **state)
{
	struct canfs_local_file *file = make("probed", state, 1024 * KIB);
	struct canfs_resident_map map = { .at = NULL };
	char block[4096];

	assert_int_equal(pread(file->fd, block, sizeof(block), 0), sizeof(block));
	assert_true(canfs_is_resident(file->fd, 0, 4 * KIB, 1024 * KIB, &map));
	assert_true(canfs_is_resident_by_mincore(file->fd, 0, 4 * KIB, 1024 * KIB, &map));
	evict(file->fd);
	assert_false(canfs_is_resident(file->fd, 0, 4 * KIB, 1024 * KIB, &map));
	assert_false(canfs_is_resident_by_mincore(file->fd, 0, 4 * KIB, 1024 * KIB, &map));
	/* Nor has asking brought it there. */
	assert_false(canfs_is_resident(file->fd, 0, 4 * KIB, 1024 * KIB, &map));
	assert_true(canfs_is_resident_by_mincore(file->fd, 1024 * KIB, 4 * KIB, 1024 * KIB, &map));
	canfs_resident_unmap(&map);
	canfs_local_put(file);
}

/* By mincore(2), which wants a mapping: of a file larger than what can be mapped, and far behind its beginning. */
static void files_are_mapped_in_part(void **state)
{
	struct canfs_local_file *file = make("sparse", state, 64 * KIB);
	const uint64_t tib = UINT64_C(1) << 40, bytes = 8 * tib,
		       far = 7 * tib + (1 << 30) - 4 * KIB;
	struct canfs_resident_map map = { .at = NULL };
	char path[128], block[8192] = { 1 };
	int fd;

	path_of("sparse", path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	if (pwrite(fd, block, sizeof(block), (off_t)far) != sizeof(block) ||
		ftruncate(fd, (off_t)bytes) != 0) {
		close(fd);
		canfs_local_put(file);
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
	canfs_local_put(file);
}

/* A file whose pages never are in the page cache, as one of the kernel's own: nobody waits for them for ever. */
static void where_nothing_is_cached_nobody_waits(void **state)
{
	struct canfs_local_file *file = make("uncached", state, 64 * KIB);
	int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
	uint64_t waited;
	struct read read;

	if (fd < 0) {
		canfs_local_put(file);
		skip();
	}
	assert_int_equal(dup2(fd, file->fd), file->fd);
	close(fd);
	canfs_prefetch_changed(tree, state, 0);
	for (int i = 0; i < 100 && canfs_prefetch_must_wait(file, 0, 4 * KIB); i++) {
		begin(file, 0, 4 * KIB, &read);
		await(&read);
		canfs_prefetch_answered(tree, 4 * KIB);
	}
	waited = stats().reads_made_to_wait;
	assert_in_range(waited, 2, 20);
	assert_false(canfs_prefetch_must_wait(file, 0, 4 * KIB));
	assert_int_equal(stats().reads_made_to_wait, waited);
	canfs_local_put(file);
}

static int remove_all(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command) == 0 ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Such a directory, on a disk, and handles may be opened? */
static const char *reason_to_skip(void)
{
	struct canfs_local_file *file;
	const char *off;

	if (canfs_prefetcher_new(&prefetcher,
		    &(struct canfs_prefetcher_config) { .files = 64, .open_max = 1, .root = "" }) !=
		0)
		return "no prefetcher";
	if (canfs_prefetcher_open(&tree, prefetcher, directory) != 0) {
		canfs_prefetcher_free(prefetcher);
		return "/var/tmp is on no disk";
	}
	file = make("probe", &prefetcher, KIB);
	canfs_local_put(file);
	off = canfs_tree_off(tree);
	tear_down(NULL);
	return file == NULL ? (off != NULL ? off : "a file cannot be opened") : NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_read_waits_for_its_pages),
		TEST(one_may_be_larger_than_a_fetch_or_the_file),
		TEST(large_reads_wait_in_small_numbers),
		TEST(who_reads_in_order_finds_it_there),
		TEST(writes_within_a_file_cancel_nothing),
		TEST(unwilling_servers_read_nothing_ahead),
		TEST(a_drained_tree_takes_nothing),
		TEST(at_most_so_many_are_open),
		TEST(few_are_open_where_few_may_be),
		TEST(what_is_forgotten_is_closed),
		TEST(a_change_of_size_is_seen),
		TEST(other_handles_switch_it_off),
		TEST(the_depth_may_be_set),
		TEST(policies_are_those_there_are),
		TEST(what_is_on_no_disk_is_not_taken),
		TEST(both_probes_see_the_same),
		TEST(files_are_mapped_in_part),
		TEST(where_nothing_is_cached_nobody_waits),
	};
	const char *reason;

	if (mkdtemp(directory) == NULL) {
		puts("skipped: no directory in /var/tmp");
		return 77;
	}
	reason = reason_to_skip();
	if (reason != NULL) {
		remove_all(NULL);
		printf("skipped: %s\n", reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, remove_all);
}
