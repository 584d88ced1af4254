/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A UDP socket at all addresses of this host, which answers from the one that it was asked at. IPv4 comes as ::ffff:a.b.c.d, also where
 * the kernel has no IPv6.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_UDP_H
#define CANFS_SERVER_PRICE_SERVICE_UDP_H

#include <netinet/in.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Both ends: a host with several addresses must answer from the one that it was asked at. */
struct canfs_endpoint {
	struct sockaddr_in6 client; /* IPv4 as ::ffff:a.b.c.d; flow is no part of it */
	struct in6_pktinfo local;
};

struct canfs_udp {
	int fd;
	bool has_ipv6; /* else this host speaks IPv4 only */
};

/*
 * port: 0 for any. buffer_bytes: of both buffers; as much as the kernel allows. 0 or -errno; fd is to be closed unless it is
 * as before.
 */
int canfs_udp_open(struct canfs_udp *udp, uint16_t port, int buffer_bytes);

uint16_t canfs_udp_port(const struct canfs_udp *udp);

/* For sendmsg(2) and recvmsg(2): points into itself, so it must not move. */
struct canfs_message {
	struct msghdr head;
	struct iovec iov;
	struct sockaddr_in6 ipv6;
	struct sockaddr_in ipv4; /* instead, where there is no IPv6 */
	alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

/* To the endpoint; or room for what comes from any. datagram: bytes long. */
void canfs_message_address(const struct canfs_udp *udp, struct canfs_message *message,
	const struct canfs_endpoint *endpoint, void *datagram, size_t bytes);

/* Is less than half of the send buffer in use? */
bool canfs_udp_has_room(const struct canfs_udp *udp);

/* Does not block. Returns what sendmsg(2) returns, with its errno. */
ssize_t canfs_udp_send(const struct canfs_udp *udp, const struct canfs_message *message);

/*
 * Takes one network error of an earlier datagram. True with the address of an unreachable host, or :: for another error. False: no more
 * errors.
 */
bool canfs_udp_take_error(const struct canfs_udp *udp, struct in6_addr *unreachable);

/*
 * Calls found() for each IPv4 neighbour in the text of /proc/net/arp that has not answered ARP. This list is complete at once; the errors
 * above arrive after some seconds, 50 at a time.
 */
void canfs_unanswered_arp(
	FILE *arp, void (*found)(void *arg, const struct in6_addr *address), void *arg);

/* Who has sent what was received. */
struct canfs_endpoint canfs_message_sender(struct canfs_message *message);

#endif
