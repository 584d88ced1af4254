/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Network interfaces: which one leads to a server, and what the kernel says of it. */
#ifndef CANFS_CLIENT_AGENT_KERNEL_INTERFACE_H
#define CANFS_CLIENT_AGENT_KERNEL_INTERFACE_H

#include <net/if.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * The interface of the kernel's route to this address (IPv4 or IPv6): of a VPN, a bond or a bridge it is that one, not what is
 * below. The kernel is asked by one message (rtnetlink RTM_GETROUTE), which it answers at once and without its network lock: a list
 * of addresses (getifaddrs) would wait for that, and cannot know of routes by rule. 0; -EAFNOSUPPORT; or what the kernel says,
 * as -ENETUNREACH; name is "" then.
 */
int canfs_interface_of_route(const struct sockaddr_storage *address, char name[IF_NAMESIZE]);

/* Bytes since boot. 0 or canfs_read_file()'s errors; -EPROTO: no number. */
int canfs_interface_bytes(
	const char *root, const char *name, uint64_t *received_bytes, uint64_t *sent_bytes);

/* root + /sys/class/net/NAME/FILE; 0 if there is none, or it is negative or beyond INT32_MAX. */
uint32_t canfs_interface_number(const char *root, const char *name, const char *file);

/*
 * Speed in Mbit/s; 0: nobody knows. Of network cards and bonds only: tunnels and bridges claim any. Waits for the holder of the
 * kernel's network lock, as when interfaces are configured: ask seldom.
 */
uint32_t canfs_interface_mbit(const char *root, const char *name);

#endif
