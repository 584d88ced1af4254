/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An export's prices of the last ten minutes: one row per second, in a ring of fixed size (about 14
 * KiB). A row holds the means of its second and the highest write price, so that a burst of 100 ms
 * is not averaged away.
 *
 * Pure: no lock, no clock. If the sampler's interval exceeds one second, a row covers one interval.
 */
#ifndef CANFS_SERVER_MARKET_HISTORY_H
#define CANFS_SERVER_MARKET_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pricing/market.h"

#define CANFS_HISTORY_ROWS 600
#define CANFS_HISTORY_SEC  600 /* older rows are not returned, whatever the interval */

/* A stored row. Utilizations and prices are in steps of 1/65534. */
struct canfs_history_packed {
	uint32_t second; /* CLOCK_MONOTONIC */
	uint16_t write, write_peak, readahead;
	uint16_t utilization[CANFS_RESOURCES]; /* UINT16_MAX: unknown */
	uint8_t bottleneck;
};

struct canfs_history {
	/* The current second: sums over its steps. */
	uint32_t second;
	unsigned int steps; /* 0: none yet in this second */
	double write, write_peak, readahead;
	double utilization[CANFS_RESOURCES];
	unsigned int known[CANFS_RESOURCES]; /* number of steps in which it was known */
	enum canfs_resource bottleneck;      /* of the highest write price */

	size_t next, count; /* of the ring */
	struct canfs_history_packed row[CANFS_HISTORY_ROWS];
};

struct canfs_history_row {
	uint32_t second;                     /* CLOCK_MONOTONIC, start of the second */
	double write, write_peak, readahead; /* prices: mean, highest, mean */
	enum canfs_resource bottleneck;      /* of the highest write price */
	double utilization[CANFS_RESOURCES]; /* mean */
	bool known[CANFS_RESOURCES];         /* in at least one step of this second */
};

/* Adds one step of the sampler. A history that is all zero is empty. */
void canfs_history_add(struct canfs_history *history, uint64_t now_usec,
	const struct canfs_market *market, struct canfs_quote write, struct canfs_quote readahead);

/*
 * Gets the row of that age; 0 is the last complete second. Returns false and leaves *row unchanged
 * if there is no such row, or if it is more than CANFS_HISTORY_SEC older than now_usec.
 */
bool canfs_history_get(const struct canfs_history *history, uint64_t now_usec, size_t age,
	struct canfs_history_row *row);

#endif
