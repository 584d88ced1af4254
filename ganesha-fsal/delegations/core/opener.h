/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Finds out with which flags a waiting thread opens a file. fanotify(7) does not report the flags.
 * /proc/TID/syscall shows them, but needs ptrace access.
 *
 * An open(2) with O_TRUNC holds the file system's freeze protection while it waits for permission.
 * FIFREEZE waits for this open, and all writes wait for FIFREEZE.
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_OPENER_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_OPENER_H

#include <sys/types.h>

enum canfs_opening {
	CANFS_OPENING_UNKNOWN, /* io_uring, openat2(2), a 32-bit program, another PID namespace */
	CANFS_OPENING_RUNNING, /* unknown now: each answer briefly wakes all waiting threads */
	CANFS_OPENING_KEEPS,
	CANFS_OPENING_TRUNCATES
};

/* line: the contents of /proc/TID/syscall. */
enum canfs_opening canfs_parse_opening(const char *line);

enum canfs_opening canfs_look_at_opener(pid_t tid);

#endif
