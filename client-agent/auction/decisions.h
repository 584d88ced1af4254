/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The last decisions and their reasons, for "canfsctl why". Each mount has a ring, and so has the
 * agent as a whole. The reason is the sentence that was logged. Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_DECISIONS_H
#define CANFS_CLIENT_AGENT_AUCTION_DECISIONS_H

#include <stddef.h>
#include <stdint.h>

#define CANFS_DECISIONS_MAX 64 /* per ring; a new decision replaces the oldest */

/* The prices of a decision. NaN: no price. */
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
	char reason[160]; /* one sentence, truncated if it is longer */
};

struct canfs_decisions {
	size_t n; /* decisions ever noted */
	struct canfs_decision decision[CANFS_DECISIONS_MAX];
};

/*
 * Notes a decision. format and its arguments give the reason. Texts that are too long are
 * truncated. The result is valid until the ring wraps around.
 */
const struct canfs_decision *canfs_decisions_note(struct canfs_decisions *decisions,
	uint64_t at_usec, const char *what, const char *from, const char *to,
	struct canfs_bids bids, const char *format, ...) __attribute__((format(printf, 7, 8)));

/*
 * The number of decisions in the ring, and the i-th of them; 0 is the latest. NULL if there is
 * none.
 */
size_t canfs_decisions_count(const struct canfs_decisions *decisions);
const struct canfs_decision *canfs_decisions_at(const struct canfs_decisions *decisions, size_t i);

#endif
