// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/peers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/address.h"
#include "common/random.h"
#include "pricing/market.h"
#include "pricing/price.h"
#include "protocol/subscription.h"

#define SILENT_USEC UINT64_C(10000000)

struct peer {
	struct in6_addr address;
	struct canfs_subscription prices;
	uint64_t heard_usec; /* last time heard, or when first asked; 0: not yet asked */
	enum { NOTHING, HEARD, SILENT } said;
};

struct canfs_peers {
	struct peer peer[CANFS_PEERS_MAX];
	size_t count;
	uint16_t port;
	double k; /* of the peers' prices; assumed to be the default */
	const char *name;
	canfs_say *say;
};

/* If the name is too long for the price service, the peer is never heard. */
static void subscribe(const struct canfs_peers *peers, struct peer *peer)
{
	const struct sockaddr_in6 address = { .sin6_family = AF_INET6,
		.sin6_addr = canfs_with_scope(&peer->address, 0),
		.sin6_scope_id = canfs_scope_of(&peer->address) };
	const struct sockaddr_storage server = canfs_plain_address(&address);
	unsigned int seed;

	canfs_random(&seed, sizeof(seed));
	(void)canfs_subscription_open(
		&peer->prices, &server, peers->port, 3, peers->name, false, seed);
}

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
	new->name = setup->name;
	new->say = setup->say;
	new->port = setup->peer_port;
	canfs_market_init(&market);
	new->k = market.k[CANFS_BACKEND];
	for (; new->count < setup->peer_count; new->count++) {
		new->peer[new->count].address = setup->peers[new->count];
		subscribe(new, &new->peer[new->count]);
	}
	*peers = new;
	return 0;
}

void canfs_peers_close(struct canfs_peers *peers)
{
	if (!peers)
		return;
	for (size_t i = 0; i < peers->count; i++)
		canfs_subscription_close(&peers->peer[i].prices);
	free(peers);
}

void canfs_peers_rename(struct canfs_peers *peers, const char *name)
{
	if (!peers)
		return;
	peers->name = name;
	for (size_t i = 0; i < peers->count; i++) {
		canfs_subscription_close(&peers->peer[i].prices);
		subscribe(peers, &peers->peer[i]);
	}
}

static const char *why_silent(const struct canfs_subscription *prices)
{
	static const char *const refusals[CANFS_STATUSES] = {
		[CANFS_STATUS_ACCESS] =
			"refuses: no such CANFS export, or this server is no Peer there",
		[CANFS_STATUS_NONE] = "publishes no prices for it",
		[CANFS_STATUS_FULL] = "has too many subscribers",
	};

	if (prices->network_error)
		return strerror(prices->network_error);
	return refusals[prices->status] ? refusals[prices->status] : "does not answer";
}

/* Logs when a peer is first heard, and when it has fallen silent. */
static void say_change(
	const struct canfs_peers *peers, struct peer *peer, bool is_heard, uint64_t now_usec)
{
	char message[512], address[INET6_ADDRSTRLEN];

	if (is_heard || peer->heard_usec == 0)
		peer->heard_usec = now_usec;
	if (peer->said == (is_heard ? HEARD : SILENT) ||
		(!is_heard && now_usec - peer->heard_usec < SILENT_USEC))
		return;
	peer->said = is_heard ? HEARD : SILENT;
	snprintf(message, sizeof(message), "peer %s of %s %s",
		canfs_print_address(&peer->address, address), peers->name,
		is_heard ? "sends prices" : why_silent(&peer->prices));
	peers->say(message);
}

double canfs_peers_utilization(struct canfs_peers *peers, uint64_t now_usec)
{
	double most = 0;

	if (!peers)
		return 0;
	for (size_t i = 0; i < peers->count; i++) {
		struct peer *peer = &peers->peer[i];
		const struct canfs_quote *quote = &peer->prices.prices.quote[CANFS_READAHEAD];
		bool is_heard;

		(void)canfs_subscription_tick(&peer->prices, now_usec);
		is_heard = canfs_subscription_is_current(&peer->prices, now_usec);
		say_change(peers, peer, is_heard, now_usec);
		if (is_heard && quote->bottleneck == CANFS_BACKEND)
			most = fmax(most, canfs_utilization(quote->price, peers->k));
	}
	return most;
}
