// SPDX-License-Identifier: LGPL-3.0-or-later
#include "bench/herd/server.h"

#include <math.h>

static const double tag_steps = 255; /* a price has 8 bits in the tag */

/*
 * The share of the disk's drain that a reader leaves, and the share of its queue that a reader
 * takes. With these, the price is 0.8, as measured.
 */
static const double reader_leaves = 0.5, reader_queues = 0.9;

void herd_server_init(struct herd_server *server, uint64_t interval_usec)
{
	*server = (struct herd_server) { .interval_usec = interval_usec };
	canfs_market_init(&server->market);
	canfs_level_init(&server->disk_level, CANFS_RATE_TAU_SEC);
	canfs_level_init(&server->network_level, CANFS_RATE_TAU_SEC);
	server->market.known[CANFS_NETWORK] = true;
	server->market.known[CANFS_DISK] = true;
	server->market.known[CANFS_MEMORY] = true;
}

double herd_server_accepts(const struct herd_server *server, double offered_bytes, double dt_sec)
{
	double headroom = HERD_DIRTY_LIMIT_BYTES - server->backlog_bytes;

	headroom = fmax(headroom, HERD_DRAIN_BYTES_PER_SEC * dt_sec);
	return fmin(offered_bytes, fmin(headroom, HERD_NETWORK_BYTES_PER_SEC * dt_sec));
}

static void make_price(struct herd_server *server)
{
	double elapsed_sec = server->sum_sec;
	double *utilization = server->market.utilization;

	utilization[CANFS_DISK] =
		canfs_level_add(&server->disk_level, server->disk_sum / elapsed_sec, elapsed_sec);
	utilization[CANFS_NETWORK] = canfs_level_add(
		&server->network_level, server->network_sum / elapsed_sec, elapsed_sec);
	utilization[CANFS_MEMORY] = fmin(server->backlog_bytes / HERD_DIRTY_LIMIT_BYTES, 1);
	for (enum canfs_operation i = 0; i < CANFS_OPERATIONS; i++)
		server->prices.quote[i] = canfs_market_quote(&server->market, i);
	server->price = round(server->prices.quote[CANFS_WRITE].price * tag_steps) / tag_steps;
	server->disk_sum = server->network_sum = server->sum_sec = 0;
}

double herd_server_step(
	struct herd_server *server, double taken_bytes, uint64_t now_usec, double dt_sec)
{
	double drain, drained, queued;

	server->backlog_bytes += taken_bytes;
	drain = HERD_DRAIN_BYTES_PER_SEC * dt_sec;
	if (server->reader_is_at_work)
		drain *= reader_leaves;
	drained = fmin(server->backlog_bytes, drain);
	server->backlog_bytes -= drained;
	queued = server->backlog_bytes / HERD_DISK_FULL_BYTES;
	if (server->reader_is_at_work)
		queued += reader_queues;
	server->disk_sum += fmin(queued, 1) * dt_sec;
	server->network_sum += taken_bytes / HERD_NETWORK_BYTES_PER_SEC;
	server->sum_sec += dt_sec;
	if (now_usec - server->priced_usec >= server->interval_usec) {
		server->priced_usec = now_usec;
		make_price(server);
	}
	return drained;
}
