/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How fast deferred data leaves. The auction says whether (CA-NFS §3.2), the pace says how much: a
 * client that sent all it holds at its first cheap price would only move the damage, and many
 * clients would do so at once.
 *
 *	pace  |          /|         remembered
 *	      |        /  |  . - - - - - - - - -  grows twofold per CANFS_PACE_DOUBLING_USEC while
 *	      |      /    |/                      the server stays cheaper than we are, sinks while
 *	      |    /      |                       the prices are level, stops at DEFER and starts
 *	      |__/________|_______ time           again from half of what the server bore
 *	         accelerate  defer  accelerate
 *
 * Prices lag: a server takes data into its memory at once and becomes dear only when its disk has to
 * swallow it. So what is on its way (sent, not yet committed) is bounded by what the pace sends in
 * CANFS_PACE_WINDOW_USEC; beyond that the pace sinks as if the prices were level. It settles where a
 * COMMIT takes about that long.
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_AGENT_PACE_H
#define CANFS_AGENT_PACE_H

#include <stdint.h>
#include "pricing/auction.h"

#define CANFS_PACE_MIN_BYTES_PER_SEC   (8.0 * (1 << 20))
#define CANFS_PACE_MAX_BYTES_PER_SEC   (1024.0 * (1 << 20))
#define CANFS_PACE_BLIND_BYTES_PER_SEC (32.0 * (1 << 20)) /* any server's disk bears this */
#define CANFS_PACE_DOUBLING_USEC       500000
#define CANFS_PACE_WINDOW_USEC         500000
#define CANFS_PACE_WINDOW_MIN_BYTES    (16 << 20) /* keeps a server with slow COMMITs going */
#define CANFS_PACE_HALVING_USEC        250000

/* No more than this is asked for at once, however late the caller is. */
#define CANFS_PACE_CHUNK_MAX_BYTES (32 << 20)

struct canfs_pace {
	double rate_bytes_per_sec; /* [MIN, MAX]: what is sent, or was when it was last sent */
	double credit_bytes;       /* earned and not yet sent, < one chunk */
	enum canfs_verdict verdict;
};

void canfs_pace_init(struct canfs_pace *pace);

/*
 * margin: own price minus the server's. on_its_way_bytes: sent and not yet committed. elapsed_usec:
 * since the last step. Returns the bytes to send now: a multiple of 1 MiB, 0 ...
 * CANFS_PACE_CHUNK_MAX_BYTES; always 0 unless verdict is CANFS_ACCELERATE and the window is open.
 */
uint64_t canfs_pace_step(struct canfs_pace *pace, enum canfs_verdict verdict, double margin,
	uint64_t on_its_way_bytes, uint64_t elapsed_usec);

/* Without a price: a steady CANFS_PACE_BLIND_BYTES_PER_SEC. Same return value. */
uint64_t canfs_pace_blind(
	struct canfs_pace *pace, uint64_t on_its_way_bytes, uint64_t elapsed_usec);

#endif
