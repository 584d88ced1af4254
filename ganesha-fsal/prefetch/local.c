// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/prefetch/local.h"
#include "ganesha-fsal/prefetch/kernel_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARDS  16
#define BUCKETS 64 /* of each shard */

TAILQ_HEAD(by_use, canfs_local_file);
LIST_HEAD(bucket, canfs_local_file);

struct shard {
	pthread_mutex_t mutex;
	struct by_use used; /* least recently first */
	unsigned int files;
	struct bucket buckets[BUCKETS];
};

struct canfs_locals {
	unsigned int files_max; /* of each shard */
	struct shard shards[SHARDS];
	pthread_mutex_t closing_mutex;
	struct by_use closing; /* used by nobody, in no shard */
	atomic_ullong open, opened, displaced, failed;
};

struct canfs_tree {
	struct canfs_locals *locals;
	struct canfs_device *device;
	int dir;
	dev_t st_dev;
	_Atomic(const char *) off;

	pthread_mutex_t mutex; /* of what follows */
	pthread_cond_t left;
	unsigned int inside;
	_Atomic bool draining; /* read without it */
	bool closed;
};

static struct shard *shard_of(struct canfs_locals *locals, const void *object, struct bucket **bucket)
{
	uint64_t mixed = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
	struct shard *shard = &locals->shards[mixed >> 60 & (SHARDS - 1)];

	*bucket = &shard->buckets[mixed >> 54 & (BUCKETS - 1)];
	return shard;
}

int canfs_locals_new(struct canfs_locals **locals, unsigned int files)
{
	struct canfs_locals *new = calloc(1, sizeof(*new));

	if (new == NULL)
		return -ENOMEM;
	new->files_max = files < SHARDS ? 1 : files / SHARDS;
	pthread_mutex_init(&new->closing_mutex, NULL);
	TAILQ_INIT(&new->closing);
	for (int i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&new->shards[i].mutex, NULL);
		TAILQ_INIT(&new->shards[i].used);
	}
	*locals = new;
	return 0;
}

/* Out of its shard, under that one's mutex. It is closed when the last user has put it. */
static void unlist(struct shard *shard, struct canfs_local_file *file)
{
	if (!file->listed)
		return;
	file->listed = false;
	LIST_REMOVE(file, in_bucket);
	TAILQ_REMOVE(&shard->used, file, by_use);
	shard->files--;
}

static void close_later(struct canfs_locals *locals, struct canfs_local_file *file)
{
	pthread_mutex_lock(&locals->closing_mutex);
	TAILQ_INSERT_TAIL(&locals->closing, file, by_use);
	pthread_mutex_unlock(&locals->closing_mutex);
}

static void close_file(struct canfs_locals *locals, struct canfs_local_file *file)
{
	canfs_resident_unmap(&file->map);
	close(file->fd);
	pthread_mutex_destroy(&file->mutex);
	atomic_fetch_sub(&locals->open, 1);
	free(file);
}

/* One of those that wait for it; false: there was none. */
static bool close_one(struct canfs_locals *locals)
{
	struct canfs_local_file *file;

	pthread_mutex_lock(&locals->closing_mutex);
	file = TAILQ_FIRST(&locals->closing);
	if (file != NULL)
		TAILQ_REMOVE(&locals->closing, file, by_use);
	pthread_mutex_unlock(&locals->closing_mutex);
	if (file != NULL)
		close_file(locals, file);
	return file != NULL;
}

static void close_all(struct canfs_locals *locals)
{
	while (close_one(locals))
		;
}

void canfs_locals_tick(struct canfs_locals *locals)
{
	for (int i = 0; i < SHARDS; i++) {
		struct shard *shard = &locals->shards[i];
		struct canfs_local_file *file, *next;

		pthread_mutex_lock(&shard->mutex);
		for (file = TAILQ_FIRST(&shard->used); file != NULL; file = next) {
			next = TAILQ_NEXT(file, by_use);
			if (file->users != 0 || ++file->idle_sec < CANFS_LOCAL_IDLE_SEC)
				continue;
			unlist(shard, file);
			close_later(locals, file);
		}
		pthread_mutex_unlock(&shard->mutex);
	}
	close_all(locals);
}

void canfs_locals_free(struct canfs_locals *locals)
{
	if (locals == NULL)
		return;
	for (int i = 0; i < SHARDS; i++) {
		struct canfs_local_file *file;

		while ((file = TAILQ_FIRST(&locals->shards[i].used)) != NULL) {
			unlist(&locals->shards[i], file);
			close_later(locals, file);
		}
		pthread_mutex_destroy(&locals->shards[i].mutex);
	}
	close_all(locals);
	pthread_mutex_destroy(&locals->closing_mutex);
	free(locals);
}

struct canfs_locals_stats canfs_locals_stats(struct canfs_locals *locals)
{
	struct canfs_locals_stats stats = { .open = atomic_load(&locals->open),
		.opened = atomic_load(&locals->opened),
		.displaced = atomic_load(&locals->displaced),
		.failed = atomic_load(&locals->failed) };

	stats.memory_bytes = sizeof(*locals) + stats.open * sizeof(struct canfs_local_file);
	return stats;
}

int canfs_tree_open(struct canfs_tree **tree, struct canfs_locals *locals, const char *path,
	struct canfs_device *device)
{
	struct canfs_tree *new = calloc(1, sizeof(*new));
	struct stat st;
	int error;

	if (new == NULL)
		return -ENOMEM;
	new->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (new->dir < 0 || fstat(new->dir, &st) != 0) {
		error = -errno;
		if (new->dir >= 0)
			close(new->dir);
		free(new);
		return error;
	}
	new->locals = locals;
	new->device = device;
	new->st_dev = st.st_dev;
	pthread_mutex_init(&new->mutex, NULL);
	pthread_cond_init(&new->left, NULL);
	*tree = new;
	return 0;
}

struct canfs_device *canfs_tree_device(const struct canfs_tree *tree)
{
	return tree->device;
}

const char *canfs_tree_off(struct canfs_tree *tree)
{
	return atomic_load_explicit(&tree->off, memory_order_relaxed);
}

static void free_tree(struct canfs_tree *tree)
{
	pthread_mutex_destroy(&tree->mutex);
	pthread_cond_destroy(&tree->left);
	free(tree);
}

bool canfs_tree_enter(struct canfs_tree *tree)
{
	bool entered;

	pthread_mutex_lock(&tree->mutex);
	entered = !tree->draining;
	if (entered)
		tree->inside++;
	pthread_mutex_unlock(&tree->mutex);
	return entered;
}

void canfs_tree_leave(struct canfs_tree *tree)
{
	bool last;

	pthread_mutex_lock(&tree->mutex);
	tree->inside--;
	last = tree->inside == 0;
	if (last)
		pthread_cond_broadcast(&tree->left);
	last = last && tree->closed;
	pthread_mutex_unlock(&tree->mutex);
	if (last)
		free_tree(tree);
}

bool canfs_tree_is_draining(struct canfs_tree *tree)
{
	return atomic_load_explicit(&tree->draining, memory_order_relaxed);
}

/* The next file of the tree in this shard, out of it, and with a user more. */
static struct canfs_local_file *take_one(struct shard *shard, const struct canfs_tree *tree)
{
	struct canfs_local_file *file;

	pthread_mutex_lock(&shard->mutex);
	TAILQ_FOREACH (file, &shard->used, by_use) {
		if (file->tree == tree)
			break;
	}
	if (file != NULL) {
		unlist(shard, file);
		file->users++;
	}
	pthread_mutex_unlock(&shard->mutex);
	return file;
}

static void forget_all(struct canfs_tree *tree, void (*visit)(struct canfs_local_file *file))
{
	struct canfs_local_file *file;

	for (int i = 0; i < SHARDS; i++) {
		while ((file = take_one(&tree->locals->shards[i], tree)) != NULL) {
			if (visit != NULL)
				visit(file);
			canfs_local_put(file);
		}
	}
}

bool canfs_tree_drain(struct canfs_tree *tree, void (*visit)(struct canfs_local_file *file))
{
	bool first;

	pthread_mutex_lock(&tree->mutex);
	first = !tree->draining;
	tree->draining = true;
	pthread_mutex_unlock(&tree->mutex);
	forget_all(tree, visit);

	/* A file that was displaced while it was in use is not found there; its reads end all the same. */
	pthread_mutex_lock(&tree->mutex);
	while (tree->inside != 0)
		pthread_cond_wait(&tree->left, &tree->mutex);
	pthread_mutex_unlock(&tree->mutex);

	/* Whoever had entered before may have opened one meanwhile. */
	forget_all(tree, visit);
	close_all(tree->locals);
	return first;
}

void canfs_tree_close(struct canfs_tree *tree)
{
	bool last;

	if (tree == NULL)
		return;
	/* What all trees share is gone before a drained one is closed, if the server ends. */
	if (!canfs_tree_is_draining(tree))
		forget_all(tree, NULL);
	close(tree->dir);
	pthread_mutex_lock(&tree->mutex);
	tree->closed = true;
	last = tree->inside == 0;
	pthread_mutex_unlock(&tree->mutex);
	if (last)
		free_tree(tree);
}

static struct canfs_local_file *find(
	struct bucket *bucket, const struct canfs_tree *tree, const void *object)
{
	struct canfs_local_file *file;

	LIST_FOREACH (file, bucket, in_bucket) {
		if (file->object == object && file->tree == tree)
			break;
	}
	return file;
}

/* Under the shard's mutex. */
static void use(struct shard *shard, struct canfs_local_file *file)
{
	file->users++;
	file->idle_sec = 0;
	TAILQ_REMOVE(&shard->used, file, by_use);
	TAILQ_INSERT_TAIL(&shard->used, file, by_use);
}

struct canfs_local_file *canfs_local_find(struct canfs_tree *tree, const void *object)
{
	struct bucket *bucket;
	struct shard *shard = shard_of(tree->locals, object, &bucket);
	struct canfs_local_file *file;

	pthread_mutex_lock(&shard->mutex);
	file = find(bucket, tree, object);
	if (file != NULL)
		use(shard, file);
	pthread_mutex_unlock(&shard->mutex);
	return file;
}

/* Makes room for one more, if a file is used by nobody. Under the shard's mutex. */
static void displace(struct canfs_locals *locals, struct shard *shard)
{
	struct canfs_local_file *file;

	if (shard->files < locals->files_max)
		return;
	TAILQ_FOREACH (file, &shard->used, by_use) {
		if (file->users == 0)
			break;
	}
	if (file == NULL)
		return;
	unlist(shard, file);
	close_later(locals, file);
	atomic_fetch_add(&locals->displaced, 1);
}

/* Lists it; or, if another was quicker, closes it and takes that one. */
static struct canfs_local_file *enlist(struct canfs_locals *locals, struct canfs_local_file *new)
{
	struct bucket *bucket;
	struct shard *shard = shard_of(locals, new->object, &bucket);
	struct canfs_local_file *file;

	pthread_mutex_lock(&shard->mutex);
	file = find(bucket, new->tree, new->object);
	if (file == NULL) {
		displace(locals, shard);
		LIST_INSERT_HEAD(bucket, new, in_bucket);
		TAILQ_INSERT_TAIL(&shard->used, new, by_use);
		shard->files++;
		new->listed = true;
		file = new;
	}
	use(shard, file);
	pthread_mutex_unlock(&shard->mutex);
	if (file != new)
		close_file(locals, new);
	close_one(locals);
	return file;
}

static void switch_off(struct canfs_tree *tree, const char *why)
{
	const char *none = NULL;

	atomic_compare_exchange_strong(&tree->off, &none, why);
}

/* The descriptor, or -1. */
static int open_handle(struct canfs_tree *tree, uint64_t inode, const uint8_t *wire, size_t wire_bytes,
	struct stat *st)
{
	_Alignas(struct file_handle) char room[sizeof(struct file_handle) + CANFS_KERNEL_HANDLE_BYTES_MAX];
	struct file_handle *kernel = (struct file_handle *)room;
	struct canfs_kernel_handle handle;
	int fd;

	if (canfs_parse_kernel_handle(wire, wire_bytes, &handle) != 0) {
		switch_off(tree, "its handles have another layout");
		return -1;
	}
	kernel->handle_bytes = handle.bytes;
	kernel->handle_type = handle.type;
	memcpy(kernel->f_handle, handle.handle, handle.bytes);
	/* O_NONBLOCK: whoever holds a lease on it is not waited for. */
	fd = open_by_handle_at(
		tree->dir, kernel, O_RDONLY | O_NOATIME | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		if (errno == EPERM || errno == EOPNOTSUPP || errno == EINVAL)
			switch_off(tree, "its files may not be opened by their handles");
		return -1;
	}
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_ino == inode &&
		st->st_dev == tree->st_dev)
		return fd;
	switch_off(tree, "its handles name other files");
	close(fd);
	return -1;
}

struct canfs_local_file *canfs_local_open(struct canfs_tree *tree, const void *object,
	uint64_t name, uint64_t inode, const uint8_t *wire, size_t wire_bytes)
{
	struct canfs_locals *locals = tree->locals;
	struct canfs_local_file *file;
	struct stat st;
	int fd;

	if (canfs_tree_off(tree) != NULL || canfs_tree_is_draining(tree))
		return NULL;
	fd = open_handle(tree, inode, wire, wire_bytes, &st);
	file = fd >= 0 ? calloc(1, sizeof(*file)) : NULL;
	if (file == NULL) {
		if (fd >= 0)
			close(fd);
		atomic_fetch_add(&locals->failed, 1);
		return NULL;
	}
	atomic_fetch_add(&locals->opened, 1);
	atomic_fetch_add(&locals->open, 1);
	file->fd = fd;
	file->name = name;
	file->tree = tree;
	file->bytes = (uint64_t)st.st_size;
	file->object = object;
	pthread_mutex_init(&file->mutex, NULL);
	RB_INIT(&file->pieces);
	return enlist(locals, file);
}

void canfs_local_use(struct canfs_local_file *file)
{
	struct bucket *bucket;
	struct shard *shard = shard_of(file->tree->locals, file->object, &bucket);

	pthread_mutex_lock(&shard->mutex);
	file->users++;
	pthread_mutex_unlock(&shard->mutex);
}

void canfs_local_put(struct canfs_local_file *file)
{
	struct canfs_locals *locals;
	struct bucket *bucket;
	struct shard *shard;
	bool last;

	if (file == NULL)
		return;
	locals = file->tree->locals;
	shard = shard_of(locals, file->object, &bucket);
	pthread_mutex_lock(&shard->mutex);
	last = --file->users == 0 && !file->listed;
	pthread_mutex_unlock(&shard->mutex);
	if (last)
		close_later(locals, file);
}

void canfs_local_forget(struct canfs_locals *locals, const void *object)
{
	struct bucket *bucket;
	struct shard *shard = shard_of(locals, object, &bucket);
	struct canfs_local_file *file, *next;

	pthread_mutex_lock(&shard->mutex);
	for (file = LIST_FIRST(bucket); file != NULL; file = next) {
		next = LIST_NEXT(file, in_bucket);
		if (file->object != object)
			continue;
		unlist(shard, file);
		if (file->users == 0)
			close_later(locals, file);
	}
	pthread_mutex_unlock(&shard->mutex);
}
