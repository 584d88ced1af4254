/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The pacing laws that the herd simulation compares, one row each in laws.c. `taper` is the agent's
 * own law, client-agent/auction/pace.c itself. The other laws show the results of simpler ones.
 */
#ifndef CANFS_BENCH_HERD_LAWS_H
#define CANFS_BENCH_HERD_LAWS_H

#include <stdint.h>
#include "client-agent/auction/pace.h"
#include "pricing/auction.h"

struct herd_view {
	struct canfs_pace_view pace;
	enum canfs_verdict verdict; /* of the auction; only some laws use it */
};

/* State of the simple laws. */
struct herd_rate {
	double rate_bytes_per_sec;
	double credit_bytes;
	enum canfs_verdict verdict; /* the last one */
};

union herd_law_state {
	struct canfs_pace pace;
	struct herd_rate simple;
};

struct herd_law {
	const char *name;
	const char *help;
	void (*init)(union herd_law_state *state);
	/* Returns the bytes to send now. NULL: there is no agent. */
	uint64_t (*step)(union herd_law_state *state, const struct herd_view *view);
};

/* Returns the law of this index, from 0 up. NULL beyond the last one. */
const struct herd_law *herd_law_at(unsigned int index);

/* Returns NULL if no law has this name. */
const struct herd_law *herd_law_find(const char *name);

#endif
