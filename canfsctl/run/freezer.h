/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A control group of version 2, whose processes the kernel stops and continues as one (cgroup.freeze), with all that they
 * start. They do not notice, as they would a SIGSTOP; a SIGKILL still ends them.
 *
 *	<mount of cgroup2><our own group>/canfs-run-PID     made for a job, removed when it is empty
 *
 * Its cgroup.freeze is kept open: to continue the job must not fail for want of a descriptor.
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

/* Where version 2 is mounted, without a slash at its end; NULL: nowhere. */
const char *canfs_cgroup2_mount(void);

/* A new group below our own. 0; -EOPNOTSUPP: none that can be frozen; else the -errno of mkdir(2): we may not. */
int canfs_freezer_create(struct canfs_freezer *freezer);

/*
 * An existing one: a path below the mount, with or without it, or the name of a systemd unit. 0; -ENOENT; -ENOTUNIQ: several
 * units have that name; -EOPNOTSUPP: no version 2, or the root, which cannot be frozen; -EACCES; -ENAMETOOLONG.
 */
int canfs_freezer_find(struct canfs_freezer *freezer, const char *name);

void canfs_freezer_close(struct canfs_freezer *freezer);

/* Is this process in the control group, or in one below it? False if that cannot be read. */
bool canfs_freezer_has(const struct canfs_freezer *freezer, pid_t pid);

/* Moves a process into it. 0 or -errno. */
int canfs_freezer_add(const struct canfs_freezer *freezer, pid_t pid);

/* Takes effect a moment later. 0 or -errno, -ENODEV if it is gone. */
int canfs_freezer_set(const struct canfs_freezer *freezer, bool frozen);

/* 1 or 0; or -errno: -ENOENT or -ENODEV if it is gone. */
int canfs_freezer_is_frozen(const struct canfs_freezer *freezer);

/* Is there no process in it, or is it gone? */
bool canfs_freezer_is_empty(const struct canfs_freezer *freezer);

/* Its cgroup.events, which poll(2) finds POLLPRI when it becomes empty; -errno. */
int canfs_freezer_events(const struct canfs_freezer *freezer);

/* Waits until it is empty, and removes it. */
void canfs_freezer_remove_when_empty(const struct canfs_freezer *freezer);

/* Removes it if it is empty. */
void canfs_freezer_remove(const struct canfs_freezer *freezer);

#endif
