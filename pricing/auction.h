/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The client's side of the reverse auction (CA-NFS §3, §3.2). Work goes to the cheaper side.
 *
 *	own price > server's price   the server is cheaper   ACCELERATE
 *	own price < server's price   the client is cheaper   DEFER
 *
 * The client's price lies between Pmin and Pmax + epsilon. If both sides are overloaded, the client
 * is at Pmax + epsilon and the server gets the work. If both are idle, the client is at Pmin and
 * the server does the work now.
 *
 * Prices fluctuate, so two guards prevent flapping. The client defers only if the server's price
 * exceeds its own by more than the hysteresis. A verdict stands for at least the dwell time.
 *
 *	              own price      own price + hysteresis
 *	  ACCELERATE      |    verdict stays    |      DEFER        --> server's price
 *
 * The band lies only on the DEFER side, so that Pmin and the ceiling keep their meaning of §3.2 for
 * any hysteresis: work goes to an idle server, and to a full server if the client is full too. A
 * client price at the ceiling also ignores the dwell time, because a full client must not wait. The
 * first auction after CANFS_HOLD ignores both guards.
 */
#ifndef CANFS_PRICING_AUCTION_H
#define CANFS_PRICING_AUCTION_H

#include <stdint.h>

enum canfs_verdict {
	CANFS_HOLD,       /* no auction held yet: the kernel's defaults apply */
	CANFS_ACCELERATE, /* send the work now */
	CANFS_DEFER       /* keep the work */
};

struct canfs_auction_terms {
	double price_min;    /* Pmin, in [0, Pmax); default 0.02 */
	double epsilon;      /* above Pmax, > 0; default 0.01 */
	double hysteresis;   /* in prices, >= 0; default 0.02 */
	uint64_t dwell_usec; /* least time between two changes of verdict; default 200000 */
};

struct canfs_auction {
	struct canfs_auction_terms terms;
	enum canfs_verdict verdict;
	uint64_t since_usec; /* of the last change of the verdict */
};

extern const struct canfs_auction_terms canfs_auction_defaults;

/* Returns the client's price of one of its own resources, in [Pmin, Pmax + epsilon]. */
double canfs_own_price(const struct canfs_auction_terms *terms, double utilization, double k);

void canfs_auction_init(struct canfs_auction *auction, const struct canfs_auction_terms *terms);

/*
 * Holds one auction. now_usec: any clock that does not run backwards; after a step back, the dwell
 * time starts anew. If a price is NaN or infinite, the verdict stays. A server's price is clamped
 * to [0, Pmax]. Equal prices change nothing. Returns the verdict, which is also in
 * auction->verdict.
 */
enum canfs_verdict canfs_auction_hold(
	struct canfs_auction *auction, double own_price, double server_price, uint64_t now_usec);

/* No prices are available any more: sets CANFS_HOLD at once. */
void canfs_auction_reset(struct canfs_auction *auction);

/* Returns "hold", "accelerate" or "defer", never NULL. */
const char *canfs_verdict_name(enum canfs_verdict verdict);

#endif
