/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Decides when a writer must give way to other clients, because it writes more than this client can
 * hold. It must give way when the others commit, because a COMMIT waits for all data that was sent
 * before it. Readers are left to the server's kernel. They would gain nothing, and only the writer
 * would lose.
 *
 * A price does not tell whose load caused it. But before this client sends anything, the price is
 * caused by others. While the writer is throttled to a few MiB of dirty data, others still cause
 * nearly all of the price. Alone, such a writer keeps a disk busy and its queue short, at a price
 * near 0.
 *
 *	nobody writes --> first price --high, commits wait--> more is written than can be held: give way
 *	      ^             |                                         |
 *	      |             low, or too late                          low for CANFS_GIVE_WAY_LOW_USEC
 *	      |             v                                         |
 *	      `------------ go on as without canfs <------------------'
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_GIVE_WAY_H
#define CANFS_CLIENT_AGENT_AUCTION_GIVE_WAY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A server becomes busy at CANFS_GIVE_WAY_PRICE. It is no longer busy once its price has been below
 * CANFS_GIVE_WAY_LOW for CANFS_GIVE_WAY_LOW_USEC.
 */
#define CANFS_GIVE_WAY_PRICE    0.5
#define CANFS_GIVE_WAY_LOW      0.25
#define CANFS_GIVE_WAY_LOW_USEC 2000000

/* The first price counts only if less than this was sent before it arrived. */
#define CANFS_GIVE_WAY_SENT_BYTES (1 << 20)

struct canfs_give_way {
	uint64_t quiet_usec; /* last time that nobody wrote; 0: not known */
	uint64_t sent_bytes; /* sent until quiet_usec */
	double price; /* first price since then, 0 if no COMMIT waited; NAN: none, or too late */
	uint64_t busy_usec; /* last time that the server was busy */
	bool active;        /* the writer must give way */
};

/* The input of one update. All times are in us of one clock. */
struct canfs_give_way_view {
	uint64_t now_usec;
	bool is_quiet;       /* nobody writes and nothing is held */
	bool is_too_fast;    /* more is written than can be held for long */
	uint64_t sent_bytes; /* cumulative from any start, including data in flight */
	double price;        /* last price of a write, [0, 1]; NAN: none */
	bool commits_wait;   /* at the server, according to its price */
	uint64_t price_usec; /* arrival of that price */
};

void canfs_give_way_init(struct canfs_give_way *give_way);

/* Returns give_way->active. */
bool canfs_give_way_update(struct canfs_give_way *give_way, const struct canfs_give_way_view *view);

#endif
