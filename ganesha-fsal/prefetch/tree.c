// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/prefetch/tree.h"
#include "ganesha-fsal/prefetch/kernel_handle.h"
#include "ganesha-fsal/prefetch/fd_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "protocol/clock.h"

struct canfs_tree {
	struct canfs_fd_cache *fd_cache;
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

int canfs_tree_open(struct canfs_tree **tree, struct canfs_fd_cache *fd_cache, const char *path,
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
	new->fd_cache = fd_cache;
	new->device = device;
	new->st_dev = st.st_dev;
	pthread_mutex_init(&new->mutex, NULL);
	canfs_steady_cond_init(&new->left);
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

dev_t canfs_tree_st_dev(const struct canfs_tree *tree)
{
	return tree->st_dev;
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

struct canfs_fd_cache *canfs_tree_fd_cache(const struct canfs_tree *tree)
{
	return tree->fd_cache;
}

int canfs_tree_drain(struct canfs_tree *tree, void (*visit)(struct canfs_open_file *file),
	const struct timespec *until)
{
	bool first, empty;
	int error = 0;

	pthread_mutex_lock(&tree->mutex);
	first = !tree->draining;
	tree->draining = true;
	pthread_mutex_unlock(&tree->mutex);
	canfs_fd_cache_forget_tree(tree->fd_cache, tree, visit);

	/* A file that was deleted while it was in use is not found there; its reads end all the same. */
	pthread_mutex_lock(&tree->mutex);
	while (tree->inside != 0 && error == 0)
		error = pthread_cond_timedwait(&tree->left, &tree->mutex, until);
	empty = tree->inside == 0;
	pthread_mutex_unlock(&tree->mutex);
	if (!first)
		return -EALREADY;
	return empty ? 0 : -ETIMEDOUT;
}

void canfs_tree_close(struct canfs_tree *tree)
{
	bool last;

	if (tree == NULL)
		return;
	/* What all trees share is gone before a drained one is closed, if the server ends. */
	if (!canfs_tree_is_draining(tree))
		canfs_fd_cache_forget_tree(tree->fd_cache, tree, NULL);
	close(tree->dir);
	pthread_mutex_lock(&tree->mutex);
	tree->closed = true;
	last = tree->inside == 0;
	pthread_mutex_unlock(&tree->mutex);
	if (last)
		free_tree(tree);
}

static void switch_off(struct canfs_tree *tree, const char *why)
{
	const char *none = NULL;

	atomic_compare_exchange_strong(&tree->off, &none, why);
}

int canfs_tree_open_handle(struct canfs_tree *tree, uint64_t inode, const uint8_t *wire,
	size_t wire_bytes, struct stat *st)
{
	_Alignas(struct file_handle) char
		room[sizeof(struct file_handle) + CANFS_KERNEL_HANDLE_BYTES_MAX];
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
