/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What stops a job and lets it go on: a control group of its own, or that of a unit (freezer.h); where there is none,
 * SIGSTOP and SIGCONT to a process group, for a job of ours that of a session of its own (process.h). Those a process may
 * notice (its parent is told, a timer runs out). A descendant that has left the group is not stopped.
 */
#ifndef CANFS_CANFSCTL_RUN_STOPPER_H
#define CANFS_CANFSCTL_RUN_STOPPER_H

#include "canfsctl/run/freezer.h"

struct canfs_stopper {
	enum { CANFS_STOP_CGROUP, CANFS_STOP_GROUP, CANFS_STOP_PROCESS } how;
	bool is_ours;                 /* the control group: made for the job, to be removed */
	struct canfs_freezer freezer; /* of CANFS_STOP_CGROUP */
	pid_t pid;  /* of the process, or the leader of its group; 0: of neither */
	int end_fd; /* to poll(2) for POLLIN and POLLPRI; see canfs_stopper_has_ended() */
};

/*
 * For a child that has not called execve() yet: puts it into a control group of its own; where we may not, or signals is
 * true, it is to go into a session of its own.
 */
void canfs_stopper_adopt(struct canfs_stopper *stopper, pid_t child, bool signals);

/*
 * For what runs already: PID (with the process group that it leads, if it does), the path of a control group, or the name
 * of a systemd unit. 0, or -errno and *why in words: -EINVAL: none of these; -ESRCH, -ENOENT: not there; -ENOTUNIQ: several; -EDEADLK: we
 * are in it; -EBUSY: it is stopped already, or a shell waits for it; -EPERM, -EACCES.
 */
int canfs_stopper_attach(struct canfs_stopper *stopper, const char *what, const char **why);

/* 0, also if it is gone; or -errno: it may be tried again, but for -EPERM. */
int canfs_stopper_set(const struct canfs_stopper *stopper, bool stopped);

/*
 * Sends a signal to the job's process, or to its process group. Uses the pidfd once it is open, since the number may have been
 * reused. 0 or -errno.
 */
int canfs_stopper_signal(const struct canfs_stopper *stopper, bool group, int number);

/* Has somebody else stopped the job, or a part of it? Our pause and its end would undo that. */
bool canfs_stopper_is_taken(const struct canfs_stopper *stopper);

/*
 * A process of the job that is not stopped with it, because it has left the control group or process group; 0: none is known.
 * Processes whose parent has exited are not found.
 */
pid_t canfs_stopper_find_left(const struct canfs_stopper *stopper);

/* Of what is attached to it is open already. 0 or -errno. */
int canfs_stopper_open_end(struct canfs_stopper *stopper);

/* revents: of its end_fd. */
bool canfs_stopper_has_ended(const struct canfs_stopper *stopper, short revents);

/* What was adopted or attached to is left as it is. */
void canfs_stopper_fini(struct canfs_stopper *stopper);

#endif
