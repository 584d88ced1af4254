// SPDX-License-Identifier: LGPL-3.0-or-later
/* Which files are open for writing, on this kernel's own /proc. */
#include "tests/unit/fake_root.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "client-agent/kernel/writers.h"

/* Of this very process: readers are told from writers by what the kernel's links say. */
static void test_this_kernel(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_writers writers;
	char read_path[PATH_MAX], write_path[PATH_MAX];
	struct stat st;

	fake_root_write(root, "/read", "");
	fake_root_write(root, "/write", "");
	fake_root_full(root, "/read", read_path);
	fake_root_full(root, "/write", write_path);
	int reads = open(read_path, O_RDONLY | O_CLOEXEC);
	int writes = open(write_path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(fstat(writes, &st), 0);
	canfs_writers_init(&writers, (struct canfs_bdi) { major(st.st_dev), minor(st.st_dev) });
	writers.next_pid = getpid();
	assert_int_equal(canfs_writers_scan(&writers, ""), 0);
	size_t found = 0;
	for (size_t i = 0; i < writers.n; i++) {
		if (writers.writer[i].pid != getpid())
			continue;
		found += writers.writer[i].inode == st.st_ino;
		assert_int_equal(writers.writer[i].writer_fd == reads, false);
	}
	assert_int_equal(found, 1);
	canfs_writers_close(&writers);
	close(reads);
	close(writes);
}

static void step(int to, int from)
{
	char c = 0;

	assert_int_equal(write(to, &c, 1), 1);
	assert_int_equal(read(from, &c, 1), 1);
}

/* A process that opens a file to write for each byte that it is sent. Returns its PID. */
static int start_opener(const char *path, int *to, int *from)
{
	int in[2], out[2];
	char c;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	int pid = fork();
	if (pid == 0) {
		close(in[1]);
		while (read(in[0], &c, 1) == 1) {
			if (open(path, O_WRONLY) < 0 || write(out[1], &c, 1) != 1)
				break;
		}
		_exit(EXIT_SUCCESS);
	}
	close(in[0]);
	close(out[1]);
	*to = in[1];
	*from = out[0];
	return pid;
}

/* Looks through the processes from pid on, with no file known. Is this one found? */
static bool finds(struct canfs_writers *writers, int pid)
{
	bool found = false;

	writers->next_pid = pid;
	assert_int_equal(canfs_writers_scan(writers, ""), 0);
	while (writers->n > 0) {
		found |= writers->writer[--writers->n].pid == pid;
		close(writers->writer[writers->n].fd);
	}
	return found;
}

/* A process that has not run is not looked at again. */
static void test_who_has_not_run(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_writers writers;
	char path[PATH_MAX];
	struct stat st;
	int to, from, tries = 0;

	fake_root_write(root, "/write", "");
	fake_root_full(root, "/write", path);
	assert_int_equal(stat(path, &st), 0);
	canfs_writers_init(&writers, (struct canfs_bdi) { major(st.st_dev), minor(st.st_dev) });
	int pid = start_opener(path, &to, &from);
	step(to, from);
	assert_true(finds(&writers, pid));
	while (finds(&writers, pid)) { /* it may just be going to sleep */
		assert_true(++tries < 100);
		usleep(10000);
	}
	step(to, from);
	assert_true(finds(&writers, pid));
	/* Let go of on purpose, it is news again. */
	step(to, from);
	writers.next_pid = pid;
	canfs_writers_scan(&writers, "");
	canfs_writers_close(&writers);
	assert_true(finds(&writers, pid));
	close(to);
	close(from);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_this_kernel),
		TEST(test_who_has_not_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
