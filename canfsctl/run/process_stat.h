/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the kernel says of any process in /proc/PID/stat, as far as we use it. */
#ifndef CANFS_CANFSCTL_RUN_PROCESS_STAT_H
#define CANFS_CANFSCTL_RUN_PROCESS_STAT_H

#include <stdint.h>
#include <sys/types.h>

/* Numbered as in proc(5). */
enum canfs_process_member {
	CANFS_PROCESS_STATE = 3, /* a letter: 'T' if it is stopped */
	CANFS_PROCESS_PARENT = 4,
	CANFS_PROCESS_GROUP = 5,
	CANFS_PROCESS_SESSION = 6,
	CANFS_PROCESS_FOREGROUND = 8, /* process group of its terminal; -1: it has no terminal */
	CANFS_PROCESS_STARTED = 22,   /* clock ticks since boot */
};

/* root: of /proc, "" but in tests. 0; -EPROTO, or the -errno of reading its file. */
int canfs_process_stat(
	const char *root, pid_t pid, enum canfs_process_member member, int64_t *value);

#endif
