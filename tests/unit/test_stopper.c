// SPDX-License-Identifier: LGPL-3.0-or-later
/* Are real processes stopped and continued, by signals and by a control group, and by the watchdog if we are gone? */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "canfsctl/run/process.h"
#include "canfsctl/run/watchdog.h"
#include "common/file.h"

#define STUCK_MSEC 30000 /* the test failed: nothing happens any more */
#define LONG_USEC  3600000000u

/* A job that starts a child, as a shell does, and what stops it. */
struct fixture {
	struct canfs_process process;
	struct canfs_stopper stopper;
	int end_fd;  /* of a pipe that the job holds open: its end is that of all its processes */
	int held_fd; /* that end of it */
	bool is_governed; /* by a process of its own */
};

static void sleep_msec(long msec)
{
	nanosleep(&(struct timespec) { .tv_nsec = msec * 1000000 }, NULL);
}

/* "R", "S", "T" ... of /proc/PID/stat; 0: gone. */
static char state_of(pid_t pid)
{
	char path[64], text[512];
	const char *name_end;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (canfs_read_file("", path, text, sizeof(text)) < 0)
		return 0;
	name_end = strrchr(text, ')');
	return name_end ? name_end[2] : 0;
}

static bool runs(pid_t pid)
{
	char state = state_of(pid);

	return state == 'R' || state == 'S';
}

/* The kernel's own word that a group is frozen. */
static bool is_frozen(const struct canfs_freezer *freezer)
{
	char text[256];

	assert_true(canfs_read_file(freezer->path, "/cgroup.events", text, sizeof(text)) > 0);
	return strstr(text, "frozen 1");
}

static bool is_stopped(const struct fixture *fixture)
{
	if (fixture->stopper.how == CANFS_STOP_CGROUP)
		return is_frozen(&fixture->stopper.freezer);
	return state_of(fixture->process.pid) == 'T';
}

static void await_stopped(const struct fixture *fixture, bool stopped)
{
	for (int msec = 0; is_stopped(fixture) != stopped; msec += 10) {
		assert_true(msec < STUCK_MSEC);
		sleep_msec(10);
	}
}

static void open_pipe(struct fixture *fixture)
{
	int ends[2];

	assert_int_equal(pipe2(ends, 0), 0);
	assert_int_equal(fcntl(ends[0], F_SETFD, FD_CLOEXEC), 0);
	fixture->end_fd = ends[0];
	fixture->held_fd = ends[1];
}

static int start_job(struct fixture *fixture, bool signals)
{
	char *argv[] = { "sh", "-c", "sleep 1000 & wait", NULL };
	sigset_t none;
	int ret;

	sigemptyset(&none);
	ret = canfs_process_start(&fixture->process, argv, &none);
	close(fixture->held_fd);
	if (ret < 0)
		return ret;
	canfs_stopper_adopt(&fixture->stopper, fixture->process.pid, signals);
	return canfs_process_go(&fixture->process, fixture->stopper.how == CANFS_STOP_GROUP);
}

static void start(struct fixture *fixture, bool signals)
{
	open_pipe(fixture);
	assert_int_equal(start_job(fixture, signals), 0);
}

static void kill_all(const struct fixture *fixture)
{
	char path[PATH_MAX + 32];
	int fd;

	if (fixture->stopper.how == CANFS_STOP_GROUP) {
		kill(-fixture->process.pid, SIGKILL);
	} else {
		snprintf(path, sizeof(path), "%s/cgroup.kill", fixture->stopper.freezer.path);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		assert_true(fd >= 0 && write(fd, "1", 1) == 1);
		close(fd);
	}
}

static void end(struct fixture *fixture)
{
	char word;

	kill_all(fixture);
	assert_int_equal(waitpid(fixture->process.pid, NULL, 0), fixture->process.pid);
	assert_int_equal(read(fixture->end_fd, &word, 1), 0);
	close(fixture->end_fd);
	if (fixture->stopper.is_ours)
		canfs_freezer_remove_when_empty(&fixture->stopper.freezer);
	canfs_stopper_fini(&fixture->stopper);
}

static void check_stop_and_continue(bool signals)
{
	struct fixture fixture;

	start(&fixture, signals);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(canfs_stopper_set(&fixture.stopper, true), 0);
		await_stopped(&fixture, true);
		assert_int_equal(canfs_stopper_set(&fixture.stopper, false), 0);
		await_stopped(&fixture, false);
	}
	end(&fixture);
}

/* cmocka's skip() says no reason. */
static bool has_cgroup2(void)
{
	struct canfs_freezer freezer;
	int ret = canfs_freezer_create(&freezer);

	if (ret < 0) {
		print_message("skipped: no control group of version 2: %s\n", strerror(-ret));
		return false;
	}
	canfs_freezer_remove(&freezer);
	canfs_freezer_close(&freezer);
	return true;
}

static void test_signals(void **state)
{
	(void)state;
	check_stop_and_continue(true);
}

static void test_cgroup(void **state)
{
	struct fixture fixture;

	(void)state;
	if (!has_cgroup2())
		skip();
	check_stop_and_continue(false);
	start(&fixture, false);
	assert_int_equal(fixture.stopper.how, CANFS_STOP_CGROUP);
	assert_false(canfs_freezer_is_empty(&fixture.stopper.freezer));
	assert_false(canfs_freezer_has(&fixture.stopper.freezer, getpid()));
	end(&fixture);
	assert_true(canfs_freezer_is_empty(&fixture.stopper.freezer));
	assert_int_equal(access(fixture.stopper.freezer.path, F_OK), -1);
}

/* The job's parent, and the only one of its session. What it shares with the test is not to be written by its children. */
static void govern_until_killed(struct fixture *shared, bool signals)
{
	struct fixture fixture = *shared;
	struct canfs_watchdog watchdog;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* should the test fail */
	setsid();
	signal(SIGHUP, SIG_DFL);
	if (start_job(&fixture, signals) < 0 ||
		canfs_watchdog_start(&watchdog, &fixture.stopper, LONG_USEC) < 0 ||
		canfs_watchdog_tell(&watchdog, CANFS_JOB_PAUSED) < 0 ||
		canfs_stopper_set(&fixture.stopper, true) < 0)
		_exit(1);
	*shared = fixture;
	__atomic_store_n(&shared->is_governed, true, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

/* A governor that pauses its job and then is killed; the job's parent is the test from then on. */
static void check_killed_governor(bool signals)
{
	struct fixture *fixture = mmap(
		NULL, sizeof(*fixture), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t governor;

	assert_ptr_not_equal(fixture, MAP_FAILED);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	open_pipe(fixture);
	governor = fork();
	if (governor == 0)
		govern_until_killed(fixture, signals);
	assert_true(governor > 0);
	close(fixture->held_fd);
	for (int msec = 0; !__atomic_load_n(&fixture->is_governed, __ATOMIC_ACQUIRE); msec += 10) {
		assert_true(msec < STUCK_MSEC);
		sleep_msec(10);
	}
	await_stopped(fixture, true);
	kill(governor, SIGKILL);
	assert_int_equal(waitpid(governor, NULL, 0), governor);
	await_stopped(fixture, false);
	assert_true(runs(fixture->process.pid));
	fixture->stopper.end_fd = fixture->stopper.freezer.freeze_fd = -1; /* its numbers */
	end(fixture);
	munmap(fixture, sizeof(*fixture));
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

static void test_watchdog_of_a_killed_governor(void **state)
{
	(void)state;
	check_killed_governor(true);
}

static void test_watchdog_of_a_killed_governor_cgroup(void **state)
{
	(void)state;
	if (!has_cgroup2())
		skip();
	check_killed_governor(false);
}

static void test_watchdog_of_one_that_hangs(void **state)
{
	struct canfs_watchdog watchdog;
	struct fixture fixture;

	(void)state;
	start(&fixture, true);
	assert_int_equal(canfs_watchdog_start(&watchdog, &fixture.stopper, 300000), 0);
	assert_int_equal(canfs_watchdog_tell(&watchdog, CANFS_JOB_PAUSED), 0);
	assert_int_equal(canfs_stopper_set(&fixture.stopper, true), 0);
	await_stopped(&fixture, true);
	await_stopped(&fixture, false);
	canfs_watchdog_end(&watchdog);
	end(&fixture);
}

static void test_a_watchdog_that_is_gone(void **state)
{
	struct canfs_watchdog watchdog;
	struct fixture fixture;

	(void)state;
	start(&fixture, true);
	assert_int_equal(canfs_watchdog_start(&watchdog, &fixture.stopper, LONG_USEC), 0);
	kill(watchdog.pid, SIGKILL);
	while (state_of(watchdog.pid) != 'Z')
		sleep_msec(10);
	assert_int_equal(canfs_watchdog_tell(&watchdog, CANFS_JOB_PAUSED), -EPIPE);
	canfs_watchdog_end(&watchdog);
	end(&fixture);
}

/* The one that governs is gone, and had continued the job before; somebody else has stopped it. */
static void test_watchdog_leaves_alone_what_others_stop(void **state)
{
	struct canfs_watchdog watchdog;
	struct fixture fixture;

	(void)state;
	start(&fixture, true);
	assert_int_equal(canfs_watchdog_start(&watchdog, &fixture.stopper, LONG_USEC), 0);
	assert_int_equal(canfs_watchdog_tell(&watchdog, CANFS_JOB_PAUSED), 0);
	assert_int_equal(canfs_watchdog_tell(&watchdog, CANFS_JOB_RUNS), 0);
	kill(fixture.process.pid, SIGSTOP);
	await_stopped(&fixture, true);
	canfs_watchdog_leave(&watchdog);
	assert_int_equal(waitpid(watchdog.pid, NULL, 0), watchdog.pid);
	assert_true(is_stopped(&fixture));
	end(&fixture);
}

/* The one that governs is suspended for longer than the limit of a pause, and then killed. */
static void test_watchdog_of_a_suspended_job(void **state)
{
	struct canfs_watchdog watchdog;
	struct fixture fixture;

	(void)state;
	start(&fixture, true);
	assert_int_equal(canfs_watchdog_start(&watchdog, &fixture.stopper, 1000), 0);
	assert_int_equal(canfs_watchdog_tell(&watchdog, CANFS_JOB_SUSPENDED), 0);
	assert_int_equal(canfs_stopper_set(&fixture.stopper, true), 0);
	await_stopped(&fixture, true);
	sleep_msec(200);
	assert_true(is_stopped(&fixture));
	canfs_watchdog_leave(&watchdog);
	assert_int_equal(waitpid(watchdog.pid, NULL, 0), watchdog.pid);
	await_stopped(&fixture, false);
	end(&fixture);
}

/* What takes the place of cgroup.freeze is a pipe: full, and read later. */
static void test_watchdog_of_one_that_cannot_be_continued_yet(void **state)
{
	struct canfs_stopper stopper = { .how = CANFS_STOP_CGROUP };
	struct canfs_watchdog watchdog;
	char text[4096] = { 0 };
	struct pollfd polled;
	ssize_t got;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	stopper.freezer.freeze_fd = ends[1];
	while (write(ends[1], text, sizeof(text)) > 0)
		;
	assert_int_equal(canfs_stopper_set(&stopper, false), -EAGAIN);
	assert_int_equal(canfs_watchdog_start(&watchdog, &stopper, LONG_USEC), 0);
	assert_int_equal(canfs_watchdog_tell(&watchdog, CANFS_JOB_PAUSED), 0);
	canfs_watchdog_leave(&watchdog);
	sleep_msec(200); /* for it to fail once */
	polled = (struct pollfd) { ends[0], POLLIN, 0 };
	do {
		assert_int_equal(poll(&polled, 1, STUCK_MSEC), 1);
		got = read(ends[0], text, sizeof(text));
		assert_true(got > 0);
	} while (text[got - 1] != '0');
	assert_int_equal(waitpid(watchdog.pid, NULL, 0), watchdog.pid);
	close(ends[0]);
	close(ends[1]);
}

static void test_commands_that_cannot_be_run(void **state)
{
	char *absent[] = { "/nonexistent/command", NULL }, *directory[] = { "/", NULL };
	struct canfs_process process;
	sigset_t none;

	(void)state;
	sigemptyset(&none);
	assert_int_equal(canfs_process_start(&process, absent, &none), 0);
	assert_int_equal(canfs_process_go(&process, false), -ENOENT);
	assert_int_equal(canfs_process_start(&process, directory, &none), 0);
	assert_int_equal(canfs_process_go(&process, true), -EACCES);
	assert_int_equal(canfs_process_start(&process, absent, &none), 0);
	canfs_process_abandon(&process);
	assert_int_equal(waitpid(process.pid, NULL, 0), -1);
}

static bool has_pidfd(void)
{
	int fd = pidfd_open(getpid(), 0);

	if (fd < 0) {
		print_message("skipped: no pidfd_open(): %s\n", strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

static bool is_at_its_end(const struct canfs_stopper *stopper, int msec)
{
	struct pollfd polled = { stopper->end_fd, POLLIN | POLLPRI, 0 };

	return poll(&polled, 1, msec) >= 0 && canfs_stopper_has_ended(stopper, polled.revents);
}

static void test_attach_to_a_process(void **state)
{
	struct canfs_stopper stopper, other;
	struct fixture fixture;
	const char *why;
	char text[32];

	(void)state;
	if (!has_pidfd())
		skip();
	start(&fixture, true);
	snprintf(text, sizeof(text), "%d", (int)fixture.process.pid);
	assert_int_equal(canfs_stopper_attach(&stopper, text, &why), 0);
	assert_int_equal(stopper.how, CANFS_STOP_GROUP);
	assert_int_equal(canfs_stopper_set(&stopper, true), 0);
	await_stopped(&fixture, true);
	assert_int_equal(canfs_stopper_attach(&other, text, &why), -EBUSY);
	assert_string_equal(why, "something else has already stopped it");
	assert_int_equal(canfs_stopper_set(&stopper, false), 0);
	assert_false(is_at_its_end(&stopper, 0));
	end(&fixture);
	assert_true(is_at_its_end(&stopper, STUCK_MSEC));
	assert_int_equal(canfs_stopper_set(&stopper, false), 0);
	canfs_stopper_fini(&stopper);
	assert_int_equal(canfs_stopper_attach(&stopper, text, &why), -ESRCH);
	assert_string_equal(why, "there is no such process");
}

/* A process ID may have been reused, here by a bystander. */
static void test_signals_go_by_pidfd(void **state)
{
	struct canfs_stopper stopper;
	struct fixture job, other;

	(void)state;
	if (!has_pidfd())
		skip();
	start(&job, true);
	start(&other, true);
	stopper = (struct canfs_stopper) { .how = CANFS_STOP_PROCESS,
		.pid = other.process.pid,
		.end_fd = pidfd_open(job.process.pid, 0) };
	assert_int_equal(canfs_stopper_set(&stopper, true), 0);
	await_stopped(&job, true);
	assert_true(runs(other.process.pid));
	assert_int_equal(canfs_stopper_set(&stopper, false), 0);
	await_stopped(&job, false);
	end(&job);
	stopper.how = CANFS_STOP_GROUP; /* its leader is gone, and has been waited for */
	assert_int_equal(canfs_stopper_set(&stopper, true), 0);
	sleep_msec(50);
	assert_true(runs(other.process.pid));
	canfs_stopper_fini(&stopper);
	end(&other);
}

static void test_what_others_have_stopped(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, true);
	assert_false(canfs_stopper_is_taken(&fixture.stopper));
	kill(fixture.process.pid, SIGSTOP);
	await_stopped(&fixture, true);
	assert_true(canfs_stopper_is_taken(&fixture.stopper));
	kill(fixture.process.pid, SIGCONT);
	await_stopped(&fixture, false);
	assert_false(canfs_stopper_is_taken(&fixture.stopper));
	assert_int_equal(canfs_stopper_find_left(&fixture.stopper), 0);
	end(&fixture);
}

/* One that leads no process group is stopped alone. */
static void test_attach_to_a_member_of_a_group(void **state)
{
	struct fixture fixture = { 0 };
	struct canfs_stopper stopper;
	const char *why;
	char text[32];

	(void)state;
	if (!has_pidfd())
		skip();
	fixture.process.pid = fork();
	while (fixture.process.pid == 0)
		pause();
	assert_true(fixture.process.pid > 0);
	snprintf(text, sizeof(text), "%d", (int)fixture.process.pid);
	assert_int_equal(canfs_stopper_attach(&stopper, text, &why), 0);
	assert_int_equal(stopper.how, CANFS_STOP_PROCESS);
	fixture.stopper = stopper;
	assert_int_equal(canfs_stopper_set(&stopper, true), 0);
	await_stopped(&fixture, true);
	assert_int_equal(canfs_stopper_set(&stopper, false), 0);
	await_stopped(&fixture, false);
	kill(fixture.process.pid, SIGKILL);
	assert_true(is_at_its_end(&stopper, STUCK_MSEC));
	assert_int_equal(waitpid(fixture.process.pid, NULL, 0), fixture.process.pid);
	canfs_stopper_fini(&stopper);
}

static void test_attach_to_what_must_not_be(void **state)
{
	static const char *const none[] = { "0", "99999999999", "no-such.service", "/no/such/group",
		"" };
	struct canfs_stopper stopper;
	const char *why;
	char own[32];

	(void)state;
	if (!has_pidfd())
		skip();
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_true(canfs_stopper_attach(&stopper, none[i], &why) < 0);
		assert_true(*why != '\0');
	}
	snprintf(own, sizeof(own), "%d", (int)getpid());
	assert_int_equal(canfs_stopper_attach(&stopper, own, &why), -EDEADLK);
}

static void test_attach_to_a_control_group(void **state)
{
	struct canfs_stopper stopper, other;
	struct fixture fixture;
	const char *why;

	(void)state;
	if (!has_cgroup2())
		skip();
	start(&fixture, false);
	assert_int_equal(canfs_stopper_attach(&stopper, fixture.stopper.freezer.path, &why), 0);
	assert_string_equal(stopper.freezer.path, fixture.stopper.freezer.path);
	canfs_stopper_fini(&stopper);
	assert_int_equal(canfs_stopper_attach(
				 &stopper, strrchr(fixture.stopper.freezer.path, '/') + 1, &why),
		0);
	assert_string_equal(stopper.freezer.path, fixture.stopper.freezer.path);
	assert_false(stopper.is_ours);
	assert_int_equal(canfs_stopper_set(&stopper, true), 0);
	await_stopped(&fixture, true);
	assert_int_equal(canfs_stopper_attach(&other, fixture.stopper.freezer.path, &why), -EBUSY);
	assert_int_equal(canfs_stopper_set(&fixture.stopper, false), 0);
	assert_false(is_at_its_end(&stopper, 0));
	end(&fixture);
	assert_true(is_at_its_end(&stopper, 0));
	assert_int_equal(canfs_stopper_set(&stopper, true), 0);
	canfs_stopper_fini(&stopper);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_watchdog_of_a_killed_governor),
		cmocka_unit_test(test_watchdog_of_a_killed_governor_cgroup),
		cmocka_unit_test(test_watchdog_of_one_that_hangs),
		cmocka_unit_test(test_a_watchdog_that_is_gone),
		cmocka_unit_test(test_watchdog_leaves_alone_what_others_stop),
		cmocka_unit_test(test_watchdog_of_a_suspended_job),
		cmocka_unit_test(test_watchdog_of_one_that_cannot_be_continued_yet),
		cmocka_unit_test(test_commands_that_cannot_be_run),
		cmocka_unit_test(test_attach_to_a_process),
		cmocka_unit_test(test_signals_go_by_pidfd),
		cmocka_unit_test(test_what_others_have_stopped),
		cmocka_unit_test(test_attach_to_a_member_of_a_group),
		cmocka_unit_test(test_attach_to_what_must_not_be),
		cmocka_unit_test(test_attach_to_a_control_group),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
