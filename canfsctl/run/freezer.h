/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A version 2 control group. Through cgroup.freeze, the kernel stops and continues all processes of
 * the group together, including new ones. Unlike SIGSTOP, freezing is invisible to the processes.
 * SIGKILL still kills a frozen process.
 *
 *	<mount of cgroup2><our own group>/canfs-run-PID     made for a job, removed when it is empty
 *
 * freeze_fd stays open, so that continuing the job cannot fail for lack of a descriptor.
 */
#ifndef CANFS_CANFSCTL_RUN_FREEZER_H
#define CANFS_CANFSCTL_RUN_FREEZER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct canfs_freezer {
	char path[PATH_MAX]; /* of the group's directory */
	int freeze_fd;
};

/* Where cgroup2 is mounted, without a trailing slash. NULL: it is not mounted. */
const char *canfs_cgroup2_mount(void);

/*
 * Creates a group below our own. Returns 0, -EOPNOTSUPP if the kernel or the mount offers no group
 * that can be frozen, or -errno, such as that of mkdir(2) without permission.
 */
int canfs_freezer_create(struct canfs_freezer *freezer);

/*
 * Opens an existing group. name is its path, with or without the cgroup2 mount point, or a systemd
 * unit. Returns 0, -ENOENT, -EACCES, -ENAMETOOLONG, or -ENOTUNIQ if several units have that name.
 * Returns -EOPNOTSUPP without cgroup2, and for the root group, which cannot be frozen.
 */
int canfs_freezer_find(struct canfs_freezer *freezer, const char *name);

void canfs_freezer_close(struct canfs_freezer *freezer);

/* Is the process in this control group or one below? False if its group cannot be read. */
bool canfs_freezer_has(const struct canfs_freezer *freezer, pid_t pid);

/* Moves a process into the group. Returns 0 or -errno. */
int canfs_freezer_add(const struct canfs_freezer *freezer, pid_t pid);

/*
 * Asks the kernel to freeze or thaw the group, which happens asynchronously. Returns 0 or -errno;
 * -ENODEV if the group is gone.
 */
int canfs_freezer_set(const struct canfs_freezer *freezer, bool frozen);

/* Returns 1, 0 or -errno; -ENOENT or -ENODEV if the group is gone. */
int canfs_freezer_is_frozen(const struct canfs_freezer *freezer);

/* True if the group has no processes or is gone. */
bool canfs_freezer_is_empty(const struct canfs_freezer *freezer);

/*
 * Opens the group's cgroup.events, for which poll(2) returns POLLPRI when the group becomes empty.
 * Returns the descriptor or -errno.
 */
int canfs_freezer_events(const struct canfs_freezer *freezer);

/* Blocks until the group is empty, then removes it. */
void canfs_freezer_remove_when_empty(const struct canfs_freezer *freezer);

/* Removes the group if it is empty. */
void canfs_freezer_remove(const struct canfs_freezer *freezer);

#endif
