/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The control groups of this process: its own, and those above it, since the limit of each holds.
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
	const char *root; /* put before every path; "" but for tests */
	const char *controller;
	bool version2;
	char path[PATH_MAX]; /* below the controller's mount; "" is the topmost */
};

/*
 * The group that has the controller ("cpu", "memory"; "": that of version 2, whatever controllers it
 * has). False: there is none.
 */
bool canfs_cgroup_own(const char *root, const char *controller, struct canfs_cgroup *group);

/*
 * To the group above; false at the top. In a container the files of the topmost visible group may lie
 * anywhere on the path: a group that has none limits nothing.
 */
bool canfs_cgroup_up(struct canfs_cgroup *group);

/* A file of the group, as canfs_read_source(). */
int canfs_cgroup_read(const struct canfs_cgroup *group, const char *name, char *text, size_t size);

/*
 * /proc/self/cgroup: the path of the group that has the controller, and which version of cgroups
 * that is. 0, or -EPROTO: there is none, or its path does not fit.
 */
int canfs_parse_cgroup(
	const char *text, const char *controller, char *path, size_t size, bool *version2);

#endif
