// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/calibrate/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define NO_SUCH_PROGRAM 127

extern char **environ;

static int start(const char *const argv[], int out, int err, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int ret;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
	ret = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -ret;
}

/*
 * Waits until the program exits, and kills it after limit_sec. Returns the exit status, -ETIMEDOUT,
 * or -ENOENT. Polls, since measurements take seconds, and polling needs neither signals nor a
 * recent kernel.
 */
static int end(pid_t pid, unsigned int limit_sec)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	const uint64_t deadline_usec = canfs_now_usec() + limit_sec * (uint64_t)1000000;
	int status;
	pid_t ended;

	while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
		if (canfs_now_usec() >= deadline_usec) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			return -ETIMEDOUT;
		}
		nanosleep(&pause, NULL);
	}
	if (ended < 0)
		return -errno;
	/* posix_spawn() or a shell may report a missing program this way. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SUCH_PROGRAM)
		return -ENOENT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int read_all(int fd, char **text)
{
	struct stat stat;
	size_t size, done = 0;
	ssize_t n;

	if (fstat(fd, &stat) < 0)
		return -errno;
	size = stat.st_size < CANFS_CHILD_OUTPUT_MAX ? (size_t)stat.st_size
						     : CANFS_CHILD_OUTPUT_MAX;
	*text = malloc(size + 1);
	if (!*text)
		return -ENOMEM;
	while (done < size && (n = pread(fd, *text + done, size - done, (off_t)done)) > 0)
		done += (size_t)n;
	(*text)[done] = '\0';
	return 0;
}

/*
 * Output goes to memfds instead of pipes, so that nothing has to be read while the program runs,
 * and nothing blocks.
 */
int canfs_child_run(const char *const argv[], unsigned int limit_sec, char **output, char **errors)
{
	int out_fd = memfd_create("output", MFD_CLOEXEC),
	    err_fd = memfd_create("error", MFD_CLOEXEC);
	int ret = -errno, status;
	pid_t pid;

	*output = *errors = NULL;
	if (out_fd < 0 || err_fd < 0)
		goto out;
	ret = start(argv, out_fd, err_fd, &pid);
	if (ret < 0)
		goto out;
	status = end(pid, limit_sec);
	ret = status;
	if (status < 0)
		goto out;
	ret = read_all(out_fd, output);
	if (ret == 0)
		ret = read_all(err_fd, errors);
	if (ret == 0) {
		ret = status;
		goto out;
	}
	free(*output);
	*output = NULL;
out:
	if (out_fd >= 0)
		close(out_fd);
	if (err_fd >= 0)
		close(err_fd);
	return ret;
}
