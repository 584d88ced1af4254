// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/auction.h"

#include <math.h>
#include <stdbool.h>

#include "pricing/price.h"

const struct canfs_auction_terms canfs_auction_defaults = {
	.price_min = 0.02,
	.epsilon = 0.01,
	.hysteresis = 0.02,
	.dwell_usec = 200000,
};

static double ceiling(const struct canfs_auction_terms *terms)
{
	return CANFS_PRICE_MAX + terms->epsilon;
}

double canfs_own_price(const struct canfs_auction_terms *terms, double utilization, double k)
{
	double price = canfs_price(utilization, k) / CANFS_PRICE_MAX * ceiling(terms);

	return fmax(price, terms->price_min);
}

void canfs_auction_init(struct canfs_auction *auction, const struct canfs_auction_terms *terms)
{
	*auction = (struct canfs_auction) { .terms = *terms, .verdict = CANFS_HOLD };
}

/* The verdict by the prices alone. CANFS_HOLD inside the band, where the current verdict stays. */
static enum canfs_verdict cheaper_place(
	const struct canfs_auction *auction, double own_price, double server_price)
{
	/* The first auction does not replace a verdict, so it has no band. */
	double band = auction->verdict == CANFS_HOLD ? 0.0 : auction->terms.hysteresis;

	if (own_price > server_price)
		return CANFS_ACCELERATE;
	if (server_price - own_price > band)
		return CANFS_DEFER;
	return CANFS_HOLD;
}

static bool dwelt(const struct canfs_auction *auction, uint64_t now_usec)
{
	return auction->verdict == CANFS_HOLD ||
	       now_usec - auction->since_usec >= auction->terms.dwell_usec;
}

enum canfs_verdict canfs_auction_hold(
	struct canfs_auction *auction, double own_price, double server_price, uint64_t now_usec)
{
	enum canfs_verdict verdict;

	/* Without this, a clock set back by a day would freeze the verdict for a day. */
	if (now_usec < auction->since_usec)
		auction->since_usec = now_usec;

	if (!isfinite(own_price) || !isfinite(server_price))
		return auction->verdict;

	/* A server's price above Pmax would outbid a client that is full. */
	server_price = fmin(fmax(server_price, 0.0), CANFS_PRICE_MAX);

	verdict = cheaper_place(auction, own_price, server_price);
	if (verdict == CANFS_HOLD || verdict == auction->verdict)
		return auction->verdict;
	if (!dwelt(auction, now_usec) && own_price < ceiling(&auction->terms))
		return auction->verdict;

	auction->verdict = verdict;
	auction->since_usec = now_usec;
	return verdict;
}

void canfs_auction_reset(struct canfs_auction *auction)
{
	auction->verdict = CANFS_HOLD;
}

const char *canfs_verdict_name(enum canfs_verdict verdict)
{
	switch (verdict) {
	case CANFS_ACCELERATE:
		return "accelerate";
	case CANFS_DEFER:
		return "defer";
	case CANFS_HOLD:
		break;
	}
	return "hold";
}
