/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where metrics may be served: on this host's loopback only, since nobody has to authenticate. */
#ifndef CANFS_CLIENT_AGENT_CONFIG_LISTEN_H
#define CANFS_CLIENT_AGENT_CONFIG_LISTEN_H

#include <sys/socket.h>

/*
 * "127.0.0.1:9105" (any of 127.0.0.0/8) or "[::1]:9105", port 1 ... 65535. 0; -EINVAL if it is no
 * ADDRESS:PORT; -EACCES if the address is not of the loopback. *address is set only on 0.
 */
int canfs_listen_parse(const char *text, struct sockaddr_storage *address);

#endif
