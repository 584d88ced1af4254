// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/run/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUN, RUN_APART };

/*
 * Leaves the terminal. In the new session, the command could read from the terminal while the shell
 * does.
 */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setsid();
	if (isatty(STDIN_FILENO) && null >= 0)
		dup2(null, STDIN_FILENO);
}

static void run(char *const argv[], const sigset_t *mask, int go_fd, int error_fd)
{
	char word;
	int ret;

	if (read(go_fd, &word, 1) != 1)
		_exit(1);
	if (word == RUN_APART)
		leave_terminal();
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	ret = -errno;
	if (write(error_fd, &ret, sizeof(ret)) < 0)
		_exit(2);
	_exit(1);
}

int canfs_process_start(struct canfs_process *process, char *const argv[], const sigset_t *mask)
{
	int go[2], error[2], ret = 0;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(error, O_CLOEXEC) < 0) {
		ret = -errno;
		goto out;
	}
	process->pid = fork();
	if (process->pid == 0) {
		close(go[1]);
		run(argv, mask, go[0], error[1]);
	}
	if (process->pid < 0)
		ret = -errno;
	close(error[1]);
	process->error_fd = error[0];
	if (ret < 0)
		close(error[0]);
out:
	close(go[0]);
	process->go_fd = go[1];
	if (ret < 0)
		close(go[1]);
	return ret;
}

void canfs_process_abandon(struct canfs_process *process)
{
	close(process->go_fd);
	close(process->error_fd);
	waitpid(process->pid, NULL, 0);
}

int canfs_process_go(struct canfs_process *process, bool apart)
{
	int failed, ret = 0;
	char word = apart ? RUN_APART : RUN;

	if (write(process->go_fd, &word, 1) != 1)
		ret = -errno;
	close(process->go_fd);
	/* A successful execve() closes the child's end of the pipe, and read() returns 0. */
	if (read(process->error_fd, &failed, sizeof(failed)) == sizeof(failed))
		ret = failed;
	close(process->error_fd);
	if (ret < 0)
		waitpid(process->pid, NULL, 0);
	return ret;
}
