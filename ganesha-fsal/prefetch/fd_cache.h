/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Descriptors of our own for the files that are read: to ask what of them is in the page cache, and to have it
 * brought there. Data is never read through them.
 *
 *	export --> export_fs (its file system)
 *	object --> open file: open_by_handle_at() on it ---> closed when idle, forgotten, or displaced
 *
 * Bounded: of all exported file systems together no more stay open than is said when it is made, and than 1/32 of what the process may
 * have; the least recently used gives way. If all are in use there are twice as many, and then no more. A file that
 * nobody reads for CANFS_LOCAL_IDLE_SEC is closed.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_FD_CACHE_H
#define CANFS_GANESHA_FSAL_PREFETCH_FD_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <time.h>
#include <bsd/sys/tree.h>
#include "ganesha-fsal/prefetch/resident.h"
#include "ganesha-fsal/prefetch/export_fs.h"
#include "ganesha-fsal/prefetch/kernel_stream.h"
#include "ganesha-fsal/prefetch/residency.h"

#define CANFS_LOCAL_IDLE_SEC 10

struct canfs_fd_cache;

struct canfs_open_file {
	int fd;
	uint64_t name; /* of the file, for the table of active files and the engine */
	struct canfs_export_fs *export_fs;

	struct canfs_kernel_streams streams;

	struct canfs_resident_map map;
	atomic_bool caches;  /* what was fetched for a read was then there */
	atomic_uint in_vain; /* or so often it was not, before the first time that it was */

	pthread_mutex_t mutex;  /* of what follows; what is atomic is read without it */
	_Atomic uint64_t bytes; /* its size; looked up again if `resize` */
	atomic_bool resize;
	RB_HEAD(canfs_fetchings, canfs_fetching) pieces; /* being fetched (fetching.c) */
	atomic_uint fetches;                             /* so many */
	struct canfs_residency residency;

	/* Of fd_cache.c. */
	const void *object; /* with export_fs: its name here */
	unsigned int users, idle_sec;
	bool listed;
	TAILQ_ENTRY(canfs_open_file) by_use;
	LIST_ENTRY(canfs_open_file) in_bucket;
};

struct canfs_fd_cache_stats {
	uint64_t open, opened, displaced, failed;
	uint64_t memory_bytes;
};

/* files: at most so many open. 0 or -ENOMEM. */
int canfs_fd_cache_new(struct canfs_fd_cache **fd_cache, unsigned int files);
void canfs_fd_cache_free(
	struct canfs_fd_cache *fd_cache); /* no file may be in use any more; NULL allowed */
struct canfs_fd_cache_stats canfs_fd_cache_stats(struct canfs_fd_cache *fd_cache);

/* To be called about once a second: closes what is idle. It may take long: the last close of a deleted file frees it. */
void canfs_fd_cache_tick(struct canfs_fd_cache *fd_cache);

/* Closes what nobody uses any more; as tick() and each open() do, too. */
void canfs_fd_cache_close_all(struct canfs_fd_cache *fd_cache);

/* Each file of export_fs is visited (NULL: nothing is done), and closed as soon as nobody uses it. */
void canfs_fd_cache_forget_export_fs(struct canfs_fd_cache *fd_cache,
	const struct canfs_export_fs *export_fs, void (*visit)(struct canfs_open_file *file));

/*
 * The open file of this object (any pointer that names it while it exists), with a user more; NULL: not open.
 */
struct canfs_open_file *canfs_fd_cache_find(struct canfs_export_fs *export_fs, const void *object);

/*
 * Opens it, by the handle that clients have of it; inode as Ganesha knows it. NULL: it cannot be had now (deleted, too
 * many descriptors, of ours or of all), or export_fs is off, now or before, or drains.
 */
struct canfs_open_file *canfs_fd_cache_open(struct canfs_export_fs *export_fs, const void *object,
	uint64_t name, uint64_t inode, const uint8_t *wire, size_t wire_bytes);

/* Adds a user; drops a user. Neither closes a file: close(), tick() and drain() do. */
void canfs_fd_cache_use(struct canfs_open_file *file);
void canfs_fd_cache_put(struct canfs_open_file *file); /* NULL allowed */

/*
 * For an object that is released, or a file that is deleted: removes its open file, of any exported file system, from the cache and returns it
 * with one more user, for close(). NULL: there is none. close() waits until nobody else uses the file, then closes it. After `until`
 * (CLOCK_MONOTONIC) it leaves that to close_all().
 */
struct canfs_open_file *canfs_fd_cache_take(struct canfs_fd_cache *fd_cache, const void *object);
void canfs_fd_cache_close(struct canfs_open_file *file, const struct timespec *until);

#endif
