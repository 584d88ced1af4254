/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Commands that the disk fails with EIO because it was asked to. Pure and bounded. */
#ifndef CANFS_BENCH_DISK_FAULTS_H
#define CANFS_BENCH_DISK_FAULTS_H

#include <stdbool.h>

#include "bench/disk/command.h"

#define CANFS_FAULTS_MAX 8

struct canfs_fault {
	enum canfs_command_kind kind;
	uint64_t lo, hi; /* bytes; of a FLUSH without meaning */
	bool once;       /* gone when it has failed a command */
};

struct canfs_faults {
	unsigned int n;
	struct canfs_fault fault[CANFS_FAULTS_MAX];
};

/*
 * text: KIND:TIMES or KIND:TIMES:LO-HI
 *	KIND	read | write | flush
 *	TIMES	once | always
 *	LO-HI	bytes, LO < HI: commands that touch [LO, HI); default: the whole disk
 * 0; -EINVAL: it is not; -ENOSPC: there are CANFS_FAULTS_MAX already.
 */
int canfs_faults_add(struct canfs_faults *faults, const char *text);

/* Is this command to fail? */
bool canfs_faults_hit(struct canfs_faults *faults, const struct canfs_command *command);

#endif
