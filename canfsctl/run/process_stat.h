/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reads members of /proc/PID/stat. */
#ifndef CANFS_CANFSCTL_RUN_PROCESS_STAT_H
#define CANFS_CANFSCTL_RUN_PROCESS_STAT_H

#include <stdint.h>
#include <sys/types.h>

/* The numbers are those of proc(5). */
enum canfs_process_member {
	CANFS_PROCESS_STATE = 3, /* a letter: 'T' if stopped */
	CANFS_PROCESS_PARENT = 4,
	CANFS_PROCESS_GROUP = 5,
	CANFS_PROCESS_SESSION = 6,
	CANFS_PROCESS_FOREGROUND = 8, /* the foreground process group of its terminal; -1: none */
	CANFS_PROCESS_STARTED = 22,   /* clock ticks since boot */
};

/*
 * root: prefix of /proc, "" except in tests. Returns 0, -EPROTO if the file lacks the member, or
 * -errno if it cannot be read.
 */
int canfs_process_stat(
	const char *root, pid_t pid, enum canfs_process_member member, int64_t *value);

#endif
