/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How many requests a mount makes per second, and how long the server takes for each: the growth of
 * mountstats' counters in the last CANFS_RATES_USEC or more. Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_RATES_H
#define CANFS_CLIENT_AGENT_AUCTION_RATES_H

#include "client-agent/kernel/mountstats.h"

#define CANFS_RATES_USEC 1000000

enum canfs_rpc { CANFS_RPC_READ, CANFS_RPC_WRITE, CANFS_RPC_COMMIT, CANFS_RPCS };

struct canfs_rate {
	double per_sec;
	double round_trip_msec; /* mean; 0 if there was no request */
};

struct canfs_rates {
	struct canfs_mountstats base; /* as of since_usec */
	uint64_t since_usec;          /* 0: nothing noted yet */
	struct canfs_rate rate[CANFS_RPCS];
};

/* "read", "write", "commit". */
const char *canfs_rpc_name(enum canfs_rpc rpc);

/* Call this with each sample. Counters that run backwards (another mount) restart the rates. */
void canfs_rates_note(
	struct canfs_rates *rates, const struct canfs_mountstats *stats, uint64_t now_usec);

#endif
