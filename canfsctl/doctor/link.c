// SPDX-License-Identifier: LGPL-3.0-or-later
/* The network path to a server: interface, MTU, speed. Asks only the kernel. */
#include "canfsctl/doctor/facts.h"

#include <netinet/in.h>
#include <unistd.h>
#include "client-agent/kernel/interface.h"
#include "client-agent/kernel/knob.h"

#define ANY_PORT 9 /* discard; nothing is sent */

/*
 * Connects a datagram socket to get the path MTU that the kernel has learned. Returns 0 if it is
 * unknown.
 */
static uint32_t path_mtu_bytes(const struct sockaddr_storage *server)
{
	const bool v6 = server->ss_family == AF_INET6;
	struct sockaddr_storage peer = *server;
	socklen_t len = v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	int mtu = 0;
	int fd;

	if (!v6 && server->ss_family != AF_INET)
		return 0;
	if (v6)
		((struct sockaddr_in6 *)&peer)->sin6_port = htons(ANY_PORT);
	else
		((struct sockaddr_in *)&peer)->sin_port = htons(ANY_PORT);
	fd = socket(peer.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (connect(fd, (const struct sockaddr *)&peer, len) == 0) {
		len = sizeof(mtu);
		if (getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu,
			    &len) < 0)
			mtu = 0;
	}
	close(fd);
	return mtu > 0 ? (uint32_t)mtu : 0;
}

static void gather_link(
	const char *root, const struct sockaddr_storage *server, struct canfs_link_facts *link)
{
	link->path_mtu_bytes = path_mtu_bytes(server);
	if (canfs_interface_of_route(server, link->interface))
		return;
	link->mtu_bytes = canfs_interface_number(root, link->interface, "mtu");
	link->speed_mbit = canfs_interface_number(root, link->interface, "speed");
	link->agent_mbit = canfs_interface_mbit(root, link->interface);
}

void canfs_mount_gather(const char *root, struct canfs_mount_facts *facts)
{
	if (canfs_knob_read(
		    root, CANFS_KNOB_READ_AHEAD, facts->mount->bdi, &facts->read_ahead_kib) < 0)
		facts->read_ahead_kib = 0;
	gather_link(root, &facts->mount->address, &facts->link);
}
