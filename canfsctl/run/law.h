/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When to pause a background job: while others make its server expensive. The job's own load raises
 * the price, too, and the price does not name its cause. Only a pause tells.
 *
 *	price  1 |       .--------.                         .---------------------.
 *	         |     .'  own     `.                     .'  others, too          `
 *	bid    - |- -.'- - - - - - -`. - - - - - - - - -.' - - - - - - - - - - - - -`. - - -
 *	         |  '                 `.______........-'                              `._
 *	       0 |
 *	job        ==============|....|==========================|.......|==|........|=======
 *	              run        pause: the price falls, so the  pause: it does not fall, so
 *	                         load was the job's: run longer  others wait: stay paused
 *
 * The job runs while the price is at most its bid. Above the bid, the job first runs for run_sec.
 * Then it is paused, and
 *
 *	the price falls within 1 s     it was the job's own load: continue, for 1.5 times the last
 *	                               run, but at most 16 times the pause
 *	the price falls later          others have gone: continue, for 1 s at first
 *	the price stays high           stay paused until the job's share of the time is due or
 *	                               its patience is over; then run for one slice
 *	there is no price any more     continue
 *
 * A server that tells clients apart reports how many operations of others are in flight
 * (protocol/prices.x). Then probing is rarely needed. Above the bid, the job is paused when clearly
 * more operations of others are in flight than `bearable` (canfs_others_came()). The job continues
 * once others have been gone for a moment. Even if no other client is active, the job is paused now
 * and then, because load from this host, or from the server itself, is not reported as another
 * client's.
 *
 * Prices are averages over 2 s (pricing/level.h). Waiting until the average reaches the bid would
 * cost the job 1.4 s whenever the load was its own. Therefore a falling price also ends the pause,
 * if it falls as fast as an average that settles well below the bid. The fall must last: a server
 * that detects a change starts a new average, which falls at once and may then stay above the bid.
 *
 * Prices arrive periodically or only when they change (protocol/subscription.h). In the second
 * case, silence means that the last price still holds. A fall is judged by the prices received and
 * their times. A fall is over when no more prices arrive.
 *
 * Pure: no I/O, and time is a parameter.
 */
#ifndef CANFS_CANFSCTL_RUN_LAW_H
#define CANFS_CANFSCTL_RUN_LAW_H

#include <stdbool.h>
#include <stdint.h>

struct canfs_govern_terms {
	double bid;             /* pause above this price, [0, 1] */
	double at_least;        /* share of the time in which the job runs at any price, [0, 1] */
	uint64_t patience_usec; /* the longest pause, > 0 */
};

/* A bid of 0.5, no guaranteed share, pauses of at most 30 s. */
extern const struct canfs_govern_terms canfs_govern_defaults;

enum canfs_govern_reason {
	CANFS_GOVERN_START,
	CANFS_GOVERN_HIGH,     /* paused: the price is above the bid */
	CANFS_GOVERN_OTHERS,   /* paused: likewise, and others have come */
	CANFS_GOVERN_LOW,      /* runs: the price is not above the bid */
	CANFS_GOVERN_FALLS,    /* runs: the price is above the bid, but falls to well below it */
	CANFS_GOVERN_GONE,     /* runs: others have gone */
	CANFS_GOVERN_SHARE,    /* runs: the job's share of the time is due */
	CANFS_GOVERN_PATIENCE, /* runs: the longest pause is over */
	CANFS_GOVERN_NO_PRICE, /* runs: there is no price */
};

/* A price, [0, 1], and its arrival time. NAN: there is none. */
struct canfs_govern_price {
	double price;
	uint64_t usec;
	double others; /* operations of other clients in flight; negative: unknown */
};

/* Enough for the last 0.5 s: all prices but the last are at least 80 ms apart. */
#define CANFS_GOVERN_PRICES 8

struct canfs_govern_law {
	struct canfs_govern_terms terms;
	bool is_paused;
	enum canfs_govern_reason reason; /* for is_paused */
	uint64_t since_usec;             /* start of the current run or pause */
	uint64_t stepped_usec;
	double slice_sec;  /* the shortest run */
	double run_sec;    /* run for at least this long before the next pause */
	double owed_sec;   /* run time owed to the job for its guaranteed share; at least 0 */
	double high_price; /* at the last pause; NAN: never paused */
	double own_price;  /* high_price if that pause showed it to be the job's own; else NAN */
	struct canfs_govern_price seen[CANFS_GOVERN_PRICES]; /* of this pause, the newest last */
	unsigned int n_seen;
	double others;        /* at the last step */
	double bearable;      /* others at the end of the last pause, if cheap; else 0 */
	uint64_t others_usec; /* others were last seen in this pause; 0: never */
};

/* Call when the job starts. */
void canfs_govern_law_init(
	struct canfs_govern_law *law, const struct canfs_govern_terms *terms, uint64_t now_usec);

/*
 * Should the job be paused now? Call for each new price, and when canfs_govern_law_due_usec() has
 * come.
 */
bool canfs_govern_law_step(
	struct canfs_govern_law *law, struct canfs_govern_price price, uint64_t now_usec);

/* When the next step is due if the price does not change. UINT64_MAX: never. */
uint64_t canfs_govern_law_due_usec(const struct canfs_govern_law *law);

/* The reason in words, such as "the price is above the bid". */
const char *canfs_govern_reason_text(enum canfs_govern_reason reason);

#endif
