/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A client of the herd simulation: an application that writes in its own rhythm, the kernel's write-back,
 * and the agent's own modules for the question (poller.c), the auction (pricing/auction.c) and the pace. A price that is
 * pushed acts at once, as in the agent's loop: by what was seen of the kernel at the last tick.
 *
 *	writer --> dirty ---------> leaving --link--> at the server --disk--> clean
 *	             |  agent: what the pace says
 *	             |  kernel: what is above the flushing point; all of it when it is 30 s old
 *	         writers stop while dirty + leaving + at the server has reached the limit
 *
 * Files are never closed, as close() flushes them whatever any law says.
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

/* How clients write; those of a herd in turn. */
enum herd_rhythm_kind { HERD_BURSTS, HERD_RARE_BURSTS, HERD_STEADY, HERD_RHYTHMS };

struct herd_writer {
	const struct herd_rhythm *rhythm; /* of the table in client.c */
	double rate_bytes_per_sec;        /* while it writes */
	double mean_pause_sec;
	double to_write_bytes; /* of this burst */
	double pause_sec;      /* until the next one */
	double written_bytes;  /* cumulative, as is the time for which it wanted to and could not */
	double blocked_sec;
};

struct herd_kernel {
	double flush_point_bytes, limit_bytes;
	double dirty_bytes, leaving_bytes, uncommitted_bytes;
	double due_bytes;      /* the age of what is dirty has come */
	uint64_t dirtied_usec; /* 0: nothing is dirty */
	uint64_t
		head_start_usec; /* age of the first data, or that of all clients would come at once */
	double sent_bytes;       /* cumulative */
};

struct herd_agent {
	const struct herd_law *law;
	union herd_law_state state;
	struct canfs_poller poller; /* when to ask, what is current; nothing is sent */
	struct canfs_auction auction;
	struct canfs_average fill;
	double server_price; /* as of poller.tag_usec */
	bool has_heard;      /* since then: heard_price was pushed */
	double heard_price;
	bool has_rest;
	uint64_t tick_usec; /* the next */
	uint64_t ticked_usec, stepped_usec, clean_usec;
	double seen_written_bytes, seen_dirty_bytes, seen_on_its_way_bytes; /* at the last tick */
	bool defers; /* since then; for so long in all: */
	double deferred_sec;
};

struct herd_client {
	unsigned short random[3]; /* of erand48(3) */
	struct herd_writer writer;
	struct herd_kernel kernel;
	struct herd_agent agent;
};

/* number: with the seed, for what is random. rate: of its writer, in the mean. */
void herd_client_init(struct herd_client *client, unsigned int number, enum herd_rhythm_kind kind,
	double rate_bytes_per_sec, const struct herd_setup *setup);

/* The application writes and the kernel flushes, for dt_sec up to now_usec. */
void herd_client_write(struct herd_client *client, uint64_t now_usec, double dt_sec);

/* The server has pushed a price; the agent takes it with the next call of herd_client_tick(). */
void herd_client_hear(struct herd_client *client, double price, uint64_t now_usec);

/* The agent's tick, if there is an agent and it is due; and what follows from a price that was pushed. */
void herd_client_tick(struct herd_client *client, double server_price, uint64_t now_usec);

/* What it would put on its link within dt_sec. */
double herd_client_offers(const struct herd_client *client, double dt_sec);

/* What it holds and has not sent; of that, whole chunks, if it is worth a COMMIT. */
double herd_client_held(const struct herd_client *client);
double herd_client_work(const struct herd_client *client);

#endif
