/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The prices of one export, pushed by the server's price service (protocol/prices.x) over one
 * connected UDP socket. While no prices are pushed, each question uses a new socket, because
 * addresses and networks change. This is the best source of prices. A rise arrives within one
 * interval of the server, and a client that defers writes need not ask ten times a second.
 *
 *	SUBSCRIBE --> COOKIE --> SUBSCRIBE with it --> OK: current
 *	                                               |  a push at least once a second
 *	           renewed after half of the lease; restarted if nothing came for CANFS_PUSH_LOST_USEC
 *
 *	no answer, or a refusal: asked again after 1, 2, 4 ... 64 s
 *
 * While the subscription is not current, the client gets prices from FSSTAT (fsstat.h). The socket
 * is connected, so the kernel drops datagrams from other addresses. Pushes without this client's
 * token, replies with an unexpected xid and repeated pushes are counted and change nothing. An
 * attacker on the path can read the token and forge prices, as it can forge FSSTAT replies.
 *
 * Nothing blocks, nothing allocates.
 */
#ifndef CANFS_PROTOCOL_SUBSCRIPTION_H
#define CANFS_PROTOCOL_SUBSCRIPTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include "protocol/price_message.h"

#define CANFS_PUSH_LOST_USEC UINT64_C(2000000)

/* A price must move by more than this to be pushed. The tag's resolution is coarser. */
#define CANFS_PUSH_THRESHOLD 0.0025

struct canfs_subscription {
	struct sockaddr_storage server; /* AF_UNSPEC: no service */
	int fd;                         /* -1: closed */
	/*
	 * Binds a new socket to a port. Set it to canfs_bind_reserved() after opening; NULL: any
	 * port.
	 */
	int (*bind)(int fd, struct sockaddr *address);
	struct canfs_price_request request;
	uint32_t xid;
	unsigned int seed;
	uint64_t ask_usec;       /* when to ask next */
	uint64_t called_usec;    /* time of the last call */
	uint64_t answered_usec;  /* when prices last came; 0: never */
	unsigned int unanswered; /* consecutive unsuccessful calls */
	unsigned int cookies;    /* consecutive calls answered with a cookie */
	uint64_t lease_end_usec; /* 0: not subscribed */
	uint32_t number;         /* of the last push; 0: none yet */
	struct canfs_prices prices;
	enum canfs_price_status status; /* of the last answer; CANFS_STATUS_OK before the first */
	int network_error; /* errno from the network, such as ECONNREFUSED; 0 after a datagram came */

	/* Counters. */
	uint64_t calls, pushes;
	uint64_t lost;      /* pushes, from the gaps in their numbers */
	uint64_t late;      /* repeated, out of order, or of an earlier subscription */
	uint64_t forged;    /* pushes without our token, or replies to no recent call */
	uint64_t malformed; /* datagrams that the service does not send */
};

/*
 * Binds to a port below 1024, as many exports demand, if permitted. address: NULL. This function is
 * in canfs-protocol, because it needs libtirpc.
 */
int canfs_bind_reserved(int fd, struct sockaddr *address);

/*
 * server: its port is not used. port: 0 for no service. export_name: as NFS of this version names
 * it, at most CANFS_EXPORT_NAME_MAX octets. wants_others: ask for the activity of other clients.
 * Sends nothing yet. Returns 0, or -ENAMETOOLONG; there is no service then.
 */
int canfs_subscription_open(struct canfs_subscription *subscription,
	const struct sockaddr_storage *server, uint16_t port, int nfs_version,
	const char *export_name, bool wants_others, unsigned int seed);

static inline bool canfs_subscription_has_service(const struct canfs_subscription *subscription)
{
	return subscription->server.ss_family != AF_UNSPEC;
}

/* Ends the subscription. Tells the service, if this does not block. */
void canfs_subscription_close(struct canfs_subscription *subscription);

/* Handles received datagrams and sends calls that are due. Returns true if there are new prices. */
bool canfs_subscription_tick(struct canfs_subscription *subscription, uint64_t now_usec);

/* Returns true if the prices are up to date: the lease runs, and prices came recently. */
bool canfs_subscription_is_current(
	const struct canfs_subscription *subscription, uint64_t now_usec);

/*
 * Call this after a suspend, because prices pushed earlier are outdated. The next tick asks at
 * once.
 */
void canfs_subscription_forget(struct canfs_subscription *subscription);

#endif
