/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The subscribers of exports' prices, and which of them are due. A bounded table without I/O or
 * clock.
 *
 *	export A --> subscriber --> subscriber         each: address, port, threshold, lease, last prices sent
 *	export B --> subscriber
 *	             renewed least recently ... most recently: the order of eviction when the table is full
 *
 * A subscriber is due in these cases:
 * - A price of its export, with the premium of its class, differs from the last price sent by more
 *   than the subscriber's threshold.
 * - The bottleneck differs from the last one sent.
 * - Other clients start or stop, and the subscriber asked for this.
 * - The last datagram was sent CANFS_PUSH_QUIET_USEC ago.
 *
 * Clients renew after half of their lease. A client that is late, or whose host cannot be reached,
 * is a suspect. Suspects get their pushes after the others, and none for changed prices. A client
 * that has not renewed after three quarters of its lease is dropped.
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
#define CANFS_SUBSCRIBERS_OF_CLIENT 64 /* per address, for its mounts */

/* A little less than a second, so that one late datagram causes a gap of at most one. */
#define CANFS_PUSH_QUIET_USEC 900000

struct canfs_price_table; /* identifies the export; only its address is used */

struct canfs_subscriber;
struct canfs_subscribers;

/* clients: counts the load of others; NULL: unknown. Returns NULL if out of memory. */
struct canfs_subscribers *canfs_subscribers_new(struct canfs_clients *clients);
void canfs_subscribers_free(struct canfs_subscribers *subscribers); /* NULL allowed */

/*
 * Starts or renews the client's subscription to the export. prices: as sent in the reply, with the
 * client's premium. A request with another token starts a new subscription. Returns 0, -EUSERS if
 * the address has too many subscriptions, or -ENOMEM. If the table is full, evicts the subscriber
 * that renewed least recently.
 */
int canfs_subscribers_renew(struct canfs_subscribers *subscribers,
	const struct canfs_endpoint *endpoint, struct canfs_price_table *export,
	const struct canfs_price_request *request, int premium_pct,
	const struct canfs_prices *prices, uint64_t now_usec);

/* Operations of other clients in flight, for this client. Negative: unknown or not wanted. */
double canfs_subscribers_others(const struct canfs_subscribers *subscribers,
	const struct canfs_endpoint *endpoint, bool are_wanted);

/* Sets the premium of each subscriber by these classes. */
void canfs_subscribers_classify(
	struct canfs_subscribers *subscribers, const struct canfs_classes *classes);

/* Ends a subscription. Does nothing if there is none. */
void canfs_subscribers_end(struct canfs_subscribers *subscribers, const struct sockaddr_in6 *client,
	struct canfs_price_table *export);

/* Drops all subscribers of an export that is about to be closed. */
void canfs_subscribers_forget(
	struct canfs_subscribers *subscribers, struct canfs_price_table *export);

/* Drops subscribers that have not renewed in time. */
void canfs_subscribers_expire(struct canfs_subscribers *subscribers, uint64_t now_usec);

/*
 * Iterates over the exports with subscribers. after: the previous one; NULL: start. Returns NULL at
 * the end.
 */
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
 * Calls send() for each subscriber of the export that is due, and records the push as sent. prices:
 * without a premium. drains: as in canfs_premium_now().
 */
typedef void canfs_send_push(void *arg, const struct canfs_due *due);
void canfs_subscribers_push(struct canfs_subscribers *subscribers, struct canfs_price_table *export,
	const struct canfs_prices *prices, bool drains, uint64_t now_usec, canfs_send_push *send,
	void *arg);

/* A push was not sent: its subscriber, if it still exists, is due in the next turn. */
void canfs_subscribers_unsent(struct canfs_subscribers *subscribers, const struct canfs_due *due);

/* A host cannot be reached: its subscribers are suspects until they renew. */
void canfs_subscribers_unreachable(
	struct canfs_subscribers *subscribers, const struct in6_addr *address);

struct canfs_subscribers_counters {
	uint64_t subscribers; /* now */
	uint64_t displaced;   /* the table was full */
};
struct canfs_subscribers_counters canfs_subscribers_count(
	const struct canfs_subscribers *subscribers);

/*
 * Memory per subscriber, including the bookkeeping. CANFS_SUBSCRIBERS_MAX of these are the upper
 * bound.
 */
#define CANFS_SUBSCRIBER_BYTES 416

/* Memory per export with subscribers. */
#define CANFS_WATCHED_EXPORT_BYTES 144

#endif
