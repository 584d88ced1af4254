// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/peers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/address.h"
#include "common/random.h"
#include "pricing/market.h"
#include "pricing/price.h"
#include "protocol/subscription.h"

struct canfs_peers {
	struct canfs_subscription peer[CANFS_PEERS_MAX];
	size_t count;
	double k; /* of their prices: what it is by default */
};

int canfs_peers_open(struct canfs_peers **peers, const struct canfs_monitor_setup *setup)
{
	struct canfs_market market;
	struct canfs_peers *new;

	*peers = NULL;
	if (setup->peer_count == 0 || !setup->name)
		return 0;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	canfs_market_init(&market);
	new->k = market.k[CANFS_BACKEND];
	/* One whose name is too long has no service, and says nothing. */
	for (; new->count < setup->peer_count; new->count++) {
		const struct sockaddr_in6 address = { .sin6_family = AF_INET6,
			.sin6_addr = setup->peers[new->count] };
		const struct sockaddr_storage peer = canfs_plain_address(&address);
		unsigned int seed;

		canfs_random(&seed, sizeof(seed));
		(void)canfs_subscription_open(&new->peer[new->count], &peer, setup->peer_port, 3,
			setup->name, false, seed);
	}
	*peers = new;
	return 0;
}

void canfs_peers_close(struct canfs_peers *peers)
{
	if (!peers)
		return;
	for (size_t i = 0; i < peers->count; i++)
		canfs_subscription_close(&peers->peer[i]);
	free(peers);
}

double canfs_peers_utilization(struct canfs_peers *peers, uint64_t now_usec)
{
	double most = 0;

	if (!peers)
		return 0;
	for (size_t i = 0; i < peers->count; i++) {
		struct canfs_subscription *peer = &peers->peer[i];
		const struct canfs_quote *quote = &peer->prices.quote[CANFS_READAHEAD];

		(void)canfs_subscription_tick(peer, now_usec);
		if (canfs_subscription_is_current(peer, now_usec) &&
			quote->bottleneck == CANFS_BACKEND)
			most = fmax(most, canfs_utilization(quote->price, peers->k));
	}
	return most;
}
