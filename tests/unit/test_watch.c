// SPDX-License-Identifier: LGPL-3.0-or-later
/* Processes that open a watched file wait until it is not watched any more. Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ganesha-fsal/delegations/core/watch.h"
#include "tests/unit/gate.h"

#define FILE_NUMBER 3

static char path[] = "/dev/shm/canfs-test-watch-XXXXXX";
static struct canfs_watch *watch;
static unsigned int opened_count;
static struct canfs_watched file;
static int fd;
static atomic_bool settling;
static bool opened_is_held;
static unsigned int overtaken_count;
static atomic_bool may_overtake;

static void opened(uint64_t number)
{
	if (number == FILE_NUMBER)
		gate_pass(&opened_count, &opened_is_held);
}

static bool is_settling(uint64_t number)
{
	return number == FILE_NUMBER && atomic_load(&settling);
}

static bool overtake(uint64_t number)
{
	if (number == FILE_NUMBER)
		gate_count(&overtaken_count);
	return atomic_load(&may_overtake);
}

static void begin_brief(unsigned int wait_sec, unsigned int brief_msec)
{
	const struct canfs_watch_config config = { .opened = opened,
		.settles = is_settling,
		.overtake = overtake,
		.brief_msec = brief_msec,
		.wait_sec = wait_sec };
	struct stat st;
	int ret;

	opened_count = overtaken_count = 0;
	settling = false;
	may_overtake = true;
	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	file = (struct canfs_watched) { .dev = st.st_dev, .ino = st.st_ino, .file = FILE_NUMBER };
	ret = canfs_watch_new(&watch, &config);
	if (ret == -EPERM || ret == -ENOSYS || ret == -EINVAL) {
		unlink(path);
		skip();
	}
	assert_int_equal(ret, 0);
	assert_int_equal(canfs_watch_add(watch, fd, &file), 0);
}

static void begin(unsigned int wait_sec)
{
	begin_brief(wait_sec, 600000);
}

static void end(void)
{
	canfs_watch_free(watch);
	close(fd);
	unlink(path);
}

/* Another process: 0 if it could open the file, or write to what it had open. */
static pid_t other_opens_so(int flags)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(open(path, flags | O_CLOEXEC, 0600) >= 0 ? 0 : errno);
	assert_true(pid > 0);
	return pid;
}

static pid_t other_opens(void)
{
	return other_opens_so(O_RDONLY);
}

static int status_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void who_opens_it_waits(void **state)
{
	pid_t first, second;

	(void)state;
	begin(600);
	first = other_opens();
	second = other_opens();
	gate_await(&opened_count, 2);
	assert_int_equal(waitpid(first, NULL, WNOHANG), 0);
	assert_int_equal(waitpid(second, NULL, WNOHANG), 0);
	canfs_watch_remove(watch, dup(fd), &file);
	assert_int_equal(status_of(first), 0);
	assert_int_equal(status_of(second), 0);
	assert_int_equal(status_of(other_opens()), 0);
	end();
}

static void each_addition_is_removed(void **state)
{
	pid_t other;

	(void)state;
	begin(600);
	assert_int_equal(canfs_watch_add(watch, fd, &file), 0);
	canfs_watch_remove(watch, dup(fd), &file);
	other = other_opens();
	gate_await(&opened_count, 1);
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	canfs_watch_remove(watch, dup(fd), &file);
	assert_int_equal(status_of(other), 0);
	end();
}

static void this_process_does_not_wait(void **state)
{
	int own;

	(void)state;
	begin(600);
	own = open(path, O_RDWR | O_CLOEXEC);
	assert_true(own >= 0);
	assert_int_equal(write(own, "x", 1), 1);
	close(own);
	end();
	assert_int_equal(opened_count, 0);
}

static void who_had_it_open_is_seen_to_write(void **state)
{
	pid_t pid;

	(void)state;
	begin(600);
	pid = fork();
	if (pid == 0)
		_exit(write(fd, "x", 1) == 1 ? 0 : 1);
	gate_await(&opened_count, 1);
	assert_int_equal(status_of(pid), 0);
	end();
}

static void nobody_waits_longer_than_is_said(void **state)
{
	(void)state;
	begin(0);
	assert_int_equal(status_of(other_opens()), 0);
	gate_await(&opened_count, 1);
	end();
}

static void nobody_is_left_when_it_ends(void **state)
{
	pid_t other;

	(void)state;
	begin(600);
	other = other_opens();
	gate_await(&opened_count, 1);
	end();
	assert_int_equal(status_of(other), 0);
}

static void who_waits_goes_on_when_it_has_settled(void **state)
{
	pid_t before, meanwhile;

	(void)state;
	begin(600);
	before = other_opens();
	gate_await(&opened_count, 1);
	settling = true;
	canfs_watch_remove(watch, dup(fd), &file);
	meanwhile = other_opens();
	gate_await(&opened_count, 2);
	assert_int_equal(waitpid(before, NULL, WNOHANG), 0);
	settling = false;
	assert_int_equal(status_of(before), 0);
	assert_int_equal(status_of(meanwhile), 0);
	end();
}

/* A file that is deleted while it settles frees its space. */
static void what_settles_is_forgotten_when_it_is_deleted(void **state)
{
	int settles_by;

	(void)state;
	begin(600);
	canfs_watch_forget(watch, file.dev, file.ino); /* not a watched file */
	settling = true;
	settles_by = dup(fd);
	canfs_watch_remove(watch, settles_by, &file);
	assert_true(canfs_watch_any_settles(watch));
	assert_true(fcntl(settles_by, F_GETFD) >= 0);
	canfs_watch_forget(watch, file.dev, file.ino);
	assert_true(fcntl(settles_by, F_GETFD) < 0);
	assert_int_equal(status_of(other_opens()), 0);
	end();
}

static void what_settles_may_be_watched_again(void **state)
{
	pid_t other;

	(void)state;
	begin(600);
	settling = true;
	canfs_watch_remove(watch, dup(fd), &file);
	assert_int_equal(canfs_watch_add(watch, fd, &file), 0);
	settling = false;
	other = other_opens();
	gate_await(&opened_count, 1);
	canfs_watch_remove(watch, dup(fd), &file);
	assert_int_equal(status_of(other), 0);
	end();
}

static void nobody_waits_if_its_mark_is_left(void **state)
{
	(void)state;
	begin(600);
	canfs_watch_remove(watch, -1, &file);
	assert_int_equal(status_of(other_opens()), 0);
	assert_int_equal(opened_count, 0);
	end();
}

/* More files than descriptors: none is kept. */
static void no_descriptor_is_kept(void **state)
{
	int next;

	(void)state;
	begin(600);
	next = dup(fd);
	close(next);
	for (ino_t i = 1; i <= 100; i++) {
		file.ino += i;
		assert_int_equal(canfs_watch_add(watch, fd, &file), 0);
	}
	assert_int_equal(dup(fd), next);
	close(next);
	end();
}

/* A new file may get the inode number of a deleted file at once, before the old delegation is returned. */
static void another_file_of_that_number_is_watched(void **state)
{
	struct canfs_watched gone;
	pid_t other;

	(void)state;
	begin(600);
	gone = file;
	gone.file = FILE_NUMBER + 1;
	canfs_watch_remove(watch, dup(fd), &file);
	assert_int_equal(canfs_watch_add(watch, fd, &gone), 0);
	assert_int_equal(canfs_watch_add(watch, fd, &file), 0);
	canfs_watch_remove(watch, dup(fd), &gone);
	other = other_opens();
	gate_await(&opened_count, 1);
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	canfs_watch_remove(watch, dup(fd), &file);
	assert_int_equal(status_of(other), 0);
	end();
}

static void who_truncates_it_waits_briefly(void **state)
{
	pid_t reads;

	(void)state;
	begin_brief(600, 1);
	reads = other_opens();
	gate_await(&opened_count, 1);
	assert_int_equal(status_of(other_opens_so(O_WRONLY | O_TRUNC)), 0);
	assert_int_equal(status_of(other_opens_so(O_WRONLY | O_TRUNC | O_CREAT)), 0);
	gate_await(&overtaken_count, 2);
	assert_int_equal(waitpid(reads, NULL, WNOHANG), 0);
	canfs_watch_remove(watch, dup(fd), &file);
	assert_int_equal(status_of(reads), 0);
	end();
}

/* The holder's WRITE would come after it. */
static void who_truncates_it_is_refused_while_it_is_written(void **state)
{
	(void)state;
	begin_brief(600, 1);
	may_overtake = false;
	assert_int_equal(status_of(other_opens_so(O_WRONLY | O_TRUNC)), EPERM << 8);
	gate_await(&overtaken_count, 2);
	end();
}

/* The kernel refuses an open(2) if our thread has no free descriptor. */
static void who_opens_it_waits_without_descriptors(void **state)
{
	struct rlimit before, none;
	pid_t other;
	int last;

	(void)state;
	begin(600);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	last = dup(fd);
	none = (struct rlimit) { .rlim_cur = (rlim_t)last + 1, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(dup(fd), -1);
	assert_int_equal(errno, EMFILE);
	close(last);
	other = other_opens();
	last = dup(fd);
	gate_await(&opened_count, 1);
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	close(last);
	canfs_watch_remove(watch, dup(fd), &file);
	assert_int_equal(status_of(other), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	end();
}

/* Work for one file does not delay an open of another file. */
static void who_opens_another_file_does_not_wait_for_opened(void **state)
{
	pid_t waits;

	(void)state;
	begin(600);
	gate_set(&opened_is_held, true);
	waits = other_opens();
	gate_await(&opened_count, 1);
	canfs_watch_remove(watch, dup(fd), &file);
	assert_int_equal(status_of(waits), 0);
	assert_int_equal(status_of(other_opens()), 0);
	gate_set(&opened_is_held, false);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_opens_it_waits),
		cmocka_unit_test(each_addition_is_removed),
		cmocka_unit_test(this_process_does_not_wait),
		cmocka_unit_test(who_had_it_open_is_seen_to_write),
		cmocka_unit_test(nobody_waits_longer_than_is_said),
		cmocka_unit_test(nobody_is_left_when_it_ends),
		cmocka_unit_test(who_waits_goes_on_when_it_has_settled),
		cmocka_unit_test(what_settles_is_forgotten_when_it_is_deleted),
		cmocka_unit_test(what_settles_may_be_watched_again),
		cmocka_unit_test(nobody_waits_if_its_mark_is_left),
		cmocka_unit_test(no_descriptor_is_kept),
		cmocka_unit_test(another_file_of_that_number_is_watched),
		cmocka_unit_test(who_truncates_it_waits_briefly),
		cmocka_unit_test(who_truncates_it_is_refused_while_it_is_written),
		cmocka_unit_test(who_opens_it_waits_without_descriptors),
		cmocka_unit_test(who_opens_another_file_does_not_wait_for_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
