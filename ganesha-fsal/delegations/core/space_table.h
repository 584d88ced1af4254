/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * All file systems with write delegations (fs_space.h), and the space promised there (reserve.h).
 * While delegations are held, a thread checks the free space. From any thread.
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_SPACE_TABLE_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_SPACE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CANFS_SPACES_MAX 256

struct canfs_space_table;

struct canfs_space_table_config {
	uint64_t limit_bytes;          /* the most that a client may still write after close(2) */
	void (*recall)(uint64_t file); /* recalls its delegation; under a lock: must not block */
	void (*thread_begins)(const char *name); /* NULL: no interest */
};

struct canfs_space_user {
	const void *name; /* identifies the delegation */
	uint64_t file;
	dev_t dev; /* the file system of the file */
	int dir;   /* a directory of that file system */
	int fd;    /* of the file; may be O_PATH */
};

/* Returns 0 or -errno. */
int canfs_space_table_new(
	struct canfs_space_table **table, const struct canfs_space_table_config *config);
void canfs_space_table_free(struct canfs_space_table *table); /* NULL allowed */

/*
 * Reserves space for a write delegation of the file, until discharge. Returns 0; -ENOSPC, -EDQUOT
 * or -EROFS if there is no space; or -EBUSY if other threads are busy with that file system or
 * access is about to change. Blocks for at most 20 ms to get a lock.
 */
int canfs_space_table_charge(struct canfs_space_table *table, const struct canfs_space_user *user);
void canfs_space_table_discharge(struct canfs_space_table *table, const void *name);

/*
 * A client that has or just had a delegation found no space for a WRITE. Releases this much of the
 * reserve. Returns false if the reserve is empty.
 */
bool canfs_space_table_spend(struct canfs_space_table *table, dev_t dev, uint64_t bytes);

/*
 * Call this before access changes. Recalls all write delegations, and blocks until they are
 * returned, for at most wait_msec plus 1 s for their last WRITEs. None is granted meanwhile, nor
 * for 0.3 s after.
 */
void canfs_space_table_recall(struct canfs_space_table *table, unsigned int wait_msec);

#endif
