/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who is told of an export's prices, and who is due: a bounded table without I/O or clock.
 *
 *	export A --> subscriber --> subscriber         each: address, port, threshold, lease, what it was told last
 *	export B --> subscriber
 *	             renewed least recently ... most recently: the order in which they go when there are too many
 *
 * A subscriber is due when a price of its export, with the premium of its class, or what its bottleneck is, differs from what
 * it was told last (a price by more than its threshold); when other clients come or go, if it wants to know; and in any case
 * CANFS_PUSH_QUIET_USEC after the last datagram.
 *
 * Clients renew after half of their lease. A client that is late, or whose host cannot be reached, is a suspect: it is told after the others,
 * and not of price moves. A client that has not renewed after three quarters of its lease is dropped.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_SUBSCRIBERS_H
#define CANFS_SERVER_PRICE_SERVICE_SUBSCRIBERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "protocol/price_message.h"
#include "server/classes/classes.h"
#include "server/clients/clients.h"
#include "server/price-service/udp.h"

#define CANFS_SUBSCRIBERS_MAX       10000
#define CANFS_SUBSCRIBERS_OF_CLIENT 64 /* of one address: at its mounts */

/* A little less than a second, so that one datagram that is late makes no gap of more than one. */
#define CANFS_PUSH_QUIET_USEC 900000

struct canfs_price_table; /* the export, for its address only */

struct canfs_subscriber;
struct canfs_subscribers;

/* clients: of whom others are known; NULL: they are not. NULL: no memory. */
struct canfs_subscribers *canfs_subscribers_new(struct canfs_clients *clients);
void canfs_subscribers_free(struct canfs_subscribers *subscribers); /* NULL allowed */

/*
 * Begins or renews the subscription of this client to the export; prices: what the reply tells it, with its premium. One that sends
 * another token begins anew. 0; -EUSERS: the address has too many; -ENOMEM. If the table is full, the one that was
 * renewed least recently goes.
 */
int canfs_subscribers_renew(struct canfs_subscribers *subscribers,
	const struct canfs_endpoint *endpoint, struct canfs_price_table *export,
	const struct canfs_price_request *request, int premium_pct,
	const struct canfs_prices *prices, uint64_t now_usec);

/* Operations of other clients in flight, as this one is told; negative: not known, or not wanted. */
double canfs_subscribers_others(const struct canfs_subscribers *subscribers,
	const struct canfs_endpoint *endpoint, bool are_wanted);

/* These classes hold from now on: the premium of each may be another. */
void canfs_subscribers_classify(
	struct canfs_subscribers *subscribers, const struct canfs_classes *classes);

/* Ends it; if there is none, nothing. */
void canfs_subscribers_end(struct canfs_subscribers *subscribers, const struct sockaddr_in6 *client,
	struct canfs_price_table *export);

/* All of an export that goes. */
void canfs_subscribers_forget(
	struct canfs_subscribers *subscribers, struct canfs_price_table *export);

/* Drops subscribers that have not renewed in time. */
void canfs_subscribers_expire(struct canfs_subscribers *subscribers, uint64_t now_usec);

/* Exports with subscribers, one after the other; NULL, or the one before. */
struct canfs_price_table *canfs_subscribers_next_export(
	const struct canfs_subscribers *subscribers, struct canfs_price_table *after);

/* A push that is due. */
struct canfs_due {
	struct canfs_endpoint endpoint;
	struct canfs_price_table *export;
	bool is_suspect;
	struct canfs_price_push push;
};

/*
 * Calls send() for each subscriber of the export that is due, and assumes that it was sent. prices: without a premium; drains: as in
 * canfs_premium_now().
 */
typedef void canfs_send_push(void *arg, const struct canfs_due *due);
void canfs_subscribers_push(struct canfs_subscribers *subscribers, struct canfs_price_table *export,
	const struct canfs_prices *prices, bool drains, uint64_t now_usec, canfs_send_push *send,
	void *arg);

/* The push was not sent: its subscriber, if it still exists, is due in the next turn. */
void canfs_subscribers_unsent(struct canfs_subscribers *subscribers, const struct canfs_due *due);

/* The host cannot be reached: its subscribers are suspects until they renew. */
void canfs_subscribers_unreachable(
	struct canfs_subscribers *subscribers, const struct in6_addr *address);

struct canfs_subscribers_counters {
	uint64_t subscribers; /* now */
	uint64_t begun;
	uint64_t expired;
	uint64_t displaced; /* the table was full */
};
struct canfs_subscribers_counters canfs_subscribers_count(
	const struct canfs_subscribers *subscribers);

/* What one takes of memory, with all that is kept about it: the bound is CANFS_SUBSCRIBERS_MAX of these. */
#define CANFS_SUBSCRIBER_BYTES 416

/* And each export that has any. */
#define CANFS_WATCHED_EXPORT_BYTES 144

#endif
