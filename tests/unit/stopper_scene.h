/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A job of two real processes that can be stopped, by signals or by a control group. */
#ifndef CANFS_TESTS_STOPPER_SCENE_H
#define CANFS_TESTS_STOPPER_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "canfsctl/run/process.h"
#include "canfsctl/run/stopper.h"
#include "common/file.h"

#define STUCK_MSEC 30000 /* the test failed: nothing happens any more */

/* A job that starts a child, as a shell does, and what stops it. */
struct fixture {
	struct canfs_process process;
	struct canfs_stopper stopper;
	int end_fd;  /* of a pipe that the job holds open: its end is that of all its processes */
	int held_fd; /* that end of it */
	bool is_governed; /* by a process of its own */
};

static inline void sleep_msec(long msec)
{
	nanosleep(&(struct timespec) { .tv_nsec = msec * 1000000 }, NULL);
}

/* "R", "S", "T" ... of /proc/PID/stat; 0: gone. */
static inline char state_of(pid_t pid)
{
	char path[64], text[512];
	const char *name_end;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (canfs_read_file("", path, text, sizeof(text)) < 0)
		return 0;
	name_end = strrchr(text, ')');
	return name_end ? name_end[2] : 0;
}

static inline bool runs(pid_t pid)
{
	char state = state_of(pid);

	return state == 'R' || state == 'S';
}

/* The kernel's own word that a group is frozen. */
static inline bool is_frozen(const struct canfs_freezer *freezer)
{
	char text[256];

	assert_true(canfs_read_file(freezer->path, "/cgroup.events", text, sizeof(text)) > 0);
	return strstr(text, "frozen 1");
}

static inline bool is_stopped(const struct fixture *fixture)
{
	if (fixture->stopper.how == CANFS_STOP_CGROUP)
		return is_frozen(&fixture->stopper.freezer);
	return state_of(fixture->process.pid) == 'T';
}

static inline void await_stopped(const struct fixture *fixture, bool stopped)
{
	for (int msec = 0; is_stopped(fixture) != stopped; msec += 10) {
		assert_true(msec < STUCK_MSEC);
		sleep_msec(10);
	}
}

static inline void open_pipe(struct fixture *fixture)
{
	int ends[2];

	assert_int_equal(pipe2(ends, 0), 0);
	assert_int_equal(fcntl(ends[0], F_SETFD, FD_CLOEXEC), 0);
	fixture->end_fd = ends[0];
	fixture->held_fd = ends[1];
}

static inline int start_job(struct fixture *fixture, bool signals)
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

static inline void start(struct fixture *fixture, bool signals)
{
	open_pipe(fixture);
	assert_int_equal(start_job(fixture, signals), 0);
}

static inline void kill_all(const struct fixture *fixture)
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

static inline void end(struct fixture *fixture)
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

/* cmocka's skip() says no reason. */
static inline bool has_cgroup2(void)
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

#endif
