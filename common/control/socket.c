// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/control/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG 16

#define LOCK_SUFFIX ".lock"

/*
 * Locks PATH.lock, so that only one process at a time tests whether somebody listens and then
 * binds. The lock is a separate file that only its owner can open, because any process that can
 * read a directory can lock the directory. The file is never removed: unlinking it could take it
 * from the next server.
 */
static int lock_path(const char *path, int *lock)
{
	char file[CANFS_SOCKET_PATH_MAX + sizeof(LOCK_SUFFIX)];
	int ret = 0;

	strcpy(file, path);
	if (mkdir(dirname(file), 0755) != 0 && errno != EEXIST)
		return -errno;
	snprintf(file, sizeof(file), "%s" LOCK_SUFFIX, path);
	*lock = open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*lock < 0)
		return -errno;
	if (flock(*lock, LOCK_EX | LOCK_NB) != 0) {
		/* Another process is about to listen. */
		ret = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
		close(*lock);
	}
	return ret;
}

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strcpy(address.sun_path, path);
	return address;
}

/* Removes the socket of a dead process. Returns 0 if the path is free, or -errno. */
static int clear_path(const char *path)
{
	struct sockaddr_un address = address_of(path);
	struct stat st;
	int fd, ret;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	ret = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : -errno;
	close(fd);
	/* Only ECONNREFUSED shows that the process is dead. A busy one returns EAGAIN. */
	if (ret == -ECONNREFUSED)
		return unlink(path) == 0 ? 0 : -errno;
	return -EADDRINUSE;
}

static int make_listener(struct canfs_socket *listener)
{
	struct sockaddr_un address = address_of(listener->path);
	struct stat st;
	int ret;

	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return -errno;
	/* The path gets its mode from the socket. Changing umask would affect the whole process. */
	if (fchmod(listener->fd, 0600) != 0 ||
		bind(listener->fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		ret = -errno;
		close(listener->fd);
		return ret;
	}
	if (listen(listener->fd, BACKLOG) != 0 || lstat(listener->path, &st) != 0) {
		ret = -errno;
		close(listener->fd);
		unlink(listener->path);
		return ret;
	}
	listener->device = st.st_dev;
	listener->inode = st.st_ino;
	return 0;
}

int canfs_socket_open(struct canfs_socket *listener, const char *path)
{
	int lock = -1, ret;

	*listener = (struct canfs_socket) { .fd = -1 };
	if (strlen(path) >= CANFS_SOCKET_PATH_MAX)
		return -ENAMETOOLONG;
	/* Nobody chooses a daemon's working directory, so a relative path is a mistake. */
	if (path[0] != '/')
		return -EINVAL;
	strcpy(listener->path, path);
	ret = lock_path(path, &lock);
	if (ret != 0)
		return ret;
	ret = clear_path(path);
	if (ret == 0)
		ret = make_listener(listener);
	close(lock);
	return ret;
}

const char *canfs_socket_reason(int error)
{
	switch (error) {
	case -EADDRINUSE:
		return "another server listens there; give each its own Control_Socket";
	case -EEXIST:
		return "it exists and is not a socket, so it is not removed";
	case -EINVAL:
		return "it must be an absolute path";
	default:
		return strerror(-error);
	}
}

void canfs_socket_close(struct canfs_socket *listener)
{
	struct stat st;

	/* Unlinks first, so that a client that finds the path finds a listener. */
	if (lstat(listener->path, &st) == 0 && st.st_dev == listener->device &&
		st.st_ino == listener->inode)
		unlink(listener->path);
	close(listener->fd);
}
