/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * All file systems with write delegations (fs_space.h), and the space promised there (reserve.h). While delegations are out, a thread checks
 * the free space. From any thread.
 */
#ifndef CANFS_GANESHA_FSAL_SPACE_TABLE_H
#define CANFS_GANESHA_FSAL_SPACE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CANFS_SPACES_MAX 256

struct canfs_space_table;

struct canfs_space_table_config {
	uint64_t limit_bytes;          /* the most that a client may still write after close(2) */
	void (*recall)(uint64_t file); /* recalls its delegation; under a lock: must not wait */
	void (*thread_begins)(const char *name); /* NULL: no interest */
};

struct canfs_space_user {
	const void *name; /* of the delegation, among all */
	uint64_t file;
	dev_t dev; /* the file system of the file */
	int dir;   /* a directory of that file system */
	int fd;    /* of the file; may be O_PATH */
};

/* 0 or -errno. */
int canfs_space_table_new(
	struct canfs_space_table **table, const struct canfs_space_table_config *config);
void canfs_space_table_free(struct canfs_space_table *table); /* NULL allowed */

/*
 * Reserves space for a write delegation of the file, until discharge. 0; -ENOSPC, -EDQUOT, -EROFS: no space; -EBUSY: other threads are busy
 * with that file system, or access is about to change. Waits for 20 ms at most.
 */
int canfs_space_table_charge(struct canfs_space_table *table, const struct canfs_space_user *user);
void canfs_space_table_discharge(struct canfs_space_table *table, const void *name);

/* A client that has or just had a delegation found no space for a WRITE. Releases this much of the reserve. False: the reserve is empty. */
bool canfs_space_table_spend(struct canfs_space_table *table, dev_t dev, uint64_t bytes);

/*
 * Before access changes: recalls all write delegations and waits for them, for wait_msec at most. None is granted meanwhile, nor for a short
 * time after.
 */
void canfs_space_table_recall(struct canfs_space_table *table, unsigned int wait_msec);

#endif
