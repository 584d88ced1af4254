/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The price service: answers questions for prices over UDP, and tells subscribers of each move (protocol/prices.x).
 *
 *	GET, SUBSCRIBE --> a good cookie? --no--> COOKIE
 *	                  | yes
 *	              may this address have the export's prices? --no--> ACCESS     the host's part
 *	                  | yes
 *	              subscribers <-- the market has computed: PUSH to each that is due
 *
 * One thread of its own, which waits for its socket and for the market. Nobody waits for it but who closes an export.
 * A reply that would be longer than its call is not sent; calls beyond some thousand a second are not read.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_PRICE_SERVICE_H
#define CANFS_SERVER_PRICE_SERVICE_PRICE_SERVICE_H

#include "server/classes/shared_classes.h"
#include "server/clients/clients.h"
#include "server/market/sampler.h"
#include "server/price-service/subscribers.h"

/*
 * Calls use(prices, arg) if there is such an export, the client may have its prices, and it has a price table; that stays
 * at least until use() returns. name: of the export as NFS of nfs_version says it, or of a directory in it. 0; -ENOENT
 * no such export or no price table; -EACCES; -EAGAIN: it cannot be told now, and the call is not answered. Called in the
 * service's thread, and may wait. host: of the configuration.
 */
typedef int canfs_with_export(void *host, const char *name, uint32_t nfs_version,
	const struct sockaddr_storage *client,
	void (*use)(struct canfs_price_table *prices, void *arg), void *arg);

struct canfs_price_service_config {
	uint16_t port; /* UDP, at all addresses; 0: any */
	canfs_with_export *with_export;
	void *host;                           /* for with_export */
	struct canfs_shared_classes *classes; /* of clients; NULL: there are none */
	struct canfs_clients *clients;        /* timed; NULL: what others do is not known */
	void (*thread_begins)(void);          /* called first in the thread; NULL: nothing to do */
};

struct canfs_price_service;

/* 0; -EADDRINUSE; another -errno. The service must be told of the market: canfs_price_service_posted(). */
int canfs_price_service_start(
	struct canfs_price_service **service, const struct canfs_price_service_config *config);
void canfs_price_service_stop(struct canfs_price_service *service); /* NULL allowed */

/* Where it listens. */
uint16_t canfs_price_service_port(const struct canfs_price_service *service);

/* For canfs_sampler_config.posted: the market has computed. Does not wait. */
void canfs_price_service_posted(void *service);

/* Call this before a price table is closed. Afterwards nothing is sent for it, except pushes that are being sent already. */
void canfs_price_service_forget(
	struct canfs_price_service *service, struct canfs_price_table *prices);

/* Since the start. */
struct canfs_price_service_counters {
	uint64_t calls;
	uint64_t malformed; /* not calls of ours; most are not answered */
	uint64_t cookies;   /* given */
	uint64_t denied;    /* no such export, or not for this client */
	uint64_t pushes;
	uint64_t unsent; /* replies and pushes that the kernel did not take */
	struct canfs_subscribers_counters of_table;
};
void canfs_price_service_count(
	struct canfs_price_service *service, struct canfs_price_service_counters *counters);

#endif
