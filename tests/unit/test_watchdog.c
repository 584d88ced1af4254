// SPDX-License-Identifier: LGPL-3.0-or-later
/* Is a stopped job continued by its watchdog if what governs it is gone, or hangs? */
#include "tests/unit/stopper_scene.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "canfsctl/run/watchdog.h"

#define LONG_USEC 3600000000u

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watchdog_of_a_killed_governor),
		cmocka_unit_test(test_watchdog_of_a_killed_governor_cgroup),
		cmocka_unit_test(test_watchdog_of_one_that_hangs),
		cmocka_unit_test(test_a_watchdog_that_is_gone),
		cmocka_unit_test(test_watchdog_leaves_alone_what_others_stop),
		cmocka_unit_test(test_watchdog_of_a_suspended_job),
		cmocka_unit_test(test_watchdog_of_one_that_cannot_be_continued_yet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
