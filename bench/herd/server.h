/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The server of the herd simulation: a fluid model of what matters to write-back.
 *
 *	clients --network, 400 MB/s--> dirty memory, 1000 MB --disk, 100 MB/s-->
 *
 * A reader at work keeps the disk expensive and takes half of it.
 *
 * Below its dirty limit, the server accepts all that the network brings, as Linux does. At the
 * limit, it accepts only what the disk drains. It computes prices like the plugin, with the
 * plugin's own market and levels (pricing/). Network and disk are priced by their level over 2 s
 * (server/monitors/monitors.c), memory by its dirty share. The disk type is `rotational`: its
 * nominal queue is 32 writes, here of 1 MB each.
 */
#ifndef CANFS_BENCH_HERD_SERVER_H
#define CANFS_BENCH_HERD_SERVER_H

#include <stdint.h>
#include "pricing/level.h"
#include "pricing/market.h"
#include "protocol/price_message.h"

#define HERD_DRAIN_BYTES_PER_SEC   100e6
#define HERD_NETWORK_BYTES_PER_SEC 400e6
#define HERD_DIRTY_LIMIT_BYTES     1000e6
#define HERD_DISK_FULL_BYTES       32e6

struct herd_server {
	uint64_t interval_usec; /* between two prices */
	uint64_t priced_usec;
	struct canfs_market market;
	struct canfs_level disk_level, network_level;
	double disk_sum, network_sum, sum_sec; /* since the last price */
	double backlog_bytes;                  /* accepted and not yet on disk */
	bool reader_is_at_work;
	struct canfs_prices prices; /* as they are pushed */
	double price;               /* of an asynchronous write, with the precision of the tag */
};

void herd_server_init(struct herd_server *server, uint64_t interval_usec);

/* Returns how much of offered_bytes the server accepts within dt_sec. */
double herd_server_accepts(const struct herd_server *server, double offered_bytes, double dt_sec);

/*
 * Accepts and drains data, and computes prices when they are due. Returns the bytes that reached
 * the disk.
 */
double herd_server_step(
	struct herd_server *server, double taken_bytes, uint64_t now_usec, double dt_sec);

#endif
