// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/auction/rates.h"

#include <stddef.h>

static const struct {
	const char *name;
	size_t offset;
} rpcs[CANFS_RPCS] = {
	[CANFS_RPC_READ] = { "read", offsetof(struct canfs_mountstats, read) },
	[CANFS_RPC_WRITE] = { "write", offsetof(struct canfs_mountstats, write) },
	[CANFS_RPC_COMMIT] = { "commit", offsetof(struct canfs_mountstats, commit) },
};

const char *canfs_rpc_name(enum canfs_rpc rpc)
{
	return rpcs[rpc].name;
}

static const struct canfs_op_stats *stats_of(
	const struct canfs_mountstats *stats, enum canfs_rpc rpc)
{
	return (const void *)((const char *)stats + rpcs[rpc].offset);
}

static struct canfs_rate rate_of(
	const struct canfs_op_stats *base, const struct canfs_op_stats *now, double elapsed_sec)
{
	double ops = (double)(now->ops - base->ops);

	if (now->ops <= base->ops || now->rtt_msec < base->rtt_msec)
		return (struct canfs_rate) { 0 };
	return (struct canfs_rate) { .per_sec = ops / elapsed_sec,
		.round_trip_msec = (double)(now->rtt_msec - base->rtt_msec) / ops };
}

void canfs_rates_note(
	struct canfs_rates *rates, const struct canfs_mountstats *stats, uint64_t now_usec)
{
	uint64_t elapsed_usec = now_usec - rates->since_usec;

	if (rates->since_usec != 0 && elapsed_usec < CANFS_RATES_USEC)
		return;
	for (enum canfs_rpc rpc = 0; rates->since_usec != 0 && rpc < CANFS_RPCS; rpc++)
		rates->rate[rpc] = rate_of(stats_of(&rates->base, rpc), stats_of(stats, rpc),
			(double)elapsed_usec / 1e6);
	rates->base = *stats;
	rates->since_usec = now_usec;
}
