// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/rpc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h> /* netinet/tcp.h's tcp_info ends before tcpi_min_rtt */
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <rpc/rpc.h>
#include "protocol/subscription.h"

#define LAST_FRAGMENT 0x80000000u

int canfs_bind_reserved(int fd, struct sockaddr *address)
{
	return bindresvport_sa(fd, address);
}

void canfs_rpc_init(struct canfs_rpc *rpc)
{
	*rpc = (struct canfs_rpc) { .fd = -1 };
}

void canfs_rpc_close(struct canfs_rpc *rpc)
{
	if (rpc->fd >= 0)
		close(rpc->fd);
	rpc->fd = -1;
	rpc->out_len = rpc->out_sent = 0;
	rpc->mark_len = rpc->fragment_left = rpc->in_len = 0;
}

int canfs_rpc_open(struct canfs_rpc *rpc, const struct sockaddr_storage *address, bool reserved)
{
	const socklen_t len = address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							     : sizeof(struct sockaddr_in);
	const int on = 1;
	int ret;

	canfs_rpc_close(rpc);
	rpc->fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (rpc->fd < 0)
		return -errno;
	/* A call is one small write. Waiting for more would only make the price older. */
	setsockopt(rpc->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (reserved)
		bindresvport_sa(rpc->fd, NULL);
	if (connect(rpc->fd, (const struct sockaddr *)address, len) < 0 && errno != EINPROGRESS) {
		ret = -errno;
		canfs_rpc_close(rpc);
		return ret;
	}
	return 0;
}

bool canfs_rpc_is_quiet(const struct canfs_rpc *rpc)
{
	uint8_t octet;

	if (rpc->fd < 0)
		return false;
	return recv(rpc->fd, &octet, sizeof(octet), MSG_PEEK) < 0 && errno == EAGAIN;
}

void canfs_rpc_queue(struct canfs_rpc *rpc, const struct canfs_call *call)
{
	const uint32_t mark = htonl(LAST_FRAGMENT | (uint32_t)call->len);

	memcpy(rpc->out, &mark, sizeof(mark));
	memcpy(rpc->out + sizeof(mark), call->record, call->len);
	rpc->out_len = sizeof(mark) + call->len;
	rpc->out_sent = 0;
	rpc->mark_len = rpc->fragment_left = rpc->in_len = 0;
}

/* A socket that is still connecting also returns EAGAIN. */
int canfs_rpc_send(struct canfs_rpc *rpc)
{
	while (rpc->out_sent < rpc->out_len) {
		ssize_t sent = send(rpc->fd, rpc->out + rpc->out_sent, rpc->out_len - rpc->out_sent,
			MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN ? -EINPROGRESS : -errno;
		rpc->out_sent += (size_t)sent;
	}
	return 0;
}

uint32_t canfs_rpc_round_trip_usec(const struct canfs_rpc *rpc)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (rpc->fd < 0 || getsockopt(rpc->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
		info.tcpi_min_rtt == UINT32_MAX)
		return 0;
	return info.tcpi_min_rtt;
}

/* Reads until *have == want. */
static int fill(int fd, uint8_t *buffer, size_t *have, size_t want)
{
	while (*have < want) {
		ssize_t got = recv(fd, buffer + *have, want - *have, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? -EINPROGRESS : -errno;
		if (got == 0)
			return -ECONNRESET;
		*have += (size_t)got;
	}
	return 0;
}

static uint32_t mark_of(const struct canfs_rpc *rpc)
{
	uint32_t mark;

	memcpy(&mark, rpc->mark, sizeof(mark));
	return ntohl(mark);
}

/* Reads the mark of the next fragment, and checks its length before any octet is read. */
static int begin_fragment(struct canfs_rpc *rpc)
{
	int ret = fill(rpc->fd, rpc->mark, &rpc->mark_len, CANFS_MARK_LEN);

	if (ret < 0)
		return ret;
	rpc->fragment_left = mark_of(rpc) & ~LAST_FRAGMENT;
	/*
	 * An empty fragment makes no progress, so a flood of them would keep us in this loop
	 * forever.
	 */
	if (rpc->fragment_left == 0 || rpc->fragment_left > sizeof(rpc->in) - rpc->in_len)
		return -EPROTO;
	return 0;
}

int canfs_rpc_receive(struct canfs_rpc *rpc)
{
	if (rpc->mark_len == CANFS_MARK_LEN &&
		rpc->fragment_left == 0) /* the last record was complete */
		rpc->mark_len = rpc->in_len = 0;

	for (;;) {
		size_t end;
		int ret = 0;

		if (rpc->fragment_left == 0)
			ret = begin_fragment(rpc);
		if (ret < 0)
			return ret;
		end = rpc->in_len + rpc->fragment_left;
		ret = fill(rpc->fd, rpc->in, &rpc->in_len, end);
		rpc->fragment_left = end - rpc->in_len;
		if (ret < 0)
			return ret;
		if (mark_of(rpc) & LAST_FRAGMENT)
			return 0;
		rpc->mark_len = 0;
	}
}

short canfs_rpc_events(const struct canfs_rpc *rpc)
{
	return rpc->out_sent < rpc->out_len ? POLLOUT : POLLIN;
}
