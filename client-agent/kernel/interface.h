/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Network interfaces: which interface leads to a server, and its counters and speed in sysfs. */
#ifndef CANFS_CLIENT_AGENT_KERNEL_INTERFACE_H
#define CANFS_CLIENT_AGENT_KERNEL_INTERFACE_H

#include <net/if.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Finds the interface of the kernel's route to this address (IPv4 or IPv6). For a VPN, a bond or a
 * bridge, the result is that interface, not a device below it.
 *
 * Sends one rtnetlink message (RTM_GETROUTE). The kernel answers at once and without its network
 * lock. getifaddrs(3) would wait for that lock, and does not know policy routing.
 *
 * Returns 0, -EAFNOSUPPORT, or the kernel's error such as -ENETUNREACH. On an error, name is "".
 */
int canfs_interface_of_route(const struct sockaddr_storage *address, char name[IF_NAMESIZE]);

/*
 * Bytes since boot. Returns 0, an error of canfs_read_file(), or -EPROTO if a file holds no number.
 */
int canfs_interface_bytes(
	const char *root, const char *name, uint64_t *received_bytes, uint64_t *sent_bytes);

/*
 * Reads root + /sys/class/net/NAME/FILE. Returns 0 if the file is missing or its value is negative
 * or greater than INT32_MAX.
 */
uint32_t canfs_interface_number(const char *root, const char *name, const char *file);

/*
 * Returns the speed in Mbit/s, or 0 if unknown. Only network cards and bonds have a speed here;
 * tunnels and bridges report arbitrary ones. Waits for the kernel's network lock, for example while
 * interfaces are being configured, so call this rarely.
 */
uint32_t canfs_interface_mbit(const char *root, const char *name);

#endif
