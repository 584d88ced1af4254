/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Finds descendants of a process. A descendant whose parent has exited is not found. */
#ifndef CANFS_CANFSCTL_RUN_DESCENDANTS_H
#define CANFS_CANFSCTL_RUN_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

#define CANFS_DESCENDANTS_MAX 1024 /* further ones are ignored */

/*
 * Returns the first process, starting with pid itself, for which is_it() returns true, or 0 if
 * there is none. Without /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN), only pid itself is
 * tested.
 */
pid_t canfs_descendant_find(
	pid_t pid, bool (*is_it)(const void *data, pid_t pid), const void *data);

#endif
