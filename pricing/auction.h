/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The client's side of the reverse auction (CA-NFS §3, §3.2): work goes to the cheaper seller.
 *
 *	own price > server's price   the server is the cheaper place   ACCELERATE
 *	own price < server's price   the client is the cheaper place   DEFER
 *
 * The client's ceiling is Pmax + epsilon (both overloaded: the server gets the work) and its
 * floor Pmin (both idle: the work is done at the server, now).
 *
 * Prices hover. Two guards keep the client from flapping: it defers only when the server is
 * more expensive by more than the hysteresis, and a verdict stands for the dwell time at least.
 *
 *	              own price      own price + hysteresis
 *	  ACCELERATE      |    verdict stays    |      DEFER        --> server's price
 *
 * The band lies on one side only, so that floor and ceiling mean what §3.2 says however wide it
 * is: the work goes to an idle server, and to a full one if the client is full too. A bid at the
 * ceiling does not wait for the dwell time either: a client that is full must not wait. The first
 * auction after CANFS_HOLD is guarded by neither.
 */
#ifndef CANFS_PRICING_AUCTION_H
#define CANFS_PRICING_AUCTION_H

#include <stdint.h>

enum canfs_verdict {
	CANFS_HOLD,       /* no auction held yet: leave the work to the kernel's defaults */
	CANFS_ACCELERATE, /* send it now */
	CANFS_DEFER       /* keep it */
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
	uint64_t since_usec; /* when the verdict became what it is */
};

extern const struct canfs_auction_terms canfs_auction_defaults;

/* The client's price of a resource of its own, in [Pmin, Pmax + epsilon]. */
double canfs_own_price(const struct canfs_auction_terms *terms, double utilization, double k);

void canfs_auction_init(struct canfs_auction *auction, const struct canfs_auction_terms *terms);

/*
 * Holds one auction. now_usec: any clock that does not run backwards (after a step back the dwell
 * time starts anew). A price that is NaN or infinite counts as "no auction": the verdict stays. A
 * server's price outside [0, Pmax] counts as the nearer bound. Equal prices change nothing.
 * Returns the verdict, which also stands in auction->verdict.
 */
enum canfs_verdict canfs_auction_hold(
	struct canfs_auction *auction, double own_price, double server_price, uint64_t now_usec);

/* Prices were lost: back to CANFS_HOLD at once. */
void canfs_auction_reset(struct canfs_auction *auction);

/* "hold", "accelerate", "defer". Never NULL. */
const char *canfs_verdict_name(enum canfs_verdict verdict);

#endif
