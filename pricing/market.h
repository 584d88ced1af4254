/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The server's market (CA-NFS §3.2, last paragraphs). Each resource has a price. An operation costs
 * as much as the most expensive resource that it uses. This resource is its bottleneck.
 *
 *	resource      utilization --k--> price     write   read-ahead
 *	cpu               0.10          0.01         x         x
 *	network           0.45          0.09         x         x
 *	disk              0.93          0.88         x         x      bottleneck: disk
 *	memory            0.30          0.06         x
 *	                                max:        0.88      0.88
 *
 * To add a resource, append it here (the numbers are on the wire), add its row to both tables of
 * market.c, and a monitor in server/monitors/ with a row in monitors.c. All numbers of the price tag
 * are taken, so it also needs a new version of the tag (protocol/tag.c) and more bits in
 * server/market/sampler.c and protocol/price_message.c. Settings and metrics follow from the row. To
 * add an operation, add a row in market.c.
 *
 * A server scales its prices: price = pmax * (k^u - 1) / (k - 1). pmax is the same for all resources
 * of a server, so that their prices compare (§3.2). A smaller pmax asks clients for less restraint,
 * because clients still bid up to CANFS_PRICE_MAX.
 *
 * Scaling changes the competitive ratio r <= 1 + 2 log2(k) of pricing/price.h as follows. For bids
 * up to pmax nothing changes, because all prices and bids are scaled alike. However, a full
 * resource then costs only pmax. A higher bid is accepted even if the resource is full, so the
 * resource is oversold. A seller that refuses when nothing is left has already sold for pmax, so
 * the higher bid comes too late. Then r <= (1 + 2 log2(k)) / pmax, and the bound without this
 * divisor is exceeded. tests/unit/test_competitive.c shows both.
 */
#ifndef CANFS_PRICING_MARKET_H
#define CANFS_PRICING_MARKET_H

#include <stdbool.h>

/*
 * Resource names in the code, on the control socket and in the configuration. The numbers go over
 * the wire (protocol/tag.h): append only.
 */
#define CANFS_RESOURCE_ROWS(row) CANFS_HOST_RESOURCE_ROWS(row) row(BACKEND, backend)

/*
 * Resources that the kernel has counters for. Only the program that sends the replies sees the
 * others.
 */
#define CANFS_HOST_RESOURCE_ROWS(row)                                                              \
	row(CPU, cpu) row(NETWORK, network) row(DISK, disk) row(MEMORY, memory)

#define CANFS_RESOURCE_NUMBER(NAME, name) CANFS_##NAME,
enum canfs_resource {
	CANFS_NONE,                                                 /* no resource has a price */
	CANFS_RESOURCE_ROWS(CANFS_RESOURCE_NUMBER) CANFS_RESOURCES, /* count, NONE included */
	/*
	 * Only a bottleneck, not a resource: the back end, as reported by another of its servers
	 * (server/monitors/peers.h).
	 */
	CANFS_PEER = 6,
	/*
	 * Only a bottleneck, not a resource: the disk, while commits wait for its flushes. A log
	 * has one writer at a time and follows all data of a transaction. More load therefore hurts
	 * commits more than reads.
	 */
	CANFS_LOG = 7,
	/*
	 * Not a server's bottleneck: the client's own network, if its price is above the server's
	 * (client-agent/auction/own_network.h). Never goes over the wire, where the field has three
	 * bits.
	 */
	CANFS_OWN_NETWORK = 8
};

enum canfs_operation {
	CANFS_WRITE,     /* asynchronous write (write-back), CA-NFS §2.1 */
	CANFS_READAHEAD, /* asynchronous read, CA-NFS §2.2 */
	CANFS_OPERATIONS
};

struct canfs_market {
	double k[CANFS_RESOURCES];           /* canfs_market_init() sets the default */
	double pmax;                         /* in [0, CANFS_PRICE_MAX], which is the default */
	double utilization[CANFS_RESOURCES]; /* in [0, 1] */
	double flushing; /* mean number of flushes in flight at the disk; 0 if not known */
	bool is_heard;   /* another server reports the utilization of the back end */
	bool known[CANFS_RESOURCES]; /* false: the resource has no price */
};

struct canfs_quote {
	double price;                   /* in [0, CANFS_PRICE_MAX] */
	enum canfs_resource bottleneck; /* CANFS_NONE: no resource that it uses is known */
};

/* Sets the defaults; no utilization is known. */
void canfs_market_init(struct canfs_market *market);

/*
 * From this value of canfs_market.flushing on, a commit waits half of the time: CANFS_LOG replaces
 * CANFS_DISK.
 */
#define CANFS_LOG_FLUSHING 0.5

/*
 * Returns the price of one operation now. If prices are equal, the first resource is the
 * bottleneck.
 */
struct canfs_quote canfs_market_quote(
	const struct canfs_market *market, enum canfs_operation operation);

/* Returns the price of one resource now, in [0, pmax]; 0 if its utilization is not known. */
double canfs_market_price(const struct canfs_market *market, enum canfs_resource resource);

/*
 * Returns "cpu", "network", "disk", "memory", "backend", "peer", "log" or "own network"; "none" for
 * anything else. Never NULL.
 */
const char *canfs_resource_name(enum canfs_resource resource);

/* Returns "write" or "read-ahead"; "unknown" for anything else. Never NULL. */
const char *canfs_operation_name(enum canfs_operation operation);

#endif
