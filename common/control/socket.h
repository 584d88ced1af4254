/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A UNIX socket at a path, which is taken from the dead but not from the living. */
#ifndef CANFS_COMMON_CONTROL_SOCKET_H
#define CANFS_COMMON_CONTROL_SOCKET_H

#include <sys/types.h>
#include <sys/un.h>

#define CANFS_SOCKET_PATH_MAX sizeof(((struct sockaddr_un *)0)->sun_path) /* with its 0 */

struct canfs_socket {
	int fd; /* listens; non-blocking */
	char path[CANFS_SOCKET_PATH_MAX];
	dev_t device; /* of the path, as it was made */
	ino_t inode;
};

/*
 * Listens at path, mode 0600; makes the directory (0755) if it is missing in an existing one, and
 * beside the path a file PATH.lock (0600), which stays. A socket that nobody listens to is replaced.
 * Waits for nothing. 0; -EADDRINUSE somebody listens, or is about to; -EEXIST something that is no
 * socket stands there; -EINVAL not an absolute path; -ENAMETOOLONG; other -errno.
 */
int canfs_socket_open(struct canfs_socket *listener, const char *path);

/* What is said of such an error; valid until the next call in this thread. */
const char *canfs_socket_reason(int error);

/* Removes the path too, if it is still the one that was made. */
void canfs_socket_close(struct canfs_socket *listener);

#endif
