// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/export_fs.h"
#include "ganesha-fsal/stack/core/kernel_handle.h"
#include "ganesha-fsal/read/prefetch/fd_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/clock.h"

struct canfs_export_fs {
	struct canfs_fd_cache *fd_cache;
	struct canfs_device *device;
	int dir;
	dev_t st_dev;
	uint64_t fs_start;
	_Atomic(const char *) off;

	pthread_mutex_t mutex; /* protects what follows */
	pthread_cond_t left;
	unsigned int inside;
	_Atomic bool draining; /* read without the mutex */
	bool closed;
};

int canfs_export_fs_open(struct canfs_export_fs **export_fs, struct canfs_fd_cache *fd_cache,
	const char *path, struct canfs_device *device, uint64_t fs_start)
{
	struct canfs_export_fs *new = calloc(1, sizeof(*new));
	struct stat st;
	int ret;

	if (!new)
		return -ENOMEM;
	new->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (new->dir < 0 || fstat(new->dir, &st) != 0) {
		ret = -errno;
		if (new->dir >= 0)
			close(new->dir);
		free(new);
		return ret;
	}
	new->fd_cache = fd_cache;
	new->device = device;
	new->fs_start = fs_start;
	new->st_dev = st.st_dev;
	pthread_mutex_init(&new->mutex, NULL);
	canfs_steady_cond_init(&new->left);
	*export_fs = new;
	return 0;
}

struct canfs_device *canfs_export_fs_device(const struct canfs_export_fs *export_fs)
{
	return export_fs->device;
}

uint64_t canfs_export_fs_start(const struct canfs_export_fs *export_fs)
{
	return export_fs->fs_start;
}

const char *canfs_export_fs_off(struct canfs_export_fs *export_fs)
{
	return atomic_load_explicit(&export_fs->off, memory_order_relaxed);
}

dev_t canfs_export_fs_st_dev(const struct canfs_export_fs *export_fs)
{
	return export_fs->st_dev;
}

static void free_export_fs(struct canfs_export_fs *export_fs)
{
	pthread_mutex_destroy(&export_fs->mutex);
	pthread_cond_destroy(&export_fs->left);
	free(export_fs);
}

bool canfs_export_fs_enter(struct canfs_export_fs *export_fs)
{
	bool entered;

	pthread_mutex_lock(&export_fs->mutex);
	entered = !export_fs->draining;
	if (entered)
		export_fs->inside++;
	pthread_mutex_unlock(&export_fs->mutex);
	return entered;
}

void canfs_export_fs_leave(struct canfs_export_fs *export_fs)
{
	bool last;

	pthread_mutex_lock(&export_fs->mutex);
	export_fs->inside--;
	last = export_fs->inside == 0;
	if (last)
		pthread_cond_broadcast(&export_fs->left);
	last = last && export_fs->closed;
	pthread_mutex_unlock(&export_fs->mutex);
	if (last)
		free_export_fs(export_fs);
}

bool canfs_export_fs_is_draining(struct canfs_export_fs *export_fs)
{
	return atomic_load_explicit(&export_fs->draining, memory_order_relaxed);
}

struct canfs_fd_cache *canfs_export_fs_fd_cache(const struct canfs_export_fs *export_fs)
{
	return export_fs->fd_cache;
}

bool canfs_export_fs_begin_drain(struct canfs_export_fs *export_fs)
{
	bool first;

	pthread_mutex_lock(&export_fs->mutex);
	first = !export_fs->draining;
	export_fs->draining = true;
	pthread_mutex_unlock(&export_fs->mutex);
	return first;
}

bool canfs_export_fs_is_left(struct canfs_export_fs *export_fs, const struct timespec *until)
{
	bool empty;
	int ret = 0;

	pthread_mutex_lock(&export_fs->mutex);
	while (export_fs->inside != 0 && ret == 0)
		ret = pthread_cond_timedwait(&export_fs->left, &export_fs->mutex, until);
	empty = export_fs->inside == 0;
	pthread_mutex_unlock(&export_fs->mutex);
	return empty;
}

void canfs_export_fs_close(struct canfs_export_fs *export_fs)
{
	bool last;

	close(export_fs->dir);
	pthread_mutex_lock(&export_fs->mutex);
	export_fs->closed = true;
	last = export_fs->inside == 0;
	pthread_mutex_unlock(&export_fs->mutex);
	if (last)
		free_export_fs(export_fs);
}

static void switch_off(struct canfs_export_fs *export_fs, const char *why)
{
	const char *none = NULL;

	atomic_compare_exchange_strong(&export_fs->off, &none, why);
}

int canfs_export_fs_open_handle(struct canfs_export_fs *export_fs, uint64_t inode,
	const uint8_t *wire, size_t wire_bytes, struct stat *st)
{
	/* O_NONBLOCK: do not wait for the holder of a lease. */
	int fd = canfs_open_kernel_handle(export_fs->dir, wire, wire_bytes,
		O_RDONLY | O_NOATIME | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd == -EPROTO)
		switch_off(export_fs, "its handles have an unknown layout");
	else if (fd == -EPERM || fd == -EOPNOTSUPP || fd == -EINVAL)
		switch_off(export_fs, "its files cannot be opened by handle");
	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_ino == inode &&
		st->st_dev == export_fs->st_dev) {
		if (st->st_nlink > 0)
			return fd;
	} else {
		switch_off(export_fs, "its handles refer to other files");
	}
	close(fd);
	return -1;
}
