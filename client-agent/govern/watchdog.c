// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/govern/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum word { PAUSED = 'P', RUNS = 'R', END = 'E' };

static void watch(const struct canfs_stopper *stopper, int fd, int limit_msec)
{
	struct pollfd polled = { fd, POLLIN, 0 };
	char word = RUNS;

	for (;;) {
		int ready = poll(&polled, 1, word == PAUSED ? limit_msec : -1);

		if (ready < 0)
			continue;
		if (ready == 0) {
			canfs_stopper_set(stopper, false);
			word = RUNS;
		} else if (recv(fd, &word, 1, 0) <= 0) {
			break;
		} else if (word == END) {
			return;
		}
	}
	canfs_stopper_set(stopper, false);
	if (stopper->is_ours)
		canfs_freezer_remove_when_empty(&stopper->freezer);
}

/* Keeps nothing of what the governor has open: no pipe waits for the end of its readers because of us. */
static int cut_loose(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	prctl(PR_SET_NAME, "canfs-watchdog");
	for (int i = 0; i <= STDERR_FILENO; i++)
		dup2(null, i);
	fd = dup2(fd, STDERR_FILENO + 1);
	close_range(STDERR_FILENO + 2, ~0u, 0);
	return chdir("/") < 0 ? -errno : fd;
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
		close(ends[0]);
		watch(stopper, cut_loose(ends[1]), (int)(limit_usec / 1000));
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

static int say(const struct canfs_watchdog *watchdog, char word)
{
	return send(watchdog->fd, &word, 1, MSG_NOSIGNAL) == 1 ? 0 : -EPIPE;
}

int canfs_watchdog_tell(const struct canfs_watchdog *watchdog, bool paused)
{
	return say(watchdog, paused ? PAUSED : RUNS);
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
