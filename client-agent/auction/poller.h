/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Polls the prices of one export. In CA-NFS §3.4 a client asks after every ten READ or WRITE
 * requests, or when its last question is more than ten seconds old. Here the interval also depends
 * on whether the client holds data:
 *
 *	           | ten requests    | fewer
 *	-----------+-----------------+--------
 *	holds data | min_usec        | hold_usec
 *	holds none | move_usec       | idle_usec
 *
 * A client that holds data decides anew with each price. It must notice at once when the server
 * becomes cheap, although it makes no requests. Apart from the random phase, it asks no more often
 * than a server recomputes prices by default (100 ms). A client that holds none only decides about its read-ahead,
 * which changes once a second.
 *
 * A random phase spreads the questions, so that clients do not act on the same price at the same
 * instant. A poller without answers backs off to the idle interval. A server that publishes no
 * prices is asked only at the idle interval. A question never blocks.
 *
 * A server with a price service pushes its prices (protocol/subscription.h). Meanwhile FSSTAT is
 * asked once every pushed_usec, to measure the network's round trip. When pushes stop, FSSTAT is asked
 * as above. The last pushed price stays valid for lost_usec, like any other price.
 *
 * Mounts of one server share neither a poller nor a connection. A price is for one export and its
 * disks. A late or malformed answer then affects only that export. Another connection is cheap in
 * comparison.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_POLLER_H
#define CANFS_CLIENT_AGENT_AUCTION_POLLER_H

#include <stdbool.h>
#include <stdint.h>
#include "protocol/fsstat.h"
#include "protocol/subscription.h"

#define CANFS_POLLER_RPCS 10 /* READ and WRITE requests between two questions, §3.4 */

struct canfs_poller_terms {
	uint64_t idle_usec;    /* interval without held data and with few requests; default 10 s */
	uint64_t move_usec;    /* the same after CANFS_POLLER_RPCS requests; default 1 s */
	uint64_t hold_usec;    /* the same while data leaves at a pace; default 250 ms */
	uint64_t min_usec;     /* both (requests and a pace): shortest; default 100 ms */
	uint64_t answer_usec;  /* deadline of a question; default 2 s */
	uint64_t lost_usec;    /* an older price is invalid; default 30 s */
	uint64_t pushed_usec;  /* interval while prices are pushed; default 30 s */
	uint16_t service_port; /* UDP port of the server's price service; 0: not asked */
	bool others;           /* also ask the service for other clients' operations */
};

extern const struct canfs_poller_terms canfs_poller_defaults;

/* What depends on the next price. */
enum canfs_stake {
	CANFS_STAKE_NONE,  /* nothing is held */
	CANFS_STAKE_SMALL, /* held data that is not worth a COMMIT yet */
	CANFS_STAKE_LARGE, /* held data that leaves at a pace, or waits for a lower price */
};

enum canfs_price_source { CANFS_SOURCE_NONE, CANFS_SOURCE_FSSTAT, CANFS_SOURCE_SERVICE };

struct canfs_poller {
	struct canfs_poller_terms terms;
	struct canfs_fsstat *fsstat;
	struct canfs_subscription subscription;
	enum canfs_price_source source; /* of tag */
	struct canfs_publisher publisher;
	struct canfs_tag tag; /* the last price; from the service not in steps of 1/255 */
	uint64_t tag_usec;    /* arrival of tag */
	double others; /* operations of other clients in flight, with that price; <0: not known */
	bool stale;    /* tag is from before a suspend */
	uint64_t asked_usec; /* last question */
	uint64_t asked_rpcs; /* RPC counter at that time */
	double phase;        /* [0.8, 1.2]: factor of the intervals, random for each question */
	unsigned int seed;
	unsigned int failures; /* consecutive */
	uint64_t questions;    /* counters for the log and for metrics */
	uint64_t answers;
	uint64_t unanswered; /* all failures */
};

/*
 * seed is for the phase and must differ from client to client. Returns 0, or -errno of
 * canfs_fsstat_new().
 */
int canfs_poller_init(struct canfs_poller *poller, const struct canfs_fsstat_target *target,
	const struct canfs_poller_terms *terms, unsigned int seed);
void canfs_poller_fini(struct canfs_poller *poller);

/* Takes new terms. target is as for canfs_poller_init(), but without a handle. */
void canfs_poller_configure(struct canfs_poller *poller, const struct canfs_fsstat_target *target,
	const struct canfs_poller_terms *terms);

/*
 * When the next question is due if no more RPCs are counted and no price is pushed. rpcs:
 * cumulative READs and WRITEs.
 */
uint64_t canfs_poller_due_usec(
	const struct canfs_poller *poller, uint64_t rpcs, enum canfs_stake stake);

/*
 * Asks if a question is due, and takes what has arrived. Call this on each tick, and when
 * canfs_fsstat_fd(poller->fsstat) or poller->subscription.fd is ready. Returns true if a new price
 * has arrived.
 */
bool canfs_poller_tick(
	struct canfs_poller *poller, uint64_t now_usec, uint64_t rpcs, enum canfs_stake stake);

/*
 * Call this after a suspend: known prices are outdated. There is no price until a new one arrives,
 * which is asked for at once. The server still counts as a canfs server.
 */
void canfs_poller_forget_price(struct canfs_poller *poller);

/* Returns the price in force. NULL: no price yet, no price for lost_usec, or no canfs server. */
const struct canfs_tag *canfs_poller_price(const struct canfs_poller *poller, uint64_t now_usec);

/* Returns true if the server pushes each new price at present. */
bool canfs_poller_is_pushed(const struct canfs_poller *poller, uint64_t now_usec);

/* When the price was last known to be right: now, if the server pushes prices; else its arrival. */
uint64_t canfs_poller_price_usec(const struct canfs_poller *poller, uint64_t now_usec);

/* Returns true if the price is at most 2 * hold_usec old. */
bool canfs_poller_is_current(const struct canfs_poller *poller, uint64_t now_usec);

/* "fsstat", "service"; NULL: there is no price. */
const char *canfs_poller_source(const struct canfs_poller *poller, uint64_t now_usec);

#endif
