/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The price of one resource as a function of its utilization (CA-NFS §3.1, §3.2).
 *
 *	price                                  P(u) = Pmax * (k^u - 1) / (k - 1)
 *	 Pmax |                       .
 *	      |                      .     small k: expensive early   (disk)
 *	      |                   . '      large k: expensive near u=1 (network, memory)
 *	    0 |_._._._._.. - ' ______ u
 *	      0                     1
 *
 * Selling another 1/log2(k) of the resource doubles k^u, that is, P + Pmax / (k - 1). The constant
 * makes the price start at 0. The auction is thereby log-k competitive against an offline algorithm
 * that knows all bids. tests/unit/test_competitive.c has the theorem and its preconditions.
 */
#ifndef CANFS_PRICING_PRICE_H
#define CANFS_PRICING_PRICE_H

/*
 * Pmax: the same for every resource, so that prices compare (§3.2). It is also the scale of the tag
 * and of every client. A server may use less of it (pricing/market.h).
 */
#define CANFS_PRICE_MAX 1.0

/* Allowed range of k. canfs_price() clamps k to it, and takes NaN as CANFS_K_MIN. */
#define CANFS_K_MIN 1.1
#define CANFS_K_MAX 1e6

/*
 * utilization: share in use, clamped to [0, 1]. NaN counts as 1, because a broken monitor must not
 *              make the resource look free.
 * k:           end-user degradation under full load, [CANFS_K_MIN, CANFS_K_MAX].
 * Returns the price, in [0, CANFS_PRICE_MAX].
 */
double canfs_price(double utilization, double k);

/* Returns the utilization in [0, 1] that has this price. */
double canfs_utilization(double price, double k);

#endif
