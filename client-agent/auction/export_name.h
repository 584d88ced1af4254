/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Parses names of exports as users and the kernel's mount table write them: SERVER:/PATH, or
 * SERVER:TAG for NFSv3.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_EXPORT_NAME_H
#define CANFS_CLIENT_AGENT_AUCTION_EXPORT_NAME_H

#define CANFS_HOST_MAX 255 /* octets of a DNS name, RFC 1035 §2.3.4 */

struct canfs_export_name {
	char host[CANFS_HOST_MAX + 1]; /* name or address; an IPv6 address without its brackets */
	const char *path;              /* points into the parsed text */
};

/*
 * Parses "server:/path", "server:tag", "192.0.2.1:/path" or "[2001:db8::1]:/path". Returns 0, or
 * -EINVAL if there is nothing after the colon, if the host is empty or too long, or if an IPv6
 * address has no brackets.
 */
int canfs_export_name_parse(const char *text, struct canfs_export_name *name);

#endif
