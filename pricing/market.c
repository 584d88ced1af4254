// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/market.h"

#include <stddef.h>

#include "pricing/price.h"

/*
 * k is the degradation that the end user feels as the resource congests (CA-NFS §3.2). The sooner a
 * further request hurts the others, the smaller is k. The paper gives the order of the devices, not
 * the numbers. The comment on each row begins with the utilization at which the price is Pmax / 2.
 */
static const struct {
	const char *name;
	double k;
} resources[CANFS_RESOURCES] = {
	[CANFS_NONE] = { "none", 0.0 },

	/*
	 * 0.84: like the network, works unharmed until nearly full. The processors are shared, and
	 * nothing queues until all of them are busy.
	 */
	[CANFS_CPU] = { "cpu", 64.0 },

	/* 0.84: "few negative effects from increased utilization until near its capacity". */
	[CANFS_NETWORK] = { "network", 64.0 },

	/*
	 * 0.66: "each additional I/O interferes with all subsequent I/Os". It lengthens the queue
	 * and moves the head away, so the disk must be expensive early.
	 */
	[CANFS_DISK] = { "disk", 4.0 },

	/*
	 * 0.81: "works well until it's nearly full". The effects beyond (fragmentation, synchronous
	 * stalls) are worse than a full link, so the price rises a little earlier than the
	 * network's.
	 */
	[CANFS_MEMORY] = { "memory", 32.0 },

	/* 0.66: like the disk that may be behind it. */
	[CANFS_BACKEND] = { "backend", 4.0 },
};

/* The resources that an operation uses and pays for. Read-ahead dirties no server memory. */
static const struct {
	const char *name;
	bool pays[CANFS_RESOURCES];
} operations[CANFS_OPERATIONS] = {
	[CANFS_WRITE] = { "write", { [CANFS_CPU] = true,
					   [CANFS_NETWORK] = true,
					   [CANFS_DISK] = true,
					   [CANFS_MEMORY] = true,
					   [CANFS_BACKEND] = true } },
	[CANFS_READAHEAD] = { "read-ahead", { [CANFS_CPU] = true,
						    [CANFS_NETWORK] = true,
						    [CANFS_DISK] = true,
						    [CANFS_BACKEND] = true } },
};

static bool is_resource(enum canfs_resource resource)
{
	return resource > CANFS_NONE && resource < CANFS_RESOURCES;
}

static bool is_operation(enum canfs_operation operation)
{
	return (unsigned int)operation < CANFS_OPERATIONS;
}

void canfs_market_init(struct canfs_market *market)
{
	*market = (struct canfs_market) { 0 };
	market->pmax = CANFS_PRICE_MAX;
	for (int i = 0; i < CANFS_RESOURCES; i++)
		market->k[i] = resources[i].k;
}

double canfs_market_price(const struct canfs_market *market, enum canfs_resource resource)
{
	if (!is_resource(resource) || !market->known[resource])
		return 0.0;
	return market->pmax / CANFS_PRICE_MAX *
	       canfs_price(market->utilization[resource], market->k[resource]);
}

struct canfs_quote canfs_market_quote(
	const struct canfs_market *market, enum canfs_operation operation)
{
	struct canfs_quote quote = { .price = 0.0, .bottleneck = CANFS_NONE };

	if (!is_operation(operation))
		return quote;
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		double price;

		if (!operations[operation].pays[i] || !market->known[i])
			continue;
		price = canfs_market_price(market, (enum canfs_resource)i);
		if (quote.bottleneck == CANFS_NONE || price > quote.price) {
			quote.price = price;
			quote.bottleneck = (enum canfs_resource)i;
		}
	}
	if (quote.bottleneck == CANFS_DISK && market->flushing >= CANFS_LOG_FLUSHING)
		quote.bottleneck = CANFS_LOG;
	if (quote.bottleneck == CANFS_BACKEND && market->is_heard)
		quote.bottleneck = CANFS_PEER;
	return quote;
}

const char *canfs_resource_name(enum canfs_resource resource)
{
	if (resource == CANFS_PEER)
		return "peer";
	if (resource == CANFS_LOG)
		return "log";
	if (resource == CANFS_OWN_NETWORK)
		return "own network";
	return resources[is_resource(resource) ? resource : CANFS_NONE].name;
}

const char *canfs_operation_name(enum canfs_operation operation)
{
	return is_operation(operation) ? operations[operation].name : "unknown";
}
