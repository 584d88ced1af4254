/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The file system of an export, by which its files are opened. It exists until it is closed and its
 * last read has left.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_EXPORT_FS_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_EXPORT_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct canfs_device;
struct canfs_open_file;
struct canfs_fd_cache;
struct canfs_export_fs;

/*
 * Opens the file system of the directory `path`. All of its files must be on `device`, where the
 * file system begins at byte fs_start. Returns 0 or -errno. After canfs_export_fs_close(), the last
 * read that leaves frees it.
 */
int canfs_export_fs_open(struct canfs_export_fs **export_fs, struct canfs_fd_cache *fd_cache,
	const char *path, struct canfs_device *device, uint64_t fs_start);
uint64_t canfs_export_fs_start(const struct canfs_export_fs *export_fs);
struct canfs_device *canfs_export_fs_device(const struct canfs_export_fs *export_fs);

/*
 * Adds a read: export_fs is not freed before canfs_export_fs_leave(). False: export_fs drains and
 * accepts no more reads.
 */
bool canfs_export_fs_enter(struct canfs_export_fs *export_fs);
void canfs_export_fs_leave(struct canfs_export_fs *export_fs);
bool canfs_export_fs_is_draining(struct canfs_export_fs *export_fs);

/*
 * From now on canfs_export_fs_enter() returns false. Returns false if a drain had begun before. The
 * caller must then remove the files of export_fs from the fd cache, since each of them uses
 * export_fs.
 */
bool canfs_export_fs_begin_drain(struct canfs_export_fs *export_fs);

/*
 * Waits for all reads to leave, at most until `until` (CLOCK_MONOTONIC). False: some reads have not
 * left. export_fs stays usable for them until they leave.
 */
bool canfs_export_fs_is_left(struct canfs_export_fs *export_fs, const struct timespec *until);

/* Closes the opener's descriptor. export_fs is freed when the last read leaves. */
void canfs_export_fs_close(struct canfs_export_fs *export_fs);

/*
 * Returns why export_fs is off, or NULL if it is not. It is off once its handles are not as
 * expected or may not be opened. No file of it is opened then.
 */
const char *canfs_export_fs_off(struct canfs_export_fs *export_fs);

/*
 * st_dev of the file system. Files of other file systems, mounted below it, cannot be opened here.
 */
dev_t canfs_export_fs_st_dev(const struct canfs_export_fs *export_fs);

struct canfs_fd_cache *canfs_export_fs_fd_cache(const struct canfs_export_fs *export_fs);

/*
 * Opens the file that this handle of FSAL VFS names. inode: its inode number in Ganesha. Returns
 * the descriptor and sets *st, or returns -1. If the handle or its file is not as expected,
 * export_fs is off from then on. A deleted file is not opened, because the close of its last user
 * must free it.
 */
int canfs_export_fs_open_handle(struct canfs_export_fs *export_fs, uint64_t inode,
	const uint8_t *wire, size_t wire_bytes, struct stat *st);

#endif
