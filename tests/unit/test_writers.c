// SPDX-License-Identifier: LGPL-3.0-or-later
/* Which files are open for writing, on a made-up /proc. */
#include "tests/unit/fake_root.h"

#include <fcntl.h>

#include "client-agent/kernel/writers.h"

#define NFS_ID 25

/* Two mounts of the BDI, and others. */
static const char mountinfo[] = "25 1 0:41 / /mnt/a rw - nfs s:/a rw\n"
				"26 1 0:41 /x /mnt/b rw - nfs s:/a rw\n"
				"32 1 0:42 / /mnt/c rw - nfs s:/c rw\n"
				"33 torn";

static int setup(void **state)
{
	fake_root_setup(state);
	fake_root_write(*state, "/proc/meminfo", "");
	return 0;
}

/* A file of so many bytes; its inode. */
static uint64_t make_file(const struct fake_root *root, const char *path, off_t bytes)
{
	char full[PATH_MAX];
	struct stat st;

	fake_root_write(root, path, "");
	fake_root_full(root, path, full);
	assert_int_equal(truncate(full, bytes), 0);
	assert_int_equal(stat(full, &st), 0);
	return st.st_ino;
}

/* Process pid has file open as fd. */
static void open_file(const struct fake_root *root, int pid, int fd, const char *file,
	unsigned int flags, int mount_id, uint64_t inode)
{
	char path[64], text[128], from[PATH_MAX], to[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	snprintf(text, sizeof(text), "pos:\t0\nflags:\t0%o\nmnt_id:\t%d\nino:\t%llu\n", flags,
		mount_id, (unsigned long long)inode);
	fake_root_write(root, path, text);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	fake_root_write(root, path, mountinfo);
	fake_root_namespace(root, pid, "mnt:[1]");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	fake_root_write(root, path, "");
	fake_root_full(root, path, from);
	fake_root_full(root, file, to);
	assert_int_equal(unlink(from), 0);
	assert_int_equal(symlink(to, from), 0);
}

static void close_file(const struct fake_root *root, int pid, int fd)
{
	char path[64], full[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	fake_root_full(root, path, full);
	assert_int_equal(unlink(full), 0);
}

static void init(struct canfs_writers *writers)
{
	canfs_writers_init(writers, (struct canfs_bdi) { 0, 41 });
}

static void test_only_writers_on_the_mount(void **state)
{
	const struct fake_root *root = *state;
	uint64_t a = make_file(root, "/a", 10), b = make_file(root, "/b", 10);
	struct canfs_writers writers;

	init(&writers);
	open_file(root, 100, 3, "/a", O_WRONLY, NFS_ID, a);
	open_file(root, 100, 4, "/b", O_RDONLY, NFS_ID, b);
	open_file(root, 200, 3, "/b", O_RDWR, NFS_ID + 7, b);
	open_file(root, 200, 4, "/b", O_RDWR | O_PATH, NFS_ID, b);
	open_file(root, 200, 5, "/a", O_RDWR, NFS_ID + 1, a); /* the same file once more */
	assert_int_equal(canfs_writers_scan(&writers, root->path), 0);
	assert_int_equal(writers.n, 1);
	assert_int_equal(writers.writer[0].pid, 100);
	assert_int_equal(fcntl(writers.writer[0].fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	open_file(root, 300, 9, "/b", O_RDWR, NFS_ID, b);
	assert_int_equal(canfs_writers_scan(&writers, root->path), 0);
	assert_int_equal(writers.n, 2);
	assert_int_equal(writers.errors, 0);
	canfs_writers_close(&writers);
}

/* A container host: the mount is bound into each container. */
static void test_a_bind_of_hundreds(void **state)
{
	const struct fake_root *root = *state;
	uint64_t a = make_file(root, "/a", 10);
	char *binds = calloc(300, 64), *at = binds;
	struct canfs_writers writers;

	for (int i = 1; i <= 300; i++)
		at += sprintf(at, "%d 1 0:41 / /pods/%d rw - nfs s:/a rw\n", i, i);
	init(&writers);
	open_file(root, 100, 3, "/a", O_WRONLY, 300, a);
	fake_root_write(root, "/proc/100/mountinfo", binds);
	assert_int_equal(canfs_writers_scan(&writers, root->path), 0);
	assert_int_equal(writers.n, 1);
	canfs_writers_close(&writers);
	free(binds);
}

/* What was held for long is nobody's we know: the files were let go meanwhile, or are new. */
static void test_who_is_not_known_is_looked_for_sooner(void **state)
{
	const struct fake_root *root = *state;
	uint64_t a = make_file(root, "/a", 10);
	struct canfs_writers writers;

	init(&writers);
	open_file(root, 100, 3, "/a", O_WRONLY, NFS_ID, a);
	assert_int_equal(canfs_writers_rest_usec(&writers, 5000, false), 50000);
	assert_int_equal(canfs_writers_scan(&writers, root->path), 0);
	assert_int_equal(canfs_writers_rest_usec(&writers, 5000, true), 10000000);
	assert_int_equal(canfs_writers_rest_usec(&writers, 5000, false), 1250000);
	canfs_writers_close(&writers);
	assert_int_equal(canfs_writers_rest_usec(&writers, 5000, true), 1250000);
}

/* In a container the same mount has another ID, and its ID may be another mount's here. */
static void test_mount_namespaces(void **state)
{
	const struct fake_root *root = *state;
	uint64_t a = make_file(root, "/a", 10), b = make_file(root, "/b", 10);
	struct canfs_writers writers;

	init(&writers);
	open_file(root, 100, 3, "/a", O_WRONLY, 700, a);
	open_file(root, 100, 4, "/b", O_WRONLY, NFS_ID, b);
	fake_root_write(root, "/proc/100/mountinfo", "700 1 0:41 / /data rw - nfs s:/a rw\n");
	fake_root_namespace(root, 100, "mnt:[2]");
	open_file(root, 200, 3, "/a", O_RDONLY, NFS_ID, a);
	canfs_writers_scan(&writers, root->path);
	assert_int_equal(writers.n, 1);
	assert_int_equal(writers.writer[0].inode, a);
	canfs_writers_recheck(&writers, root->path);
	assert_int_equal(writers.n, 1);
	canfs_writers_close(&writers);
}

static void test_let_go_when_the_writer_is_gone(void **state)
{
	const struct fake_root *root = *state;
	uint64_t a = make_file(root, "/a", 10), b = make_file(root, "/b", 10);
	struct canfs_writers writers;

	init(&writers);
	open_file(root, 100, 3, "/a", O_WRONLY, NFS_ID, a);
	open_file(root, 100, 4, "/b", O_WRONLY, NFS_ID, b);
	canfs_writers_scan(&writers, root->path);
	assert_int_equal(writers.n, 2);
	close_file(root, 100, 3);
	canfs_writers_recheck(&writers, root->path);
	assert_int_equal(writers.n, 1);
	assert_int_equal(writers.writer[0].inode, b);
	open_file(root, 100, 4, "/a", O_WRONLY, NFS_ID, a); /* its number is another file's */
	canfs_writers_recheck(&writers, root->path);
	assert_int_equal(writers.n, 0);
	canfs_writers_close(&writers);
}

/* A FIFO on the mount would block us, a device might do anything. */
static void test_other_kinds_of_files(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_writers writers;
	char path[PATH_MAX];
	struct stat st;

	init(&writers);
	fake_root_full(root, "/fifo", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(stat(path, &st), 0);
	open_file(root, 100, 3, "/fifo", O_WRONLY, NFS_ID, st.st_ino);
	uint64_t a = make_file(root, "/a", 10);
	open_file(root, 100, 4, "/a", O_WRONLY, NFS_ID, a + 1); /* raced: another inode */
	open_file(root, 100, 5, "/none", O_WRONLY, NFS_ID, a + 2);
	assert_int_equal(canfs_writers_scan(&writers, root->path), 0);
	assert_int_equal(writers.n, 0);
}

static void test_bounds(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_writers writers;
	char name[16];

	init(&writers);
	for (int i = 0; i < CANFS_WRITERS_MAX + 10; i++) {
		snprintf(name, sizeof(name), "/f%d", i);
		open_file(root, 100 + i, 3, name, O_WRONLY, NFS_ID, make_file(root, name, 1));
	}
	canfs_writers_scan(&writers, root->path);
	assert_int_equal(writers.n, CANFS_WRITERS_MAX);
	canfs_writers_close(&writers);
}

/* Thousands of processes that have nothing there are not all looked at in one go. */
static void test_many_processes(void **state)
{
	struct fake_root *root = *state;
	struct canfs_writers writers;
	char path[64], full[PATH_MAX];

	for (int pid = 1; pid <= CANFS_WRITERS_SCAN_FILES + 1; pid++) {
		snprintf(path, sizeof(path), "/proc/%d", pid);
		fake_root_full(root, path, full);
		assert_int_equal(mkdir(full, 0755), 0);
	}
	canfs_writers_init(&writers, (struct canfs_bdi) { 0, 41 });
	assert_int_equal(canfs_writers_scan(&writers, root->path), 0);
	assert_true(writers.next_pid > 0);
}

static void test_fdinfo(void **state)
{
	static const char whole[] =
		"pos:\t0\nflags:\t0100001\nmnt_id:\t25\nino:\t77\nlock:\t1: x\n";
	struct canfs_fdinfo fdinfo;
	char cut[sizeof(whole)];

	(void)state;
	assert_int_equal(canfs_fdinfo_parse(whole, &fdinfo), 0);
	assert_int_equal(fdinfo.flags, 0100001);
	assert_int_equal(fdinfo.mount_id, 25);
	assert_int_equal(fdinfo.inode, 77);
	for (const char *end = strstr(whole, "\nlock"); end > whole; end--) {
		snprintf(cut, sizeof(cut), "%.*s", (int)(end - whole), whole);
		assert_int_equal(canfs_fdinfo_parse(cut, &fdinfo), -EPROTO);
	}
	assert_int_equal(canfs_fdinfo_parse("flags:\t-1\nmnt_id:\t1\nino:\t1\n", &fdinfo), -EPROTO);
	assert_int_equal(canfs_fdinfo_parse("flags:\t01\nmnt_id:\t99999999999\nino:\t1\n", &fdinfo),
		-EPROTO);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_only_writers_on_the_mount),
		TEST(test_a_bind_of_hundreds),
		TEST(test_who_is_not_known_is_looked_for_sooner),
		TEST(test_mount_namespaces),
		TEST(test_let_go_when_the_writer_is_gone),
		TEST(test_other_kinds_of_files),
		TEST(test_bounds),
		TEST(test_many_processes),
		cmocka_unit_test(test_fdinfo),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
