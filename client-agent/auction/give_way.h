/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When is a writer that is faster than its client can hold to give way to others? When these commit: a commit waits for
 * all data that was sent before it. (Readers are the kernel's to look after, and gain nothing; only the writer loses.) A
 * price does not say whose work made it. But before this client sends anything it is the others'; and while its writer
 * is made to wait at a few MiB of dirty data it nearly is: alone, that keeps a disk busy and its queue short, at a price
 * near 0.
 *
 *	nobody writes --> first price --high, commits wait--> more is written than can be held: give way
 *	      ^             |                                         |
 *	      |             low, or too late                          low for CANFS_GIVE_WAY_LOW_USEC
 *	      |             v                                         |
 *	      `------------ go on as without us <---------------------'
 *
 * Pure.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_GIVE_WAY_H
#define CANFS_CLIENT_AGENT_AUCTION_GIVE_WAY_H

#include <stdbool.h>
#include <stdint.h>

/* A server that asks so much, of 1, is busy; one that asks less than the second for so long is not. */
#define CANFS_GIVE_WAY_PRICE    0.5
#define CANFS_GIVE_WAY_LOW      0.25
#define CANFS_GIVE_WAY_LOW_USEC 2000000

/* What was sent before the first price came must be less, or that is too late. */
#define CANFS_GIVE_WAY_SENT_BYTES (1 << 20)

struct canfs_give_way {
	uint64_t quiet_usec; /* when nobody wrote last; 0: not known */
	uint64_t sent_bytes; /* had been sent by then */
	double price;        /* the first one since; NAN: none yet, or it came too late */
	uint64_t busy_usec;  /* when the server was busy last */
	bool active;         /* the writer is to give way */
};

/* At one moment; times in us of one clock. */
struct canfs_give_way_view {
	uint64_t now_usec;
	bool is_quiet;       /* nobody writes and nothing is held */
	bool is_too_fast;    /* more is written than can be held for long */
	uint64_t sent_bytes; /* so far, with what is on its way; since any time */
	double price;        /* of a write, [0, 1], the last one; NAN: none */
	bool commits_wait;   /* at the server, says its price */
	uint64_t price_usec; /* when it came */
};

void canfs_give_way_init(struct canfs_give_way *give_way);

/* Returns give_way->active. */
bool canfs_give_way_update(struct canfs_give_way *give_way, const struct canfs_give_way_view *view);

#endif
