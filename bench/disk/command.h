/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The host's commands to the disk. */
#ifndef CANFS_BENCH_DISK_COMMAND_H
#define CANFS_BENCH_DISK_COMMAND_H

#include <stdint.h>

enum canfs_command_kind { CANFS_COMMAND_READ, CANFS_COMMAND_WRITE, CANFS_COMMAND_FLUSH };
#define CANFS_COMMAND_KINDS 3

struct canfs_command {
	struct canfs_command *next; /* in the command's list */
	enum canfs_command_kind kind;
	uint64_t offset, bytes;        /* within the disk; 0 for FLUSH */
	double arrival_usec, due_usec; /* model time; due_usec: completion */
};

#endif
