/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The price service answers requests for prices over UDP and pushes changes to subscribers
 * (protocol/prices.x).
 *
 *	GET, SUBSCRIBE --> valid cookie? --no--> COOKIE
 *	                  | yes
 *	              may this address have the export's prices? --no--> ACCESS     (with_export)
 *	                  | yes
 *	              subscribers <-- the market made a step: PUSH to each that is due
 *
 * One thread waits for the socket and for the market. Only a thread that closes an export waits for
 * it. A reply longer than its call is not sent. Calls above some thousand per second are not read.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_PRICE_SERVICE_H
#define CANFS_SERVER_PRICE_SERVICE_PRICE_SERVICE_H

#include "server/classes/shared_classes.h"
#include "server/clients/clients.h"
#include "server/market/sampler.h"
#include "server/price-service/subscribers.h"

/*
 * Calls use(prices, arg) if the export exists, has a price table, and the client may have its
 * prices. The price table stays valid until use() returns. name: of the export as clients of NFS
 * version nfs_version name it, or of a directory in the export. host: of the configuration. Returns
 * 0; -ENOENT if there is no such export or it has no price table; -EACCES; -EAGAIN if the answer is
 * not known now, and then the call is not answered. Called in the service's thread. May block.
 */
typedef int canfs_with_export(void *host, const char *name, uint32_t nfs_version,
	const struct sockaddr_storage *client,
	void (*use)(struct canfs_price_table *prices, void *arg), void *arg);

struct canfs_price_service_config {
	uint16_t port; /* UDP, at all addresses; 0: any free port */
	canfs_with_export *with_export;
	void *host;                           /* for with_export */
	struct canfs_shared_classes *classes; /* NULL: there are no classes */
	struct canfs_clients *clients; /* the service measures them; NULL: load of others unknown */
	void (*thread_begins)(void);   /* called first in the thread; NULL: nothing to do */
};

struct canfs_price_service;

/*
 * Returns 0, -EADDRINUSE or another -errno. The caller must connect canfs_price_service_posted() to
 * the market.
 */
int canfs_price_service_start(
	struct canfs_price_service **service, const struct canfs_price_service_config *config);
void canfs_price_service_stop(struct canfs_price_service *service); /* NULL allowed */

/* The UDP port that the service listens at. */
uint16_t canfs_price_service_port(const struct canfs_price_service *service);

/* Callback for canfs_sampler_tell(): the market has made a step. Never blocks. */
void canfs_price_service_posted(void *service);

/*
 * Call this before a price table is closed. Afterwards nothing is sent for it, except pushes
 * already being sent.
 */
void canfs_price_service_forget(
	struct canfs_price_service *service, struct canfs_price_table *prices);

/* Since the service started. */
struct canfs_price_service_counters {
	uint64_t calls;
	uint64_t malformed; /* datagrams that are no valid calls; most are not answered */
	uint64_t denied;    /* no such export, or not for this client */
	uint64_t pushes;
	uint64_t unsent; /* replies and pushes that the kernel did not accept */
	struct canfs_subscribers_counters of_table;
};
void canfs_price_service_count(
	struct canfs_price_service *service, struct canfs_price_service_counters *counters);

#endif
