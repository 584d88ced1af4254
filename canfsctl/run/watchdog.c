// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/run/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "canfsctl/run/process_stat.h"

#define END 'E' /* beside enum canfs_watched */

#define RETRY_MSEC 1000 /* after the job could not be continued */
#define STATE_MSEC 500  /* how often a stopped job is checked */

/* If the job is no longer stopped, somebody other than the governor has continued or killed it. */
static void continue_governor(const struct canfs_stopper *stopper)
{
	int64_t state;

	if (canfs_process_stat("", stopper->pid, CANFS_PROCESS_STATE, &state) == 0 && state == 'T')
		return;
	kill(getppid(), SIGCONT);
}

static int timeout_msec(char message, int wait_msec)
{
	return message == CANFS_JOB_PAUSED    ? wait_msec
	       : message == CANFS_JOB_STOPPED ? STATE_MSEC
					      : -1;
}

static void watch(const struct canfs_stopper *stopper, int fd, int limit_msec)
{
	struct pollfd polled = { fd, POLLIN, 0 };
	int wait_msec = limit_msec;
	char message = CANFS_JOB_RUNS;

	for (;;) {
		int ready = poll(&polled, 1, timeout_msec(message, wait_msec));

		if (ready < 0)
			continue;
		if (ready == 0 && message == CANFS_JOB_STOPPED) {
			continue_governor(stopper);
			continue;
		}
		if (ready == 0) {
			wait_msec = canfs_stopper_set(stopper, false) < 0 ? RETRY_MSEC : limit_msec;
			continue;
		}
		wait_msec = limit_msec;
		if (recv(fd, &message, 1, 0) <= 0)
			break;
		if (message == END)
			return;
	}
	while ((message == CANFS_JOB_PAUSED || message == CANFS_JOB_SUSPENDED) &&
		canfs_stopper_set(stopper, false) < 0)
		poll(NULL, 0, RETRY_MSEC);
	if (stopper->is_ours)
		canfs_freezer_remove_when_empty(&stopper->freezer);
}

/* The descriptors that are kept. */
enum { GOVERNOR = STDERR_FILENO + 1, FREEZE, PROCESS, CLOSED };

/* Moves a descriptor above the kept range, from where it can be moved to its final place. */
static int move_up(int fd)
{
	return fcntl(fd, F_DUPFD, CLOSED);
}

/*
 * A missing descriptor stays missing. If one cannot be moved, the watchdog exits. The governor
 * notices before the first pause.
 */
static void move_down(int from, int to)
{
	if (from < 0)
		close(to);
	else if (dup2(from, to) < 0)
		_exit(1);
}

/*
 * Clears our command line, which is a copy of the governor's. Otherwise pkill -f would kill both,
 * and the job would stay stopped. The memory at argv[0] is overwritten, unless an interpreter such
 * as ld.so was given the program; then the command line starts differently.
 */
static void rename_us(void)
{
	static const char name[] = "canfs-watchdog";
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	char text[4096], *line = program_invocation_name;
	size_t bytes = 0;
	ssize_t got;

	prctl(PR_SET_NAME, name);
	while (fd >= 0 && (got = read(fd, text, sizeof(text))) > 0) {
		if (bytes == 0 && strncmp(text, line, (size_t)got) != 0)
			return;
		bytes += (size_t)got;
	}
	memset(line, 0, bytes);
	if (bytes > sizeof(name))
		memcpy(line, name, sizeof(name));
}

/* Closes all other descriptors of the governor, so that no pipe is kept open by the watchdog. */
static void detach(struct canfs_stopper *stopper, int fd)
{
	bool has_group = stopper->how == CANFS_STOP_CGROUP;
	int null = open("/dev/null", O_RDWR);
	int freeze = has_group ? move_up(stopper->freezer.freeze_fd) : -1;
	int process = stopper->end_fd < 0 ? -1 : move_up(stopper->end_fd);

	fd = move_up(fd);
	setsid();
	rename_us();
	for (int i = 0; i <= STDERR_FILENO; i++)
		dup2(null, i);
	move_down(fd, GOVERNOR);
	move_down(freeze, FREEZE);
	move_down(process, PROCESS);
	stopper->freezer.freeze_fd = FREEZE;
	stopper->end_fd = process < 0 ? -1 : PROCESS;
	close_range(CLOSED, ~0u, 0);
	/* A file system in use as a working directory cannot be unmounted. */
	(void)!chdir("/");
}

int canfs_watchdog_start(
	struct canfs_watchdog *watchdog, const struct canfs_stopper *stopper, uint64_t limit_usec)
{
	int ends[2], ret = 0;
	sigset_t all, before;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	watchdog->pid = fork();
	if (watchdog->pid == 0) {
		struct canfs_stopper own = *stopper;

		detach(&own, ends[1]);
		watch(&own, GOVERNOR, (int)(limit_usec / 1000));
		_exit(0);
	}
	if (watchdog->pid < 0)
		ret = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	watchdog->fd = ends[0];
	if (ret < 0)
		close(ends[0]);
	return ret;
}

static int say(const struct canfs_watchdog *watchdog, char message)
{
	return send(watchdog->fd, &message, 1, MSG_NOSIGNAL) == 1 ? 0 : -EPIPE;
}

int canfs_watchdog_tell(const struct canfs_watchdog *watchdog, enum canfs_watched job)
{
	return say(watchdog, (char)job);
}

void canfs_watchdog_leave(struct canfs_watchdog *watchdog)
{
	close(watchdog->fd);
}

void canfs_watchdog_end(struct canfs_watchdog *watchdog)
{
	say(watchdog, END);
	close(watchdog->fd);
	waitpid(watchdog->pid, NULL, 0);
}
