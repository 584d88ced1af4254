/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The free space of a file system, and the reserve for clients with write delegations (reserve.h).
 * The reserve is an unnamed file, which the kernel frees when this process exits. Nobody else can
 * use its blocks before the clients have written. While the file is open, the file system cannot be
 * remounted read-only.
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_FS_SPACE_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_FS_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include "ganesha-fsal/delegations/core/reserve.h"

struct canfs_fs_space {
	int fd; /* the unnamed file, or a directory if there is none; -1: closed */
	uint64_t reserved_bytes;
	bool can_reserve;
};

/* dir: a directory of the file system. Returns 0, or -errno such as -EROFS. */
int canfs_fs_space_open(struct canfs_fs_space *space, int dir);
void canfs_fs_space_close(struct canfs_fs_space *space); /* releases the whole reserve */

/*
 * Returns the free space, including the reserve, or CANFS_UNLIMITED. Returns 0 if the free space is
 * unknown.
 */
uint64_t canfs_fs_space_left(
	const struct canfs_fs_space *space, enum canfs_account_kind kind, uint32_t id);

/*
 * Fills in the accounts to which the blocks of file (a descriptor, may be O_PATH) are charged, and
 * the space left in each. Returns 0 or -errno.
 */
int canfs_fs_space_accounts(
	const struct canfs_fs_space *space, int file, uint64_t fs, struct canfs_charge *charge);

uint64_t canfs_fs_space_block_bytes(const struct canfs_fs_space *space);

/*
 * Changes the reserve to at least this size and less than 8 MiB more. Returns 0 or -errno. Also
 * returns 0 if the file system cannot reserve space: then only the free space counts.
 */
int canfs_fs_space_reserve(struct canfs_fs_space *space, uint64_t bytes);

/* Releases this much for a holder that is about to write. Returns false if the reserve is empty. */
bool canfs_fs_space_spend(struct canfs_fs_space *space, uint64_t bytes);

#endif
