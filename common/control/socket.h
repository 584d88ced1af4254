/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A listening UNIX socket at a path. It replaces the socket of a dead process, but not of a live
 * one.
 */
#ifndef CANFS_COMMON_CONTROL_SOCKET_H
#define CANFS_COMMON_CONTROL_SOCKET_H

#include <sys/types.h>
#include <sys/un.h>

#define CANFS_SOCKET_PATH_MAX sizeof(((struct sockaddr_un *)0)->sun_path) /* with its NUL */

struct canfs_socket {
	int fd; /* listening, non-blocking */
	char path[CANFS_SOCKET_PATH_MAX];
	dev_t device; /* of the path when it was created */
	ino_t inode;
};

/*
 * Listens at path, mode 0600. Creates a missing directory (0755) if its parent exists, and a file
 * PATH.lock (0600), which stays. Replaces a socket that nobody listens on. Does not block. Returns
 * 0 or
 *
 *	-EADDRINUSE    another process listens, or is about to
 *	-EEXIST        the path is not a socket
 *	-EINVAL        the path is not absolute
 *	-ENAMETOOLONG
 *	another -errno
 */
int canfs_socket_open(struct canfs_socket *listener, const char *path);

/* Returns the message for such an error. Valid until the next call in this thread. */
const char *canfs_socket_reason(int error);

/* Closes the socket. Also removes the path, if it is still the one that was created. */
void canfs_socket_close(struct canfs_socket *listener);

#endif
