// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/fd_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/clock.h"

#define SHARDS  16
#define BUCKETS 64 /* per shard */

/*
 * Ganesha does not count our descriptors. Ganesha takes up to 90 % of the process's limit
 * (FD_HWMark_Percent), and needs some of the rest for connections. Therefore we take at most
 * 1/RLIMIT_SHARE of the limit, and twice that while all are in use.
 */
#define RLIMIT_SHARE 32

TAILQ_HEAD(by_use, canfs_open_file);
LIST_HEAD(bucket, canfs_open_file);

struct shard {
	pthread_mutex_t mutex;
	pthread_cond_t put; /* signalled when a file that is in no shard loses a user */
	struct by_use used; /* least recently used first */
	unsigned int files;
	struct bucket buckets[BUCKETS];
};

struct canfs_fd_cache {
	unsigned int files_max; /* per shard */
	unsigned int open_max;  /* of all shards, in use or not */
	struct shard shards[SHARDS];
	pthread_mutex_t closing_mutex;
	struct by_use closing; /* without users, in no shard */
	atomic_ullong open, opened, displaced, failed;
};

static struct shard *shard_of(
	struct canfs_fd_cache *fd_cache, const void *object, struct bucket **bucket)
{
	uint64_t mixed = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
	struct shard *shard = &fd_cache->shards[mixed >> 60 & (SHARDS - 1)];

	*bucket = &shard->buckets[mixed >> 54 & (BUCKETS - 1)];
	return shard;
}

int canfs_fd_cache_new(struct canfs_fd_cache **fd_cache, unsigned int files)
{
	struct canfs_fd_cache *new = calloc(1, sizeof(*new));
	struct rlimit limit;

	if (!new)
		return -ENOMEM;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / RLIMIT_SHARE < files)
		files = (unsigned int)(limit.rlim_cur / RLIMIT_SHARE);
	new->files_max = files < SHARDS ? 1 : files / SHARDS;
	new->open_max = 2 * SHARDS *new->files_max;
	pthread_mutex_init(&new->closing_mutex, NULL);
	TAILQ_INIT(&new->closing);
	for (int i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&new->shards[i].mutex, NULL);
		canfs_steady_cond_init(&new->shards[i].put);
		TAILQ_INIT(&new->shards[i].used);
	}
	*fd_cache = new;
	return 0;
}

/*
 * Removes the file from its shard. Call with the shard's mutex held. The last user that puts the
 * file has it closed.
 */
static void unlist(struct shard *shard, struct canfs_open_file *file)
{
	if (!file->listed)
		return;
	file->listed = false;
	LIST_REMOVE(file, in_bucket);
	TAILQ_REMOVE(&shard->used, file, by_use);
	shard->files--;
}

static void close_later(struct canfs_fd_cache *fd_cache, struct canfs_open_file *file)
{
	pthread_mutex_lock(&fd_cache->closing_mutex);
	TAILQ_INSERT_TAIL(&fd_cache->closing, file, by_use);
	pthread_mutex_unlock(&fd_cache->closing_mutex);
}

static void close_file(struct canfs_fd_cache *fd_cache, struct canfs_open_file *file)
{
	canfs_resident_unmap(&file->map);
	close(file->fd);
	pthread_mutex_destroy(&file->mutex);
	pthread_mutex_destroy(&file->map.mutex);
	atomic_fetch_sub(&fd_cache->open, 1);
	free(file);
}

static struct canfs_open_file *take_closing(struct canfs_fd_cache *fd_cache)
{
	struct canfs_open_file *file;

	pthread_mutex_lock(&fd_cache->closing_mutex);
	file = TAILQ_FIRST(&fd_cache->closing);
	if (file)
		TAILQ_REMOVE(&fd_cache->closing, file, by_use);
	pthread_mutex_unlock(&fd_cache->closing_mutex);
	return file;
}

void canfs_fd_cache_close_all(struct canfs_fd_cache *fd_cache)
{
	struct canfs_open_file *file;

	while ((file = take_closing(fd_cache)))
		close_file(fd_cache, file);
}

bool canfs_fd_cache_is_closing(struct canfs_fd_cache *fd_cache)
{
	bool is_closing;

	pthread_mutex_lock(&fd_cache->closing_mutex);
	is_closing = !TAILQ_EMPTY(&fd_cache->closing);
	pthread_mutex_unlock(&fd_cache->closing_mutex);
	return is_closing;
}

bool canfs_is_last_link(const struct canfs_open_file *file, nlink_t links)
{
	struct stat st;

	return fstat(file->fd, &st) == 0 && st.st_nlink <= links;
}

/* Closes one file for one that was opened. The last close of a deleted file may take long. */
static void close_one(struct canfs_fd_cache *fd_cache)
{
	struct canfs_open_file *file = take_closing(fd_cache);

	if (file && canfs_is_last_link(file, 0))
		close_later(fd_cache, file);
	else if (file)
		close_file(fd_cache, file);
}

void canfs_fd_cache_tick(struct canfs_fd_cache *fd_cache)
{
	for (int i = 0; i < SHARDS; i++) {
		struct shard *shard = &fd_cache->shards[i];
		struct canfs_open_file *file, *next;

		pthread_mutex_lock(&shard->mutex);
		for (file = TAILQ_FIRST(&shard->used); file; file = next) {
			next = TAILQ_NEXT(file, by_use);
			if (file->users != 0 || ++file->idle_sec < CANFS_LOCAL_IDLE_SEC)
				continue;
			unlist(shard, file);
			close_later(fd_cache, file);
		}
		pthread_mutex_unlock(&shard->mutex);
	}
}

void canfs_fd_cache_free(struct canfs_fd_cache *fd_cache)
{
	if (!fd_cache)
		return;
	for (int i = 0; i < SHARDS; i++) {
		struct canfs_open_file *file;

		while ((file = TAILQ_FIRST(&fd_cache->shards[i].used))) {
			unlist(&fd_cache->shards[i], file);
			close_later(fd_cache, file);
		}
		pthread_mutex_destroy(&fd_cache->shards[i].mutex);
		pthread_cond_destroy(&fd_cache->shards[i].put);
	}
	canfs_fd_cache_close_all(fd_cache);
	pthread_mutex_destroy(&fd_cache->closing_mutex);
	free(fd_cache);
}

struct canfs_fd_cache_stats canfs_fd_cache_stats(struct canfs_fd_cache *fd_cache)
{
	return (struct canfs_fd_cache_stats) { .open = atomic_load(&fd_cache->open),
		.opened = atomic_load(&fd_cache->opened),
		.displaced = atomic_load(&fd_cache->displaced),
		.failed = atomic_load(&fd_cache->failed) };
}

/* Removes the next file of export_fs from this shard. Returns it with a user added, or NULL. */
static struct canfs_open_file *take_one(
	struct shard *shard, const struct canfs_export_fs *export_fs)
{
	struct canfs_open_file *file;

	pthread_mutex_lock(&shard->mutex);
	TAILQ_FOREACH (file, &shard->used, by_use) {
		if (file->export_fs == export_fs)
			break;
	}
	if (file) {
		unlist(shard, file);
		file->users++;
	}
	pthread_mutex_unlock(&shard->mutex);
	return file;
}

void canfs_fd_cache_forget_export_fs(struct canfs_fd_cache *fd_cache,
	const struct canfs_export_fs *export_fs, void (*visit)(struct canfs_open_file *file))
{
	struct canfs_open_file *file;

	for (int i = 0; i < SHARDS; i++) {
		while ((file = take_one(&fd_cache->shards[i], export_fs))) {
			if (visit)
				visit(file);
			canfs_fd_cache_put(file);
		}
	}
}

static struct canfs_open_file *find(
	struct bucket *bucket, const struct canfs_export_fs *export_fs, const void *object)
{
	struct canfs_open_file *file;

	LIST_FOREACH (file, bucket, in_bucket) {
		if (file->object == object && file->export_fs == export_fs)
			break;
	}
	return file;
}

/* Call with the shard's mutex held. */
static void use(struct shard *shard, struct canfs_open_file *file)
{
	file->users++;
	file->idle_sec = 0;
	TAILQ_REMOVE(&shard->used, file, by_use);
	TAILQ_INSERT_TAIL(&shard->used, file, by_use);
}

struct canfs_open_file *canfs_fd_cache_find(struct canfs_export_fs *export_fs, const void *object)
{
	struct bucket *bucket;
	struct shard *shard = shard_of(canfs_export_fs_fd_cache(export_fs), object, &bucket);
	struct canfs_open_file *file;

	pthread_mutex_lock(&shard->mutex);
	file = find(bucket, export_fs, object);
	if (file)
		use(shard, file);
	pthread_mutex_unlock(&shard->mutex);
	return file;
}

/* Makes room for one more file, if some file has no user. Call with the shard's mutex held. */
static void displace(struct canfs_fd_cache *fd_cache, struct shard *shard)
{
	struct canfs_open_file *file;

	if (shard->files < fd_cache->files_max)
		return;
	TAILQ_FOREACH (file, &shard->used, by_use) {
		if (file->users == 0)
			break;
	}
	if (!file)
		return;
	unlist(shard, file);
	close_later(fd_cache, file);
	atomic_fetch_add(&fd_cache->displaced, 1);
}

/*
 * Lists the new file. If another thread was quicker, closes the new file and returns the other
 * thread's. NULL: export_fs drains. If a drain begins after the check under the mutex,
 * forget_export_fs() finds the file in the list.
 */
static struct canfs_open_file *enlist(struct canfs_fd_cache *fd_cache, struct canfs_open_file *new)
{
	struct bucket *bucket;
	struct shard *shard = shard_of(fd_cache, new->object, &bucket);
	struct canfs_open_file *file;

	pthread_mutex_lock(&shard->mutex);
	file = find(bucket, new->export_fs, new->object);
	if (!file && !canfs_export_fs_is_draining(new->export_fs)) {
		displace(fd_cache, shard);
		LIST_INSERT_HEAD(bucket, new, in_bucket);
		TAILQ_INSERT_TAIL(&shard->used, new, by_use);
		shard->files++;
		new->listed = true;
		file = new;
	}
	if (file)
		use(shard, file);
	pthread_mutex_unlock(&shard->mutex);
	if (file != new)
		close_file(fd_cache, new);
	close_one(fd_cache);
	return file;
}

struct canfs_open_file *canfs_fd_cache_open(struct canfs_export_fs *export_fs, const void *object,
	uint64_t name, uint64_t inode, const uint8_t *wire, size_t wire_bytes)
{
	struct canfs_fd_cache *fd_cache = canfs_export_fs_fd_cache(export_fs);
	struct canfs_open_file *file;
	struct stat st;
	int fd;

	if (canfs_export_fs_off(export_fs) || canfs_export_fs_is_draining(export_fs))
		return NULL;
	fd = atomic_load(&fd_cache->open) < fd_cache->open_max
		     ? canfs_export_fs_open_handle(export_fs, inode, wire, wire_bytes, &st)
		     : -1;
	file = fd >= 0 ? calloc(1, sizeof(*file)) : NULL;
	if (!file) {
		if (fd >= 0)
			close(fd);
		atomic_fetch_add(&fd_cache->failed, 1);
		return NULL;
	}
	atomic_fetch_add(&fd_cache->opened, 1);
	atomic_fetch_add(&fd_cache->open, 1);
	file->fd = fd;
	file->name = name;
	file->export_fs = export_fs;
	file->bytes = (uint64_t)st.st_size;
	file->object = object;
	pthread_mutex_init(&file->mutex, NULL);
	pthread_mutex_init(&file->map.mutex, NULL);
	RB_INIT(&file->pieces);
	return enlist(fd_cache, file);
}

void canfs_fd_cache_use(struct canfs_open_file *file)
{
	struct bucket *bucket;
	struct shard *shard =
		shard_of(canfs_export_fs_fd_cache(file->export_fs), file->object, &bucket);

	pthread_mutex_lock(&shard->mutex);
	file->users++;
	pthread_mutex_unlock(&shard->mutex);
}

void canfs_fd_cache_put(struct canfs_open_file *file)
{
	struct canfs_fd_cache *fd_cache;
	struct bucket *bucket;
	struct shard *shard;
	bool last;

	if (!file)
		return;
	fd_cache = canfs_export_fs_fd_cache(file->export_fs);
	shard = shard_of(fd_cache, file->object, &bucket);
	pthread_mutex_lock(&shard->mutex);
	last = --file->users == 0 && !file->listed;
	if (!file->listed)
		pthread_cond_broadcast(&shard->put);
	pthread_mutex_unlock(&shard->mutex);
	if (last)
		close_later(fd_cache, file);
}

struct canfs_open_file *canfs_fd_cache_take(struct canfs_fd_cache *fd_cache, const void *object)
{
	struct bucket *bucket;
	struct shard *shard = shard_of(fd_cache, object, &bucket);
	struct canfs_open_file *file;

	pthread_mutex_lock(&shard->mutex);
	LIST_FOREACH (file, bucket, in_bucket) {
		if (file->object == object && canfs_export_fs_enter(file->export_fs))
			break;
	}
	if (file) {
		unlist(shard, file);
		file->users++;
	}
	pthread_mutex_unlock(&shard->mutex);
	return file;
}

void canfs_fd_cache_close(struct canfs_open_file *file, const struct timespec *until)
{
	struct canfs_export_fs *export_fs = file->export_fs;
	struct canfs_fd_cache *fd_cache = canfs_export_fs_fd_cache(export_fs);
	struct bucket *bucket;
	struct shard *shard = shard_of(fd_cache, file->object, &bucket);
	bool last;
	int ret = 0;

	pthread_mutex_lock(&shard->mutex);
	while (file->users > 1 && ret == 0)
		ret = pthread_cond_timedwait(&shard->put, &shard->mutex, until);
	last = --file->users == 0;
	pthread_mutex_unlock(&shard->mutex);
	if (last)
		close_file(fd_cache, file);
	canfs_export_fs_leave(export_fs);
}
