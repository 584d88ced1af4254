/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The space of a file system, and what is kept of it for clients with write delegations (reserve.h): in a file without a name, that the kernel
 * frees when this process ends. So nobody else can fill the file system before they have written; and while they have not, it
 * cannot be remounted read-only.
 */
#ifndef CANFS_GANESHA_FSAL_FS_SPACE_H
#define CANFS_GANESHA_FSAL_FS_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include "ganesha-fsal/delegations/reserve.h"

struct canfs_fs_space {
	int fd; /* of the file; -1: there is none */
	uint64_t reserved_bytes;
	bool can_reserve;
};

/* -errno, as -EROFS. dir: a directory of the file system. */
int canfs_fs_space_open(struct canfs_fs_space *space, int dir);
void canfs_fs_space_close(struct canfs_fs_space *space); /* gives all back */

/* What is left, with what is reserved; or CANFS_UNLIMITED. 0, too, if nobody can tell. */
uint64_t canfs_fs_space_left(
	const struct canfs_fs_space *space, enum canfs_account_kind kind, uint32_t id);

/* The accounts of a charge: those in which the blocks of file (a descriptor, may be O_PATH) count; with what is left of each. -errno. */
int canfs_fs_space_accounts(
	const struct canfs_fs_space *space, int file, uint64_t fs, struct canfs_charge *charge);

uint64_t canfs_fs_space_block_bytes(const struct canfs_fs_space *space);

/* Reserves so much in all, or a little more. 0 as well where the file system cannot: then what is left is all that counts. */
int canfs_fs_space_reserve(struct canfs_fs_space *space, uint64_t bytes);

/* Gives back so much of it, for who is just to write. False: there is nothing. */
bool canfs_fs_space_spend(struct canfs_fs_space *space, uint64_t bytes);

#endif
