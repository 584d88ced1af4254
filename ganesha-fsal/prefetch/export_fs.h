/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An export's file system, as its files are opened: from the first read to when nothing of it is in flight any more. */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_EXPORT_FS_H
#define CANFS_GANESHA_FSAL_PREFETCH_EXPORT_FS_H

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
 * The file system that path, a directory, is on; all of its files are to be on `device`, where it begins at fs_start
 * (bytes). 0 or -errno. It has one user more with each read that is in flight, and goes with the last.
 */
int canfs_export_fs_open(struct canfs_export_fs **export_fs, struct canfs_fd_cache *fd_cache,
	const char *path, struct canfs_device *device, uint64_t fs_start);
uint64_t canfs_export_fs_start(const struct canfs_export_fs *export_fs);
struct canfs_device *canfs_export_fs_device(const struct canfs_export_fs *export_fs);

/*
 * For a read of export_fs: nothing of it ends before leave(). False: export_fs drains, and takes no more.
 */
bool canfs_export_fs_enter(struct canfs_export_fs *export_fs);
void canfs_export_fs_leave(struct canfs_export_fs *export_fs);
bool canfs_export_fs_is_draining(struct canfs_export_fs *export_fs);

/*
 * From now on nobody enters. False: it was begun before. All of its files are to be forgotten then (fd_cache.h): each has
 * it in use.
 */
bool canfs_export_fs_begin_drain(struct canfs_export_fs *export_fs);

/*
 * Have all reads left, at the latest at `until` (CLOCK_MONOTONIC)? If not, it stays usable for the reads that are still
 * inside, for as long as they are.
 */
bool canfs_export_fs_is_left(struct canfs_export_fs *export_fs, const struct timespec *until);

/* The opener's descriptor. It goes when the last read leaves. */
void canfs_export_fs_close(struct canfs_export_fs *export_fs);

/* Why it is off, or NULL: handles are not as expected, or may not be opened. Then no file of it is ever found. */
const char *canfs_export_fs_off(struct canfs_export_fs *export_fs);

/* st_dev of its file system: files of others, which are mounted below, are not to be had here. */
dev_t canfs_export_fs_st_dev(const struct canfs_export_fs *export_fs);

struct canfs_fd_cache *canfs_export_fs_fd_cache(const struct canfs_export_fs *export_fs);

/*
 * The file that this handle of FSAL VFS names, by its inode as Ganesha knows it: its descriptor and *st, or -1. If
 * the handle, or the file that it names, is not as expected, export_fs is off from then on. A deleted file is not opened, because the close of
 * its last user must free it.
 */
int canfs_export_fs_open_handle(struct canfs_export_fs *export_fs, uint64_t inode,
	const uint8_t *wire, size_t wire_bytes, struct stat *st);

#endif
