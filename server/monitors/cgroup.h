/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The control groups of this process: its own and all parents, because the limit of each applies.
 *
 *	for (bool more = canfs_cgroup_own(root, "cpu", &group); more; more = canfs_cgroup_up(&group))
 *		canfs_cgroup_read(&group, "cpu.max", text, sizeof(text));
 */
#ifndef CANFS_SERVER_MONITORS_CGROUP_H
#define CANFS_SERVER_MONITORS_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct canfs_cgroup {
	const char *root; /* prefix of every path; "" except in tests */
	const char *controller;
	bool version2;
	char path[PATH_MAX]; /* below the controller's mount; "" is the root group */
};

/*
 * Finds the group of this process for the controller ("cpu", "memory"). "": its version 2 group,
 * with any controllers. Returns false if there is none.
 */
bool canfs_cgroup_own(const char *root, const char *controller, struct canfs_cgroup *group);

/*
 * Moves to the parent group. Returns false at the root. In a container, the topmost visible group
 * may have its files anywhere on the path. A group without files limits nothing.
 */
bool canfs_cgroup_up(struct canfs_cgroup *group);

/* Reads a file of the group, as canfs_read_source(). */
int canfs_cgroup_read(const struct canfs_cgroup *group, const char *name, char *text, size_t size);

/*
 * Parses /proc/self/cgroup: sets path to the group that has the controller, and *version2. Returns
 * 0, or -EPROTO if there is no such group or its path does not fit.
 */
int canfs_parse_cgroup(
	const char *text, const char *controller, char *path, size_t size, bool *version2);

#endif
