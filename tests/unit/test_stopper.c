// SPDX-License-Identifier: LGPL-3.0-or-later
/* Are real processes stopped and continued, by signals and by a control group? */
#include "tests/unit/stopper_scene.h"

#include <errno.h>
#include <poll.h>
#include <sys/pidfd.h>

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
