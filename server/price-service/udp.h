/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A UDP socket at all addresses of this host. Replies are sent from the address that received the
 * call. IPv4 addresses are ::ffff:a.b.c.d, even if the kernel has no IPv6.
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

/* Both ends of a conversation: the reply must come from the address that received the call. */
struct canfs_endpoint {
	struct sockaddr_in6 client; /* IPv4 as ::ffff:a.b.c.d; sin6_flowinfo is 0 */
	struct in6_pktinfo local;
};

struct canfs_udp {
	int fd;
	bool has_ipv6; /* false: this host has IPv4 only */
};

/*
 * port: 0 for any. buffer_bytes: size of each of the two buffers, as far as the kernel allows.
 * Returns 0 or -errno. On an error, the caller must close udp->fd if it has changed.
 */
int canfs_udp_open(struct canfs_udp *udp, uint16_t port, int buffer_bytes);

uint16_t canfs_udp_port(const struct canfs_udp *udp);

/* For sendmsg(2) and recvmsg(2). Contains pointers to itself, so it must not be moved. */
struct canfs_message {
	struct msghdr head;
	struct iovec iov;
	struct sockaddr_in6 ipv6;
	struct sockaddr_in ipv4; /* used instead of ipv6 if there is no IPv6 */
	alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

/*
 * Prepares a message to the endpoint, or to receive from any. datagram: a buffer of that many
 * bytes, which must stay valid.
 */
void canfs_message_address(const struct canfs_udp *udp, struct canfs_message *message,
	const struct canfs_endpoint *endpoint, void *datagram, size_t bytes);

/* True if less than half of the send buffer is in use. */
bool canfs_udp_has_room(const struct canfs_udp *udp);

/* Never blocks. Returns what sendmsg(2) returns, and sets errno. */
ssize_t canfs_udp_send(const struct canfs_udp *udp, const struct canfs_message *message);

/*
 * Takes one network error that an earlier datagram caused. Returns true and the address of an
 * unreachable host, or :: for any other error. Returns false if there are no more errors.
 */
bool canfs_udp_take_error(const struct canfs_udp *udp, struct in6_addr *unreachable);

/*
 * Calls found() for each IPv4 neighbour in /proc/net/arp that has not answered ARP. This list is
 * complete at once, while canfs_udp_take_error() learns of hosts after some seconds, 50 at a time.
 */
void canfs_unanswered_arp(
	FILE *arp, void (*found)(void *arg, const struct in6_addr *address), void *arg);

/* The endpoint that sent a received message. */
struct canfs_endpoint canfs_message_sender(struct canfs_message *message);

#endif
