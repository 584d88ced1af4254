/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Starts a command in a child process, which waits for permission before it calls execve(). */
#ifndef CANFS_CANFSCTL_RUN_PROCESS_H
#define CANFS_CANFSCTL_RUN_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct canfs_process {
	pid_t pid;
	int go_fd, error_fd;
};

/*
 * mask: the command's signal mask. Returns 0 or -errno. If we exit before canfs_process_go(), so
 * does the child.
 */
int canfs_process_start(struct canfs_process *process, char *const argv[], const sigset_t *mask);

/* The child exits without running the command. Reaps it. */
void canfs_process_abandon(struct canfs_process *process);

/*
 * Lets the child run the command. apart: in a new session without a terminal. In our session, the
 * kernel would send SIGHUP to a stopped job if we, its parent, were killed and its process group
 * became orphaned. If apart, a terminal on standard input is replaced with /dev/null. Returns 0. On
 * failure, reaps the child and returns the -errno of execvp(3), or of telling the child.
 */
int canfs_process_go(struct canfs_process *process, bool apart);

#endif
