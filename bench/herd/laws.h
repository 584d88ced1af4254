/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The pacing laws that the herd simulation compares: one row each in laws.c. `taper` is the agent's own,
 * client-agent/auction/pace.c itself; the others show what simpler ones come to.
 */
#ifndef CANFS_BENCH_HERD_LAWS_H
#define CANFS_BENCH_HERD_LAWS_H

#include <stdint.h>
#include "client-agent/auction/pace.h"
#include "pricing/auction.h"

struct herd_view {
	struct canfs_pace_view pace;
	enum canfs_verdict verdict; /* of the auction, which only some laws heed */
};

/* Of the simple laws. */
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
	/* Bytes to send now. NULL: there is no agent. */
	uint64_t (*step)(union herd_law_state *state, const struct herd_view *view);
};

/* By rising index; NULL beyond the last. */
const struct herd_law *herd_law_at(unsigned int index);

/* NULL: there is none of that name. */
const struct herd_law *herd_law_find(const char *name);

#endif
