/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How a job is stopped and continued: through its own control group, or that of a unit (freezer.h).
 * Without a control group, SIGSTOP and SIGCONT are sent to the job's process group, or to the
 * attached process alone if it leads none. A command of ours then leads a session of its own
 * (process.h). A process may notice these signals: its parent is told, and timers expire. A
 * descendant that has left the group is not stopped.
 */
#ifndef CANFS_CANFSCTL_RUN_STOPPER_H
#define CANFS_CANFSCTL_RUN_STOPPER_H

#include "canfsctl/run/freezer.h"

struct canfs_stopper {
	enum { CANFS_STOP_CGROUP, CANFS_STOP_GROUP, CANFS_STOP_PROCESS } how;
	bool is_ours;                 /* the control group was made for the job; remove it */
	struct canfs_freezer freezer; /* of CANFS_STOP_CGROUP */
	pid_t pid;  /* the process or its group's leader; 0: an attached control group */
	int end_fd; /* for poll(2) with POLLIN and POLLPRI; see canfs_stopper_has_ended() */
};

/*
 * Takes a child that has not called execve() yet, and moves it into a new control group. If that is
 * not permitted, or signals is true, how is CANFS_STOP_GROUP. Then the child must start a session
 * of its own (canfs_process_go()).
 */
void canfs_stopper_adopt(struct canfs_stopper *stopper, pid_t child, bool signals);

/*
 * Attaches to a running job, which is given as a process ID, the path of a control group, or a
 * systemd unit. A process that leads a process group stands for the whole group. Returns 0, or
 * -errno with a text in *why:
 *
 *	-ESRCH, -ENOENT   the job does not exist
 *	-EINVAL           the ID is that of a thread
 *	-ENOTUNIQ         several units have that name
 *	-EDEADLK          we would be stopped, too
 *	-EBUSY            the job is stopped already, or a shell waits for it
 *	-EPERM, -EACCES   the job is another user's
 *	-EOPNOTSUPP       there is no control group that can be frozen
 */
int canfs_stopper_attach(struct canfs_stopper *stopper, const char *what, const char **why);

/* Returns 0, also if the job is gone, or -errno. All errors but -EPERM may be retried. */
int canfs_stopper_set(const struct canfs_stopper *stopper, bool stopped);

/*
 * Sends a signal to the job's process or process group. Uses the pidfd once it is open, since the
 * process ID may have been reused. Returns 0 or -errno.
 */
int canfs_stopper_signal(const struct canfs_stopper *stopper, bool group, int number);

/*
 * Has somebody else stopped the job or a part of it? Then do not pause it, because the end of our
 * pause would undo that stop.
 */
bool canfs_stopper_is_taken(const struct canfs_stopper *stopper);

/*
 * A process of the job that escapes a pause because it has left the control group or process group.
 * 0: none is known. Processes whose parent has exited are not found.
 */
pid_t canfs_stopper_find_left(const struct canfs_stopper *stopper);

/* Opens end_fd, unless canfs_stopper_attach() has. Returns 0 or -errno. */
int canfs_stopper_open_end(struct canfs_stopper *stopper);

/* revents: of end_fd. */
bool canfs_stopper_has_ended(const struct canfs_stopper *stopper, short revents);

/* Closes the descriptors. Does not continue the job. */
void canfs_stopper_fini(struct canfs_stopper *stopper);

#endif
