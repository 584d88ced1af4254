/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an export's prices were in the last ten minutes: one row a second, in a ring of fixed size
 * (about 14 KiB). A row holds the means of its second and the highest price of a write, so that a
 * burst of 100 ms is not lost between two rows.
 *
 * Pure: no lock, no clock. Rows are as long as the sampler's interval if that is above a second.
 */
#ifndef CANFS_SERVER_MARKET_HISTORY_H
#define CANFS_SERVER_MARKET_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pricing/market.h"

#define CANFS_HISTORY_ROWS 600
#define CANFS_HISTORY_SEC  600 /* what lies farther back is not told, whatever the interval */

/* Utilizations and prices as they are kept, in steps of 1/65534. */
struct canfs_history_packed {
	uint32_t second; /* CLOCK_MONOTONIC */
	uint16_t write, write_peak, readahead;
	uint16_t utilization[CANFS_RESOURCES]; /* UINT16_MAX: not known */
	uint8_t bottleneck;
};

struct canfs_history {
	/* The current second: sums over its steps. */
	uint32_t second;
	unsigned int steps; /* 0: none in this second */
	double write, write_peak, readahead;
	double utilization[CANFS_RESOURCES];
	unsigned int known[CANFS_RESOURCES]; /* steps in which it was */
	enum canfs_resource bottleneck;      /* at the peak */

	size_t next, count; /* in the ring */
	struct canfs_history_packed row[CANFS_HISTORY_ROWS];
};

struct canfs_history_row {
	uint32_t second;                     /* CLOCK_MONOTONIC, when it began */
	double write, write_peak, readahead; /* prices: mean, highest, mean */
	enum canfs_resource bottleneck;      /* of the highest price of a write */
	double utilization[CANFS_RESOURCES]; /* mean */
	bool known[CANFS_RESOURCES];         /* at any time of that second */
};

/* All zero is an empty history. Adds one step of the sampler. */
void canfs_history_add(struct canfs_history *history, uint64_t now_usec,
	const struct canfs_market *market, struct canfs_quote write, struct canfs_quote readahead);

/*
 * The row of that age, 0 the latest whole second. False, with *row untouched, if there is none
 * or it lies more than CANFS_HISTORY_SEC before now_usec.
 */
bool canfs_history_get(const struct canfs_history *history, uint64_t now_usec, size_t age,
	struct canfs_history_row *row);

#endif
