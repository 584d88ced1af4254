/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Commands that the disk fails with EIO on request. Pure and bounded. */
#ifndef CANFS_BENCH_DISK_FAULTS_H
#define CANFS_BENCH_DISK_FAULTS_H

#include <stdbool.h>

#include "bench/disk/command.h"

#define CANFS_FAULTS_MAX 8

struct canfs_fault {
	enum canfs_command_kind kind;
	uint64_t lo, hi; /* bytes; ignored for FLUSH */
	bool once;       /* removed after failing one command */
};

struct canfs_faults {
	unsigned int n;
	struct canfs_fault fault[CANFS_FAULTS_MAX];
};

/*
 * Adds a fault. text: KIND:TIMES or KIND:TIMES:LO-HI
 *
 *	KIND	read | write | flush
 *	TIMES	once | always
 *	LO-HI	bytes, LO < HI: commands that touch [LO, HI); default: the whole disk
 *
 * Returns 0, -EINVAL if text is invalid, or -ENOSPC if there are CANFS_FAULTS_MAX faults already.
 */
int canfs_faults_add(struct canfs_faults *faults, const char *text);

/* Should this command fail? Removes the fault if it applies once. */
bool canfs_faults_hit(struct canfs_faults *faults, const struct canfs_command *command);

#endif
