/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The server's market (CA-NFS §3.2, last paragraphs): resources have prices, an operation costs
 * as much as the most expensive resource that it uses, and that resource is its bottleneck.
 *
 *	resource      utilization --k--> price     write   read-ahead
 *	cpu               0.10          0.01         x         x
 *	network           0.45          0.09         x         x
 *	disk              0.93          0.88         x         x      bottleneck: disk
 *	memory            0.30          0.06         x
 *	                                max:        0.88      0.88
 *
 * A new resource or operation is one row in market.c.
 *
 * A server scales its prices: price = pmax * weight * (k^u - 1) / (k - 1). pmax is the same for all of its
 * resources, so that they compare (§3.2); less of it asks clients for less restraint, since theirs
 * bid up to CANFS_PRICE_MAX all the same. A weight below 1 lets a resource count for less than the others;
 * with 0 it prices nothing.
 *
 * What that does to the competitive ratio r <= 1 + 2 log2(k) of pricing/price.h: nothing, for bids up to
 * pmax * weight, as all prices and bids are scaled alike. But that is then the price of a full
 * resource: a bid above it is taken however full it is (sold beyond what there is), or, by
 * a seller that refuses when nothing is left, has come too late for what went at pmax * weight. Then
 * r <= (1 + 2 log2(k)) / (pmax * weight), and r without that divisor is exceeded: both are in
 * tests/unit/test_competitive.c. Of several resources with different weights the bottleneck is
 * the one that matters most to the administrator, no longer the fullest in terms of k.
 */
#ifndef CANFS_PRICING_MARKET_H
#define CANFS_PRICING_MARKET_H

#include <stdbool.h>

/*
 * A resource as the code, the control socket and the configuration write it. Their numbers go over the wire
 * (protocol/tag.h): append only.
 */
#define CANFS_RESOURCE_ROWS(row) CANFS_HOST_RESOURCE_ROWS(row) row(BACKEND, backend, Backend)

/* Those that the kernel counts; the others are seen by who makes the replies. */
#define CANFS_HOST_RESOURCE_ROWS(row)                                                              \
	row(CPU, cpu, Cpu) row(NETWORK, network, Network) row(DISK, disk, Disk)                    \
		row(MEMORY, memory, Memory)

#define CANFS_RESOURCE_NUMBER(NAME, name, Name) CANFS_##NAME,
enum canfs_resource {
	CANFS_NONE,                                                 /* nothing is for sale */
	CANFS_RESOURCE_ROWS(CANFS_RESOURCE_NUMBER) CANFS_RESOURCES, /* how many, NONE included */
	/* No resource, but as a bottleneck: the back end, as another server of it says (server/monitors/peers.h). */
	CANFS_PEER = 6,
	/*
	 * No resource, but as a bottleneck: the disk, whose flushes commits wait for. A log is written by one at a
	 * time, and behind all data of a transaction: more of that hurts commits more than it hurts reads.
	 */
	CANFS_LOG = 7,
	/*
	 * Nor is this one a server's: a client's own network is the bottleneck of an operation if it asks for more than
	 * the server (client-agent/auction/own_network.h). It never goes over the wire, where there are three bits.
	 */
	CANFS_OWN_NETWORK = 8
};

enum canfs_operation {
	CANFS_WRITE,     /* asynchronous write (write-back), CA-NFS §2.1 */
	CANFS_READAHEAD, /* asynchronous read, CA-NFS §2.2 */
	CANFS_OPERATIONS
};

struct canfs_market {
	double k[CANFS_RESOURCES];           /* default per resource: canfs_market_init() */
	double pmax;                         /* in [0, CANFS_PRICE_MAX], the default */
	double weight[CANFS_RESOURCES];      /* in [0, 1], by default 1; 0: as if not known */
	double utilization[CANFS_RESOURCES]; /* in [0, 1] */
	double flushing; /* flushes that the disk had to do, in the mean; 0 if not known */
	bool is_heard;   /* the utilization of the back end is what another server says */
	bool known[CANFS_RESOURCES]; /* false: out of the market, prices nothing */
};

struct canfs_quote {
	double price;                   /* in [0, CANFS_PRICE_MAX] */
	enum canfs_resource bottleneck; /* CANFS_NONE if nothing known has a price */
};

/* Defaults, nothing known. */
void canfs_market_init(struct canfs_market *market);

/* Half of the time a commit waits: the disk is named CANFS_LOG. */
#define CANFS_LOG_FLUSHING 0.5

/* Price of one operation now. Of resources with the same price the first is the bottleneck. */
struct canfs_quote canfs_market_quote(
	const struct canfs_market *market, enum canfs_operation operation);

/* Price of one resource now, in [0, pmax]; 0 if it is not known. */
double canfs_market_price(const struct canfs_market *market, enum canfs_resource resource);

/* "cpu", "network", "disk", "memory", "backend", "peer", "log", "own network"; "none" for anything else. Never NULL. */
const char *canfs_resource_name(enum canfs_resource resource);

/* "write", "read-ahead"; "unknown" for anything else. Never NULL. */
const char *canfs_operation_name(enum canfs_operation operation);

#endif
