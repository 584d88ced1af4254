/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The plugin's own descriptors of the files that clients read. They are used to ask which pages are
 * in the page cache, and to fetch pages into it. The data for clients is never read through them.
 *
 *	export --> export_fs (its file system)
 *	object --> open file: open_by_handle_at() on it ---> closed when idle, forgotten, or displaced
 *
 * Bounded over all exported file systems: at most `files` of canfs_fd_cache_new(), and at most 1/32
 * of RLIMIT_NOFILE. The least recently used file is displaced. While all files are in use, up to
 * twice as many are opened, then no more. A file that is not read for CANFS_LOCAL_IDLE_SEC is
 * closed.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_FD_CACHE_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_FD_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <time.h>
#include <bsd/sys/tree.h>
#include "ganesha-fsal/read/prefetch/resident.h"
#include "ganesha-fsal/read/prefetch/export_fs.h"
#include "ganesha-fsal/read/prefetch/kernel_stream.h"
#include "ganesha-fsal/read/prefetch/residency.h"

#define CANFS_LOCAL_IDLE_SEC 10

struct canfs_fd_cache;

struct canfs_open_file {
	int fd;
	uint64_t name; /* key of the file in the table of active files and in the engine */
	struct canfs_export_fs *export_fs;

	struct canfs_kernel_streams streams;

	struct canfs_resident_map map;
	atomic_bool caches;  /* pages fetched for a read were then in the page cache */
	atomic_uint in_vain; /* how often they were not, before the first time they were */

	pthread_mutex_t mutex;  /* protects what follows; atomics are read without it */
	_Atomic uint64_t bytes; /* file size; looked up again if `resize` */
	atomic_bool resize;
	RB_HEAD(canfs_fetchings, canfs_fetching) pieces; /* in flight (fetching.c) */
	atomic_uint fetches;                             /* number of pieces */
	struct canfs_residency residency;

	/* Private to fd_cache.c. */
	const void *object; /* with export_fs: the key in this cache */
	unsigned int users, idle_sec;
	bool listed;
	TAILQ_ENTRY(canfs_open_file) by_use;
	LIST_ENTRY(canfs_open_file) in_bucket;
};

struct canfs_fd_cache_stats {
	uint64_t open, opened, displaced, failed;
};

/* files: how many may be open. Returns 0 or -ENOMEM. */
int canfs_fd_cache_new(struct canfs_fd_cache **fd_cache, unsigned int files);
void canfs_fd_cache_free(
	struct canfs_fd_cache *fd_cache); /* no file may still be in use; NULL allowed */
struct canfs_fd_cache_stats canfs_fd_cache_stats(struct canfs_fd_cache *fd_cache);

/* Call about once a second: removes idle files from the cache, for close_all(). */
void canfs_fd_cache_tick(struct canfs_fd_cache *fd_cache);

/*
 * Closes the files that were removed from the cache and have no user left. May block for long,
 * because the last close of a deleted file frees its blocks. Each open() closes one, too, but none
 * that was deleted.
 */
void canfs_fd_cache_close_all(struct canfs_fd_cache *fd_cache);

/* Returns true if close_all() has something to close. */
bool canfs_fd_cache_is_closing(struct canfs_fd_cache *fd_cache);

/* Returns true if the file has at most this many links. 0: it was deleted. */
bool canfs_is_last_link(const struct canfs_open_file *file, nlink_t links);

/*
 * Removes each file of export_fs from the cache and calls visit for it (NULL: no call). A file is
 * closed once it has no user.
 */
void canfs_fd_cache_forget_export_fs(struct canfs_fd_cache *fd_cache,
	const struct canfs_export_fs *export_fs, void (*visit)(struct canfs_open_file *file));

/*
 * Returns the open file of this object with a user added, or NULL if it is not open. object: any
 * pointer that identifies the object while it exists.
 */
struct canfs_open_file *canfs_fd_cache_find(struct canfs_export_fs *export_fs, const void *object);

/*
 * Opens the object's file by the handle that clients have. inode: its inode number in Ganesha.
 * NULL: the file is deleted, or there are too many descriptors, here or in the process. Also NULL
 * if export_fs is off, is switched off now, or drains.
 */
struct canfs_open_file *canfs_fd_cache_open(struct canfs_export_fs *export_fs, const void *object,
	uint64_t name, uint64_t inode, const uint8_t *wire, size_t wire_bytes);

/*
 * Adds a user; drops a user. Neither closes a file: canfs_fd_cache_close() and close_all() do.
 */
void canfs_fd_cache_use(struct canfs_open_file *file);
void canfs_fd_cache_put(struct canfs_open_file *file); /* NULL allowed */

/*
 * take() is for an object that is released or a file that is deleted. It removes the object's open
 * file, of any exported file system, from the cache. It returns the file with a user added, for
 * close(), or NULL if there is none. close() waits until nobody else uses the file, then closes it.
 * After `until` (CLOCK_MONOTONIC) it leaves that to close_all(). take() enters the exported file
 * system, and close() leaves it. So a drain does not end in between.
 */
struct canfs_open_file *canfs_fd_cache_take(struct canfs_fd_cache *fd_cache, const void *object);
void canfs_fd_cache_close(struct canfs_open_file *file, const struct timespec *until);

#endif
