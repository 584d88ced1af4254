/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What was decided last, and why: a ring that a mount (and the agent as a whole) keeps for "canfsctl
 * why". The sentence is the one that was logged. Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_DECISIONS_H
#define CANFS_CLIENT_AGENT_AUCTION_DECISIONS_H

#include <stddef.h>
#include <stdint.h>

#define CANFS_DECISIONS_MAX 64 /* remembered in one ring; the oldest gives way */

/* What was bid; NaN where nobody has. */
struct canfs_bids {
	double server_price;
	double own_price;
	double network_price; /* of the own network */
};

extern const struct canfs_bids canfs_no_bids;

struct canfs_decision {
	uint64_t at_usec; /* CLOCK_MONOTONIC */
	char what[32];    /* "write-back", "read-ahead", "flushing point", or a knob's name */
	char from[24];
	char to[24];
	struct canfs_bids bids;
	char reason[160]; /* one sentence, cut if it is longer */
};

struct canfs_decisions {
	size_t n; /* ever noted */
	struct canfs_decision decision[CANFS_DECISIONS_MAX];
};

/* Notes one, its reason printed; what does not fit is cut. Valid until the ring comes round. */
const struct canfs_decision *canfs_decisions_note(struct canfs_decisions *decisions,
	uint64_t at_usec, const char *what, const char *from, const char *to,
	struct canfs_bids bids, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* How many are remembered; and the i-th of them, the latest being 0. NULL beyond. */
size_t canfs_decisions_count(const struct canfs_decisions *decisions);
const struct canfs_decision *canfs_decisions_at(const struct canfs_decisions *decisions, size_t i);

#endif
