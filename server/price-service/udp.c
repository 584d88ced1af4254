// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/price-service/udp.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "common/address.h"

static struct in_addr unmapped(const struct in6_addr *address)
{
	struct in_addr ipv4;

	memcpy(&ipv4, &address->s6_addr[12], sizeof(ipv4));
	return ipv4;
}

/* For a host without IPv6: the same as an IPv4 message. */
static void address_ipv4(struct canfs_message *message, const struct canfs_endpoint *endpoint)
{
	struct in_pktinfo local = { .ipi_spec_dst = unmapped(&endpoint->local.ipi6_addr) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message->head);

	message->ipv4 = (struct sockaddr_in) { .sin_family = AF_INET,
		.sin_port = endpoint->client.sin6_port,
		.sin_addr = unmapped(&endpoint->client.sin6_addr) };
	message->head.msg_name = &message->ipv4;
	message->head.msg_namelen = sizeof(message->ipv4);
	*cmsg = (struct cmsghdr) { .cmsg_len = CMSG_LEN(sizeof(local)),
		.cmsg_level = IPPROTO_IP,
		.cmsg_type = IP_PKTINFO };
	memcpy(CMSG_DATA(cmsg), &local, sizeof(local));
	message->head.msg_controllen = CMSG_SPACE(sizeof(local));
}

void canfs_message_address(const struct canfs_udp *udp, struct canfs_message *message,
	const struct canfs_endpoint *endpoint, void *datagram, size_t bytes)
{
	struct cmsghdr *cmsg;

	memset(message, 0, sizeof(*message));
	message->iov = (struct iovec) { .iov_base = datagram, .iov_len = bytes };
	message->ipv6 = endpoint->client;
	message->head = (struct msghdr) { .msg_name = &message->ipv6,
		.msg_namelen = sizeof(message->ipv6),
		.msg_iov = &message->iov,
		.msg_iovlen = 1,
		.msg_control = message->control,
		.msg_controllen = sizeof(message->control) };
	cmsg = CMSG_FIRSTHDR(&message->head);
	*cmsg = (struct cmsghdr) { .cmsg_len = CMSG_LEN(sizeof(endpoint->local)),
		.cmsg_level = IPPROTO_IPV6,
		.cmsg_type = IPV6_PKTINFO };
	memcpy(CMSG_DATA(cmsg), &endpoint->local, sizeof(endpoint->local));
	if (!udp->has_ipv6)
		address_ipv4(message, endpoint);
}

/*
 * The local address that the datagram was sent to. Routing chooses the interface, except for
 * link-local addresses, which need one.
 */
static struct in6_pktinfo local_of(struct msghdr *head)
{
	struct in6_pktinfo local = { 0 };

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(head); cmsg; cmsg = CMSG_NXTHDR(head, cmsg)) {
		if (cmsg->cmsg_level == IPPROTO_IPV6 && cmsg->cmsg_type == IPV6_PKTINFO)
			memcpy(&local, CMSG_DATA(cmsg), sizeof(local));
		if (cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo ipv4;

			memcpy(&ipv4, CMSG_DATA(cmsg), sizeof(ipv4));
			local.ipi6_addr = canfs_map_ipv4(&ipv4.ipi_spec_dst);
		}
	}
	if (!IN6_IS_ADDR_LINKLOCAL(&local.ipi6_addr))
		local.ipi6_ifindex = 0;
	return local;
}

struct canfs_endpoint canfs_message_sender(struct canfs_message *message)
{
	struct canfs_endpoint endpoint = { .client = message->ipv6,
		.local = local_of(&message->head) };

	if (message->ipv4.sin_family == AF_INET)
		endpoint.client = (struct sockaddr_in6) { .sin6_family = AF_INET6,
			.sin6_port = message->ipv4.sin_port,
			.sin6_addr = canfs_map_ipv4(&message->ipv4.sin_addr) };
	endpoint.client.sin6_flowinfo = 0;
	return endpoint;
}

bool canfs_udp_has_room(const struct canfs_udp *udp)
{
	struct pollfd room = { .fd = udp->fd, .events = POLLOUT };

	return poll(&room, 1, 0) == 1 && (room.revents & POLLOUT);
}

/* The error may have been caused by an earlier datagram to another address, so try once more. */
ssize_t canfs_udp_send(const struct canfs_udp *udp, const struct canfs_message *message)
{
	ssize_t sent = sendmsg(udp->fd, &message->head, MSG_DONTWAIT);

	return sent < 0 && errno != EAGAIN ? sendmsg(udp->fd, &message->head, MSG_DONTWAIT) : sent;
}

/* A refused port does not make a host unreachable: no datagram stays in the buffer for it. */
static bool is_unreachable(struct msghdr *head)
{
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(head); cmsg; cmsg = CMSG_NXTHDR(head, cmsg)) {
		struct sock_extended_err error;

		if ((cmsg->cmsg_level == IPPROTO_IPV6 && cmsg->cmsg_type == IPV6_RECVERR) ||
			(cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_RECVERR)) {
			memcpy(&error, CMSG_DATA(cmsg), sizeof(error));
			return error.ee_errno == EHOSTUNREACH || error.ee_errno == ENETUNREACH ||
			       error.ee_errno == EHOSTDOWN;
		}
	}
	return false;
}

bool canfs_udp_take_error(const struct canfs_udp *udp, struct in6_addr *unreachable)
{
	struct sockaddr_storage to = { .ss_family = AF_UNSPEC };
	alignas(struct cmsghdr) uint8_t control[256];
	struct msghdr head = { .msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_control = control,
		.msg_controllen = sizeof(control) };

	*unreachable = (struct in6_addr)IN6ADDR_ANY_INIT;
	if (recvmsg(udp->fd, &head, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	if (is_unreachable(&head))
		(void)canfs_read_address((const struct sockaddr *)&to, unreachable);
	return true;
}

/* Columns: IP address, HW type, Flags (0x0: incomplete) ... */
void canfs_unanswered_arp(
	FILE *arp, void (*found)(void *arg, const struct in6_addr *address), void *arg)
{
	char line[256], text[INET_ADDRSTRLEN];
	struct in_addr ipv4;
	unsigned int flags;

	while (fgets(line, sizeof(line), arp)) {
		struct in6_addr address;

		if (sscanf(line, "%15s %*s 0x%x", text, &flags) != 2 || flags != 0 ||
			inet_pton(AF_INET, text, &ipv4) != 1)
			continue;
		address = canfs_map_ipv4(&ipv4);
		found(arg, &address);
	}
}

static int open_ipv4(struct canfs_udp *udp, uint16_t port)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
	const int on = 1;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	udp->fd = fd;
	setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	if (setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) < 0 ||
		bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0)
		return -errno;
	return 0;
}

static int open_ipv6(struct canfs_udp *udp, uint16_t port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	const int on = 1, off = 0;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return errno == EAFNOSUPPORT ? open_ipv4(udp, port) : -errno;
	udp->fd = fd;
	udp->has_ipv6 = true;
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)) < 0 ||
		bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0)
		return -errno;
	return 0;
}

/* Exceeds the system's limit if this process is privileged. */
static void set_buffer(int fd, int forced, int plain, int bytes)
{
	if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof(bytes)) < 0)
		setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof(bytes));
}

int canfs_udp_open(struct canfs_udp *udp, uint16_t port, int buffer_bytes)
{
	int ret = open_ipv6(udp, port);

	if (ret != 0)
		return ret;
	set_buffer(udp->fd, SO_SNDBUFFORCE, SO_SNDBUF, buffer_bytes);
	set_buffer(udp->fd, SO_RCVBUFFORCE, SO_RCVBUF, buffer_bytes);
	return 0;
}

uint16_t canfs_udp_port(const struct canfs_udp *udp)
{
	struct sockaddr_in6 bound = { 0 };
	socklen_t len = sizeof(bound);

	getsockname(udp->fd, (struct sockaddr *)&bound, &len);
	return ntohs(bound.sin6_port);
}
