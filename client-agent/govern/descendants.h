/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The processes that a process has started, and those in turn, as far as their parents are still there. */
#ifndef CANFS_CLIENT_AGENT_GOVERN_DESCENDANTS_H
#define CANFS_CLIENT_AGENT_GOVERN_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

#define CANFS_DESCENDANTS_MAX 1024 /* further ones are not looked at */

/*
 * The first of them, beginning with pid itself, of which is_it is true; 0: none. A kernel without /proc/PID/task/TID/children
 * (CONFIG_PROC_CHILDREN) tells of pid only.
 */
pid_t canfs_descendant_find(
	pid_t pid, bool (*is_it)(const void *data, pid_t pid), const void *data);

#endif
