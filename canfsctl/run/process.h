/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A command in a process of its own, which waits before it calls execve() until it is told to. */
#ifndef CANFS_CANFSCTL_RUN_PROCESS_H
#define CANFS_CANFSCTL_RUN_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct canfs_process {
	pid_t pid;
	int go_fd, error_fd;
};

/* mask: the command's signal mask. 0 or -errno. If we end before canfs_process_go(), so does it. */
int canfs_process_start(struct canfs_process *process, char *const argv[], const sigset_t *mask);

/* It ends without having been anything. */
void canfs_process_abandon(struct canfs_process *process);

/*
 * apart: in a session of its own, without a terminal: what is stopped there is not hung up by the kernel when we, its parent,
 * are killed, as an orphaned process group of our session would be. Where its standard input is a terminal it is /dev/null
 * then. 0; or the -errno of execvp(3), and nothing is left of the process.
 */
int canfs_process_go(struct canfs_process *process, bool apart);

#endif
