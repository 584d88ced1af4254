// SPDX-License-Identifier: LGPL-3.0-or-later
/* The way to a server: which interface, its MTU and speed. Asks the kernel only. */
#include "client-agent/ctl/doctor/facts.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "client-agent/kernel/knob.h"
#include "client-agent/kernel/procfs.h"

#define ANY_PORT 9 /* discard; nothing is sent */

static bool same_address(const struct sockaddr *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)b;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)b;

	if (!a || a->sa_family != b->ss_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr == in->sin_addr.s_addr;
	return a->sa_family == AF_INET6 &&
	       IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr, &in6->sin6_addr);
}

static void find_interface(const struct sockaddr_storage *local, char interface[IF_NAMESIZE])
{
	struct ifaddrs *list;

	if (getifaddrs(&list) < 0)
		return;
	for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
		if (same_address(at->ifa_addr, local)) {
			snprintf(interface, IF_NAMESIZE, "%s", at->ifa_name);
			break;
		}
	}
	freeifaddrs(list);
}

/* 0 if there is none; the kernel shows an unknown speed as -1. */
static uint32_t interface_number(const char *root, const char *interface, const char *name)
{
	char path[64], text[32];
	const char *p = text;
	uint64_t value;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", interface, name);
	if (canfs_read_file(root, path, text, sizeof(text)) < 0 || canfs_parse_u64(&p, &value) ||
		value > INT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* The kernel picks route and source address when a datagram socket is connected. */
static void gather_link(
	const char *root, const struct sockaddr_storage *server, struct canfs_link_facts *link)
{
	const bool v6 = server->ss_family == AF_INET6;
	struct sockaddr_storage peer = *server, local = { 0 };
	socklen_t len = v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	int mtu = 0;
	int fd;

	if (!v6 && server->ss_family != AF_INET)
		return;
	if (v6)
		((struct sockaddr_in6 *)&peer)->sin6_port = htons(ANY_PORT);
	else
		((struct sockaddr_in *)&peer)->sin_port = htons(ANY_PORT);
	fd = socket(peer.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)&peer, len) < 0)
		goto out;
	len = sizeof(local);
	if (getsockname(fd, (struct sockaddr *)&local, &len) == 0)
		find_interface(&local, link->interface);
	len = sizeof(mtu);
	if (getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu, &len) ==
			0 &&
		mtu > 0)
		link->path_mtu_bytes = (uint32_t)mtu;
	if (link->interface[0]) {
		link->mtu_bytes = interface_number(root, link->interface, "mtu");
		link->speed_mbit = interface_number(root, link->interface, "speed");
	}
out:
	close(fd);
}

void canfs_mount_gather(const char *root, struct canfs_mount_facts *facts)
{
	if (canfs_knob_read(
		    root, CANFS_KNOB_READ_AHEAD, facts->mount->bdi, &facts->read_ahead_kib) < 0)
		facts->read_ahead_kib = 0;
	gather_link(root, &facts->mount->address, &facts->link);
}
