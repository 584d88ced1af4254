/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The prices of one export as the server's price service pushes them (protocol/prices.x), over one UDP socket that is
 * connected to it, and made anew with each question while none are pushed: addresses change, networks come and go. The best source of prices: a rise is here within one interval of the server's, and a client that holds
 * data need not ask ten times a second.
 *
 *	SUBSCRIBE --> COOKIE --> SUBSCRIBE with it --> OK: current
 *	                                               |  a push each second at least
 *	                  renewed after half of the lease; begun anew when nothing has come for CANFS_PUSH_LOST_USEC
 *
 *	without an answer, or with no for one: asked again after 1, 2, 4 ... 64 s
 *
 * While it is not current, prices are in FSSTAT as ever (fsstat.h). Whatever does not come from the server's address, or
 * without the token that this client has drawn, is counted and changes nothing; so does a push that came before. An
 * attacker on the path reads the token, and can forge prices, as it can forge FSSTAT's answers.
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

/* A price must move by more than so much to be pushed: finer than the tag has it. */
#define CANFS_PUSH_THRESHOLD 0.0025

struct canfs_subscription {
	struct sockaddr_storage server; /* AF_UNSPEC: there is no service to ask */
	int fd;                         /* -1: none now */
	/* Of a new one, to a port; canfs_bind_reserved(), to be set after opening; NULL: to any. */
	int (*bind)(int fd, struct sockaddr *address);
	struct canfs_price_request request;
	uint32_t xid;
	unsigned int seed;
	uint64_t ask_usec;       /* when to ask next */
	uint64_t called_usec;    /* the last time */
	uint64_t answered_usec;  /* when the service last said anything; 0: never */
	unsigned int unanswered; /* calls in a row that were for nothing */
	unsigned int cookies;    /* likewise, answered with a cookie */
	uint64_t lease_end_usec; /* 0: not subscribed */
	uint32_t number;         /* of the last push */
	struct canfs_prices prices;
	enum canfs_price_status status; /* of the last answer; CANFS_STATUS_OK: or there was none */
	int network_error; /* errno that a call brought back, as ECONNREFUSED; 0 when a datagram has come since */

	/* Counters. */
	uint64_t calls, pushes;
	uint64_t lost;      /* pushes, by the gaps in their numbers */
	uint64_t late;      /* came twice, after a newer one, or of a subscription that was */
	uint64_t forged;    /* without our token, or replies that nobody asked for */
	uint64_t malformed; /* datagrams that are none of the service's */
};

/* To a port below 1024, as many exports demand, if it may; address: NULL. Of canfs-protocol: it takes libtirpc. */
int canfs_bind_reserved(int fd, struct sockaddr *address);

/*
 * wants_others: to be told of other clients. server: its port is not used. export_name: as NFS of that version names it, at
 * most CANFS_EXPORT_NAME_MAX octets. port: 0 for no service. Begins nothing yet. 0 or -ENAMETOOLONG: there is no service then.
 */
int canfs_subscription_open(struct canfs_subscription *subscription,
	const struct sockaddr_storage *server, uint16_t port, int nfs_version,
	const char *export_name, bool wants_others, unsigned int seed);

static inline bool canfs_subscription_has_service(const struct canfs_subscription *subscription)
{
	return subscription->server.ss_family != AF_UNSPEC;
}

/* Tells the service that nothing more is wanted, if it can without waiting. */
void canfs_subscription_close(struct canfs_subscription *subscription);

/* Takes what has come, and asks what is due. True: there are new prices. */
bool canfs_subscription_tick(struct canfs_subscription *subscription, uint64_t now_usec);

/* Are the prices those of now? */
bool canfs_subscription_is_current(
	const struct canfs_subscription *subscription, uint64_t now_usec);

/* After a suspend: what was pushed says nothing about now. Asks at once. */
void canfs_subscription_forget(struct canfs_subscription *subscription);

#endif
