/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the host asks of the disk. */
#ifndef CANFS_BENCH_DISK_COMMAND_H
#define CANFS_BENCH_DISK_COMMAND_H

#include <stdint.h>

enum canfs_command_kind { CANFS_COMMAND_READ, CANFS_COMMAND_WRITE, CANFS_COMMAND_FLUSH };
#define CANFS_COMMAND_KINDS 3

struct canfs_command {
	struct canfs_command *next; /* in the list that it is in */
	enum canfs_command_kind kind;
	uint64_t offset, bytes;        /* within the disk; of a FLUSH 0 */
	double arrival_usec, due_usec; /* model time; it is done when that is due */
};

#endif
