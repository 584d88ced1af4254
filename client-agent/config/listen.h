/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where metrics may be served: only on this host's loopback, because clients are not authenticated.
 */
#ifndef CANFS_CLIENT_AGENT_CONFIG_LISTEN_H
#define CANFS_CLIENT_AGENT_CONFIG_LISTEN_H

#include <sys/socket.h>

/*
 * Parses "127.0.0.1:9105" (any of 127.0.0.0/8) or "[::1]:9105", with a port of 1 ... 65535. Returns
 * 0, -EINVAL if text is not ADDRESS:PORT, or -EACCES if the address is not a loopback address.
 * *address is set only on 0.
 */
int canfs_listen_parse(const char *text, struct sockaddr_storage *address);

#endif
