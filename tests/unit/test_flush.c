// SPDX-License-Identifier: LGPL-3.0-or-later
/* How files that are open for writing are flushed, and dropped. */
#include "tests/unit/fake_root.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "client-agent/actuators/flush.h"

#define MIB      (UINT64_C(1) << 20)
#define NOT_OPEN (-1)

static const struct canfs_flush_terms all_terms = { .hurries = true },
				      exact_terms = { .exact = true, .hurries = true };

static void grow(const struct fake_root *root, const char *path, uint64_t bytes)
{
	char full[PATH_MAX];

	fake_root_full(root, path, full);
	assert_int_equal(truncate(full, (off_t)bytes), 0);
}

/* A file of so many bytes, all hole. */
static void make_file(const struct fake_root *root, const char *path, uint64_t bytes)
{
	fake_root_write(root, path, "");
	grow(root, path, bytes);
}

static void add_writer(
	struct canfs_writers *writers, const struct fake_root *root, const char *path)
{
	char full[PATH_MAX];

	fake_root_full(root, path, full);
	int fd = open(full, O_RDONLY);
	assert_true(fd >= 0);
	writers->writer[writers->n++] = (struct canfs_writer) { .fd = fd };
}

static void test_appended_first_then_round(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_writers writers = { 0 };
	const struct canfs_writer *w = &writers.writer[0];
	unsigned int errors = 0;

	make_file(root, "/a", 10 * MIB + 100);
	add_writer(&writers, root, "/a");
	assert_int_equal(canfs_flush(&writers, 4 * MIB, &all_terms, &errors), 4 * MIB);
	assert_int_equal(w->tail_bytes, 4 * MIB);
	assert_int_equal(canfs_flush(&writers, 4 * MIB, &all_terms, &errors), 4 * MIB);
	/* It does not grow any more: to its very end, then round, for what was overwritten. */
	assert_int_equal(canfs_flush(&writers, 4 * MIB, &all_terms, &errors), 4 * MIB);
	assert_int_equal(w->tail_bytes, 10 * MIB + 100);
	assert_int_equal(w->walk_bytes, 2 * MIB - 100);
	/* It grows: that comes first, but for the unit that is being written. */
	grow(root, "/a", 12 * MIB + 5);
	assert_true(canfs_flush(&writers, 4 * MIB, &all_terms, &errors) > 0);
	assert_int_equal(w->tail_bytes, 12 * MIB);
	/* Truncated: the cursors follow. */
	grow(root, "/a", MIB);
	canfs_flush(&writers, 4 * MIB, &all_terms, &errors);
	assert_true(w->tail_bytes <= MIB && w->walk_bytes <= MIB);
	assert_int_equal(errors, 0);
	canfs_writers_close(&writers);
}

/* What is overwritten will be overwritten again: it waits until it must leave. A file that was there before counts as overwritten. */
static void test_what_is_overwritten_waits(void **state)
{
	const struct canfs_flush_terms terms = { .exact = false };
	const struct fake_root *root = *state;
	struct canfs_writers writers = { 0 };
	unsigned int errors = 0;

	make_file(root, "/a", 8 * MIB);
	add_writer(&writers, root, "/a");
	for (int i = 0; i < 3; i++)
		assert_int_equal(canfs_flush(&writers, 8 * MIB, &terms, &errors), 0);
	assert_int_equal(canfs_flush(&writers, 16 * MIB, &all_terms, &errors), 16 * MIB);
	grow(root, "/a", 12 * MIB);
	assert_int_equal(canfs_flush(&writers, 16 * MIB, &terms, &errors), 4 * MIB);
	assert_int_equal(canfs_flush(&writers, 16 * MIB, &terms, &errors), 0);
	assert_int_equal(errors, 0);
	canfs_writers_close(&writers);
}

/* Nobody knows how much of a file had been written when its writer was found: once it grows, all of it counts as appended. */
static void test_what_grows_leaves_at_once(void **state)
{
	const struct canfs_flush_terms terms = { .exact = false };
	const struct fake_root *root = *state;
	struct canfs_writers writers = { 0 };
	unsigned int errors = 0;

	make_file(root, "/a", 3 * MIB);
	add_writer(&writers, root, "/a");
	assert_int_equal(canfs_flush(&writers, 16 * MIB, &terms, &errors), 0);
	grow(root, "/a", 5 * MIB + 7);
	assert_int_equal(canfs_flush(&writers, 16 * MIB, &terms, &errors), 5 * MIB);
	assert_int_equal(canfs_flush(&writers, 16 * MIB, &terms, &errors), 7); /* it has stopped */
	assert_int_equal(canfs_flush(&writers, 16 * MIB, &terms, &errors), 0);
	canfs_writers_close(&writers);
}

static void needs_a_disk(const struct fake_root *root)
{
	struct statfs file_system;

	assert_int_equal(statfs(root->path, &file_system), 0);
	if (file_system.f_type == TMPFS_MAGIC) {
		print_message("tmpfs keeps its pages\n");
		skip();
	}
}

static size_t resident_pages(int fd, size_t bytes)
{
	size_t pages = bytes / (size_t)sysconf(_SC_PAGESIZE), n = 0;
	unsigned char *resident = malloc(pages);
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	assert_true(map != MAP_FAILED);
	assert_int_equal(mincore(map, bytes, resident), 0);
	for (size_t i = 0; i < pages; i++)
		n += resident[i] & 1;
	munmap(map, bytes);
	free(resident);
	return n;
}

/* So many; the kernel may take some by itself at any time. */
static void assert_kept(int fd, size_t bytes, size_t kept_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), kept = kept_bytes / page;

	/* A large folio that is not all in the range of what goes stays. */
	assert_in_range(
		resident_pages(fd, bytes), kept - kept / 4, kept + (kept_bytes < bytes ? 512 : 0));
}

/* A file in the page cache, clean. */
static void fill(const struct fake_root *root, const char *path, size_t bytes)
{
	char full[PATH_MAX], *data = calloc(1, bytes);

	fake_root_full(root, path, full);
	int fd = open(full, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, data, bytes), bytes);
	assert_int_equal(fsync(fd), 0);
	close(fd);
	free(data);
}

/* A large file that is only written, as far as it was sent; no other. */
static void test_drop_behind(void **state)
{
	const size_t bytes = 2 * CANFS_DROP_MIN_BYTES;
	const struct fake_root *root = *state;
	struct canfs_writers writers = { 0 };
	struct canfs_writer *writer = &writers.writer[0];

	needs_a_disk(root);
	fill(root, "/a", bytes);
	add_writer(&writers, root, "/a");
	writer->tail_bytes = bytes;
	canfs_writer_drop_behind(writer); /* may be read by its writer */
	assert_kept(writer->fd, bytes, bytes);
	writer->write_only = true;
	writer->tail_bytes = CANFS_DROP_MIN_BYTES - 1; /* small, so far */
	canfs_writer_drop_behind(writer);
	assert_kept(writer->fd, bytes, bytes);
	writer->tail_bytes = bytes / 2;
	canfs_writer_drop_behind(writer);
	assert_kept(writer->fd, bytes, bytes / 2);
	/* Its writer pauses: what somebody reads of it now is theirs. */
	for (unsigned int i = 0; i < CANFS_DROP_TRIES; i++)
		canfs_writer_drop_behind(writer);
	fill(root, "/a", bytes);
	canfs_writer_drop_behind(writer);
	assert_kept(writer->fd, bytes, bytes);
	writer->tail_bytes = bytes;
	canfs_writer_drop_behind(writer);
	assert_kept(writer->fd, bytes, 0);
	canfs_writers_close(&writers);
}

static void test_files_take_turns(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_writers writers = { 0 };
	unsigned int errors = 0;

	make_file(root, "/a", 64 * MIB);
	make_file(root, "/b", 64 * MIB);
	add_writer(&writers, root, "/a");
	add_writer(&writers, root, "/b");
	assert_int_equal(canfs_flush(&writers, 16 * MIB, &all_terms, &errors), 16 * MIB);
	assert_int_equal(writers.writer[0].tail_bytes, 8 * MIB);
	assert_int_equal(writers.writer[1].tail_bytes, 8 * MIB);
	canfs_writers_close(&writers);
}

static void test_nothing_to_flush(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_writers writers = { 0 };
	unsigned int errors = 0;

	assert_int_equal(canfs_flush(&writers, 4 * MIB, &all_terms, &errors), 0);
	make_file(root, "/empty", 0);
	make_file(root, "/tiny", 5);
	add_writer(&writers, root, "/empty");
	add_writer(&writers, root, "/tiny");
	for (int i = 0; i < 5; i++) /* ends although a chunk is never full */
		assert_true(canfs_flush(&writers, 4 * MIB, &all_terms, &errors) <= 15);
	assert_int_equal(errors, 0);
	writers.writer[writers.n++] = (struct canfs_writer) { .fd = NOT_OPEN };
	canfs_flush(&writers, 4 * MIB, &all_terms, &errors);
	assert_true(errors > 0);
	writers.n--;
	canfs_writers_close(&writers);
}

static void needs_cachestat(void)
{
	if (!canfs_flush_exact()) {
		print_message("no cachestat(2) on this kernel\n");
		skip();
	}
}

/* A hole of 3 GiB has nothing dirty; the bytes behind it are found at once. */
static void test_clean_ranges_are_skipped(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_writers writers = { 0 };
	unsigned int errors = 0;
	uint64_t asked = 0;

	needs_cachestat();
	make_file(root, "/hole", 3000 * MIB);
	add_writer(&writers, root, "/hole");
	for (int i = 0; i < 8; i++)
		asked += canfs_flush(&writers, 4 * MIB, &exact_terms, &errors);
	assert_int_equal(asked, 0);
	assert_int_equal(errors, 0);
	assert_int_equal(writers.writer[0].tail_bytes, 3000 * MIB);
	canfs_writers_close(&writers);
}

/* What is clean all round is not walked again at once. */
static void test_a_walk_for_nothing_is_not_repeated_at_once(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_writers writers = { 0 };
	const struct canfs_writer *w = &writers.writer[0];
	unsigned int errors = 0;
	uint64_t walked;

	needs_cachestat();
	make_file(root, "/hole", 400 * MIB);
	add_writer(&writers, root, "/hole");
	canfs_flush(&writers, 4 * MIB, &exact_terms, &errors);
	walked = w->walk_bytes;
	canfs_flush(&writers, 4 * MIB, &exact_terms, &errors);
	assert_int_equal(w->walk_bytes, walked);
	for (int i = 0; i < 24; i++)
		canfs_flush(&writers, 4 * MIB, &exact_terms, &errors);
	assert_true(w->walk_bytes != walked);
	assert_int_equal(errors, 0);
	canfs_writers_close(&writers);
}

/* What is clean was sent, though not by us. */
static void test_what_the_kernel_sent_is_passed(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_writers writers = { 0 };
	const struct canfs_writer *w = &writers.writer[0];
	uint64_t bytes = 8 * MIB;
	char full[PATH_MAX] = "";

	needs_cachestat();
	needs_a_disk(root);
	fill(root, "/a", bytes);
	add_writer(&writers, root, "/a");
	fake_root_full(root, "/a", full);
	int fd = open(full, O_WRONLY | O_APPEND);
	canfs_flush_pass_sent(&writers);
	do { /* until no other process has just made the kernel send it (sync(2)) */
		assert_int_equal(write(fd, full, sizeof(full)), sizeof(full));
		bytes += sizeof(full);
		for (int i = 0; i < 2; i++) /* it grew: up to its last whole unit; and then all */
			canfs_flush_pass_sent(&writers);
	} while (w->tail_bytes == bytes && bytes < 9 * MIB);
	assert_in_range(w->tail_bytes, 8 * MIB, bytes - sizeof(full));
	assert_int_equal(fsync(fd), 0);
	canfs_flush_pass_sent(&writers);
	assert_int_equal(w->tail_bytes, bytes);
	close(fd);
	canfs_writers_close(&writers);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_appended_first_then_round),
		TEST(test_what_is_overwritten_waits),
		TEST(test_what_grows_leaves_at_once),
		TEST(test_drop_behind),
		TEST(test_files_take_turns),
		TEST(test_nothing_to_flush),
		TEST(test_clean_ranges_are_skipped),
		TEST(test_a_walk_for_nothing_is_not_repeated_at_once),
		TEST(test_what_the_kernel_sent_is_passed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
