/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * All file systems with write delegations (fs_space.h), and what is promised there (reserve.h). A thread looks at what is left while any are
 * out. From any thread.
 */
#ifndef CANFS_GANESHA_FSAL_SPACE_TABLE_H
#define CANFS_GANESHA_FSAL_SPACE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CANFS_SPACES_MAX 256

struct canfs_space_table;

struct canfs_space_table_config {
	uint64_t limit_bytes;          /* that a client may have to write after close(2) */
	void (*recall)(uint64_t file); /* the delegation of this; with a lock: it may not wait */
	void (*thread_begins)(const char *name); /* NULL: no interest */
};

struct canfs_space_user {
	const void *name; /* of the delegation, among all */
	uint64_t file;
	dev_t dev; /* of its file system */
	int dir;   /* a directory there */
	int fd;    /* of the file, may be O_PATH */
};

/* -errno. */
int canfs_space_table_new(
	struct canfs_space_table **table, const struct canfs_space_table_config *config);
void canfs_space_table_free(struct canfs_space_table *table); /* NULL allowed */

/*
 * 0: there is space for what is written to a file with a delegation, until it is returned. -ENOSPC, -EDQUOT, -EROFS: there is none; -EBUSY:
 * other threads are at that file system, or who may write is to be changed. Waits for 20 ms at most.
 */
int canfs_space_table_charge(struct canfs_space_table *table, const struct canfs_space_user *user);
void canfs_space_table_discharge(struct canfs_space_table *table, const void *name);

/* Who has, or just had, a delegation is to write so much, and there was no space: some is given back. False: there is none. */
bool canfs_space_table_spend(struct canfs_space_table *table, dev_t dev, uint64_t bytes);

/*
 * Who may write is to be changed: all are recalled, and waited for, wait_msec at most. None is granted meanwhile, and for
 * a moment after.
 */
void canfs_space_table_recall(struct canfs_space_table *table, unsigned int wait_msec);

#endif
