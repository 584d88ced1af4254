/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An export's file system, as its files are opened: from the first read to when nothing of it is under way any more. */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_TREE_H
#define CANFS_GANESHA_FSAL_PREFETCH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct canfs_device;
struct canfs_open_file;
struct canfs_fd_cache;
struct canfs_tree;

/*
 * The file system that path, a directory, is on; all of its files are to be on `device`. 0 or -errno. It has one user
 * more with each read that is under way, and goes with the last.
 */
int canfs_tree_open(struct canfs_tree **tree, struct canfs_fd_cache *fd_cache, const char *path,
	struct canfs_device *device);
struct canfs_device *canfs_tree_device(const struct canfs_tree *tree);

/*
 * For a read of the tree: nothing of it ends before leave(). False: the tree drains, and takes no more.
 */
bool canfs_tree_enter(struct canfs_tree *tree);
void canfs_tree_leave(struct canfs_tree *tree);
bool canfs_tree_is_draining(struct canfs_tree *tree);

/*
 * From now on nobody enters; every file of it that has anything under way is visited, then forgotten, and to be closed.
 * Returns when all have left (0), -EALREADY: it was drained before; or, by CLOCK_MONOTONIC, -ETIMEDOUT at `until`: the
 * tree stays usable for those who are still inside, for as long as they are.
 */
int canfs_tree_drain(struct canfs_tree *tree, void (*visit)(struct canfs_open_file *file),
	const struct timespec *until);
void canfs_tree_close(
	struct canfs_tree *tree); /* the descriptor of whoever opened it; NULL allowed */

/* Why it is off, or NULL: handles are not as expected, or may not be opened. Then no file of it is ever found. */
const char *canfs_tree_off(struct canfs_tree *tree);

/* st_dev of its file system: files of others, which are mounted below, are not to be had here. */
dev_t canfs_tree_st_dev(const struct canfs_tree *tree);

struct canfs_fd_cache *canfs_tree_fd_cache(const struct canfs_tree *tree);

/*
 * The file that this handle of FSAL VFS names, by its inode as Ganesha knows it: its descriptor and *st, or -1. If
 * the handle, or what it names, is not as expected, the tree is off from then on.
 */
int canfs_tree_open_handle(struct canfs_tree *tree, uint64_t inode, const uint8_t *wire,
	size_t wire_bytes, struct stat *st);

#endif
