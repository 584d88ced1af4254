/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A client of the herd simulation. It consists of an application that writes in its own rhythm, the
 * kernel's write-back, and the agent's own modules for asking (poller.c), the auction
 * (pricing/auction.c) and the pace. A pushed price acts at once, as in the agent's loop. The agent
 * then uses the kernel's state of the last tick.
 *
 *	writer --> dirty ---------> leaving --link--> at the server --disk--> clean
 *	             |  agent: what the pace says
 *	             |  kernel: what is above the flushing point; all of it when it is 30 s old
 *	         writers stop while dirty + leaving + at the server has reached the limit
 *
 * Files are never closed, because close() flushes them under every law.
 */
#ifndef CANFS_BENCH_HERD_CLIENT_H
#define CANFS_BENCH_HERD_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include "bench/herd/setup.h"
#include "client-agent/auction/poller.h"
#include "pricing/auction.h"
#include "pricing/utilization.h"

#define HERD_RAM_BYTES          1e9
#define HERD_LINK_BYTES_PER_SEC 120e6
#define HERD_START_USEC         100000000 /* of the simulated clock */

/* How clients write. The clients of a herd take these in turn. */
enum herd_rhythm_kind { HERD_BURSTS, HERD_RARE_BURSTS, HERD_STEADY, HERD_RHYTHMS };

struct herd_writer {
	const struct herd_rhythm *rhythm; /* in the table in client.c */
	double rate_bytes_per_sec;        /* while it writes */
	double mean_pause_sec;
	double to_write_bytes; /* in this burst */
	double pause_sec;      /* until the next one */
	double written_bytes; /* cumulative, like blocked_sec: the time for which it could not write */
	double blocked_sec;
};

struct herd_kernel {
	double flush_point_bytes, limit_bytes;
	double dirty_bytes, leaving_bytes, uncommitted_bytes;
	double due_bytes;      /* dirty for too long */
	uint64_t dirtied_usec; /* 0: nothing is dirty */
	/* Assumed age of the first data. Without it, all clients would flush at the same time. */
	uint64_t head_start_usec;
	double sent_bytes; /* cumulative */
};

struct herd_agent {
	const struct herd_law *law;
	union herd_law_state state;
	struct canfs_poller poller; /* when to ask, whether the price is current; sends nothing */
	struct canfs_auction auction;
	struct canfs_average fill;
	double server_price; /* as of poller.tag_usec */
	bool has_heard;      /* since then, heard_price was pushed */
	double heard_price;
	bool has_rest;
	uint64_t tick_usec; /* the next tick */
	uint64_t ticked_usec, stepped_usec, clean_usec;
	double seen_written_bytes, seen_dirty_bytes, seen_on_its_way_bytes; /* at the last tick */
	bool defers; /* at the last tick; deferred_sec: the sum of such times */
	double deferred_sec;
};

struct herd_client {
	unsigned short random[3]; /* of erand48(3) */
	struct herd_writer writer;
	struct herd_kernel kernel;
	struct herd_agent agent;
};

/* number: selects the random numbers, together with the seed. rate: the mean rate of its writer. */
void herd_client_init(struct herd_client *client, unsigned int number, enum herd_rhythm_kind kind,
	double rate_bytes_per_sec, const struct herd_setup *setup);

/* The application writes and the kernel flushes for dt_sec, up to now_usec. */
void herd_client_write(struct herd_client *client, uint64_t now_usec, double dt_sec);

/* The server has pushed a price. The agent takes it in the next call of herd_client_tick(). */
void herd_client_hear(struct herd_client *client, double price, uint64_t now_usec);

/* Runs the agent's tick, if there is an agent and the tick is due. Also acts on a pushed price. */
void herd_client_tick(struct herd_client *client, double server_price, uint64_t now_usec);

/* Returns the bytes that it would put on its link within dt_sec. */
double herd_client_offers(const struct herd_client *client, double dt_sec);

/*
 * held: the bytes that it holds and has not sent. work: the whole chunks of them, if they are worth
 * a COMMIT.
 */
double herd_client_held(const struct herd_client *client);
double herd_client_work(const struct herd_client *client);

#endif
