/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Datagrams on this host's loopback, for tests of the price service and of subscriptions. */
#ifndef CANFS_TESTS_DATAGRAMS_H
#define CANFS_TESTS_DATAGRAMS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define WAIT_MSEC 10000 /* for a datagram that must arrive */

static inline struct sockaddr_storage loopback(uint16_t port)
{
	struct sockaddr_storage address = { 0 };
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&address;

	ipv4->sin_family = AF_INET;
	ipv4->sin_port = htons(port);
	ipv4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static inline bool wait_for_datagram(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	return poll(&polled, 1, WAIT_MSEC) == 1;
}

#endif
