/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The prices of one export as they reach the client. CA-NFS §3.4: a client asks every ten READ or
 * WRITE requests, or when its last question is more than ten seconds old. Here what is at stake counts, too:
 *
 *	           | ten requests    | fewer
 *	-----------+-----------------+--------
 *	holds data | min_usec        | hold_usec
 *	holds none | move_usec       | idle_usec
 *
 * A client that holds data decides anew with each price, and must notice at once when the server becomes cheap, though it
 * makes no requests: it never asks more often than the server recomputes (Price_Interval, 100 ms). One that holds none
 * has its read-ahead to decide about, which moves once a second.
 *
 * Questions are spread by a random phase, so that clients do not act on the same price at the same
 * instant as a herd. A poller without answers backs off to the idle interval, and a server that
 * publishes no prices is asked at that only; a question never blocks.
 *
 * A server with a price service pushes its prices (protocol/subscription.h); while it does, FSSTAT is asked once in
 * pushed_usec, for the network's round trip. When pushes stop, FSSTAT is asked as above, and what was pushed last holds as long
 * as any price.
 *
 * Mounts of one server do not share a poller or its connection: a price is of one export and its disks,
 * and an answer that is late or malformed costs nothing but this one. A connection is cheap beside that.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_POLLER_H
#define CANFS_CLIENT_AGENT_AUCTION_POLLER_H

#include <stdbool.h>
#include <stdint.h>
#include "protocol/fsstat.h"
#include "protocol/subscription.h"

#define CANFS_POLLER_RPCS 10 /* READ and WRITE requests between two questions, §3.4 */

struct canfs_poller_terms {
	uint64_t idle_usec;    /* longest time between two questions; default 10 s */
	uint64_t move_usec;    /* the same after CANFS_POLLER_RPCS requests; default 1 s */
	uint64_t hold_usec;    /* the same while data is held back; default 250 ms */
	uint64_t min_usec;     /* both; the shortest; default 100 ms */
	uint64_t answer_usec;  /* a question's deadline; default 2 s */
	uint64_t lost_usec;    /* a price older than this is none; default 30 s */
	uint64_t pushed_usec;  /* between two questions while prices are pushed; default 30 s */
	uint16_t service_port; /* of the server's price service, UDP; 0: it is not asked */
	bool others;           /* the service is asked for what other clients do, too */
};

extern const struct canfs_poller_terms canfs_poller_defaults;

enum canfs_price_source { CANFS_SOURCE_NONE, CANFS_SOURCE_FSSTAT, CANFS_SOURCE_SERVICE };

struct canfs_poller {
	struct canfs_poller_terms terms;
	struct canfs_fsstat *fsstat;
	struct canfs_subscription subscription;
	enum canfs_price_source source; /* of the price */
	struct canfs_publisher publisher;
	struct canfs_tag tag; /* the last price; of the service not in steps of 1/255 */
	uint64_t tag_usec;    /* when it came */
	double others; /* operations of other clients in flight, with it; negative: not known */
	bool stale;    /* it is from before a suspend */
	uint64_t asked_usec; /* last question */
	uint64_t asked_rpcs; /* RPC counter then */
	double phase;        /* [0.8, 1.2]: stretches the waits, drawn anew for each question */
	unsigned int seed;
	unsigned int failures; /* in a row */
	uint64_t questions;    /* counters for the log and for metrics */
	uint64_t answers;
	uint64_t unanswered; /* failures in all */
};

/* 0 or -errno of canfs_fsstat_new(). seed: for the phase; differs from client to client. */
int canfs_poller_init(struct canfs_poller *poller, const struct canfs_fsstat_target *target,
	const struct canfs_poller_terms *terms, unsigned int seed);
void canfs_poller_fini(struct canfs_poller *poller);

/* The terms have changed. target: as for canfs_poller_init(), but without a handle. */
void canfs_poller_configure(struct canfs_poller *poller, const struct canfs_fsstat_target *target,
	const struct canfs_poller_terms *terms);

/* When the next question is due if no further RPC is counted and no price is pushed; rpcs: cumulative READ + WRITE. */
uint64_t canfs_poller_due_usec(const struct canfs_poller *poller, uint64_t rpcs, bool holding);

/*
 * Asks if a question is due, and takes what has arrived. Call it on each tick and when
 * canfs_fsstat_fd(poller->fsstat) or poller->subscription.fd is ready. Returns true when a new price has come.
 */
bool canfs_poller_tick(struct canfs_poller *poller, uint64_t now_usec, uint64_t rpcs, bool holding);

/*
 * Whatever is known is from before a suspend: no price until a new one has come, which is asked for at
 * once. That the server is one of ours stays believed.
 */
void canfs_poller_forget_price(struct canfs_poller *poller);

/* The price in force, or NULL: none yet, none for lost_usec, or no canfs server. */
const struct canfs_tag *canfs_poller_price(const struct canfs_poller *poller, uint64_t now_usec);

/* Is the price pushed when it moves, as of now? */
bool canfs_poller_is_pushed(const struct canfs_poller *poller, uint64_t now_usec);

/* When it was known to hold last: now, if it would be pushed when it moves; else when it came. */
uint64_t canfs_poller_price_usec(const struct canfs_poller *poller, uint64_t now_usec);

/* Is it not older than two questions of one who holds data? */
bool canfs_poller_is_current(const struct canfs_poller *poller, uint64_t now_usec);

/* "fsstat", "service"; NULL: there is no price. */
const char *canfs_poller_source(const struct canfs_poller *poller, uint64_t now_usec);

#endif
