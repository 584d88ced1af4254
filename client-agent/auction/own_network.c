// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/auction/own_network.h"
#include "client-agent/auction/arithmetic.h"

#include <math.h>

#include "pricing/price.h"

/*
 * Factors of the payload. Ethernet, IP and TCP headers of packets of 1500 bytes, and at most one
 * ACK for each packet in the other direction.
 */
static const double with_headers = 1.06, acks = 0.05;

/* At most two messages of 1 MiB may be on the wire or in a queue and not yet counted. */
static const double uncounted_max_bytes = 2 << 20;

/*
 * Share of the link that is left at least, however much write-back takes. The received bytes are
 * not known more exactly than that.
 */
static const double left_min = 0.1;

void canfs_own_network_init(struct canfs_own_network *network)
{
	*network = (struct canfs_own_network) { 0 };
	canfs_average_init(&network->received, CANFS_OWN_NETWORK_TAU_SEC);
	canfs_average_init(&network->sent, CANFS_OWN_NETWORK_TAU_SEC);
	canfs_average_init(&network->background, CANFS_OWN_NETWORK_TAU_SEC);
}

void canfs_own_network_add(struct canfs_own_network *network,
	const struct canfs_own_network_counters *counters, uint64_t now_usec)
{
	double sec = (double)canfs_growth(now_usec, network->usec) / 1e6;
	uint64_t received = canfs_growth(counters->received_bytes, network->received_bytes);
	uint64_t sent = canfs_growth(counters->sent_bytes, network->sent_bytes);

	if (network->usec && sec > 0) {
		canfs_average_add(&network->received, (double)received / sec, sec);
		canfs_average_add(&network->sent, (double)sent / sec, sec);
		canfs_average_add(
			&network->background, (double)counters->background_bytes / sec, sec);
	}
	network->usec = now_usec;
	network->received_bytes = counters->received_bytes;
	network->sent_bytes = counters->sent_bytes;
	network->in_flight_bytes = counters->in_flight_bytes;
}

/* Returns all bytes without ours. uncounted_bytes of ours may not be counted yet. */
static double others(double all, double ours, double uncounted_bytes)
{
	double uncounted = fmin(uncounted_bytes, uncounted_max_bytes) / CANFS_OWN_NETWORK_TAU_SEC;

	return fmax(all - ours * with_headers - uncounted, 0);
}

double canfs_own_network_write(const struct canfs_own_network *network, double bytes_per_sec)
{
	double ours = network->background.value;
	double sent = others(network->sent.value, ours, (double)network->in_flight_bytes);
	double received = fmax(network->received.value - ours * acks, 0);
	double left;

	if (!(bytes_per_sec > 0))
		return 0;
	left = fmax(1 - ours * with_headers / bytes_per_sec, left_min);
	return fmin(fmax(sent, received / left) / bytes_per_sec, 1);
}

double canfs_own_network_readahead(
	const struct canfs_own_network *network, double fetched_bytes_per_sec, double bytes_per_sec)
{
	if (!(bytes_per_sec > 0))
		return 0;
	/* A reply that has partly arrived is not counted yet, either. */
	return fmin(others(network->received.value, fetched_bytes_per_sec, fetched_bytes_per_sec) /
			    bytes_per_sec,
		1);
}

double canfs_own_network_price(double utilization, double bytes_per_sec)
{
	double k = 1 + (CANFS_OWN_NETWORK_K_1GBIT - 1) * bytes_per_sec / 125e6;

	return canfs_price(utilization, fmin(k, CANFS_OWN_NETWORK_K_MAX));
}
