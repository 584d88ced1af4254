/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When is a job that nobody waits for to be paused? While others make its server expensive. But the job's own load raises
 * the price, too, and a price does not say whose work made it: only a pause shows that.
 *
 *	price  1 |       .--------.                         .---------------------.
 *	         |     .'  own     `.                     .'  others, too          `
 *	bid    - |- -.'- - - - - - -`. - - - - - - - - -.' - - - - - - - - - - - - -`. - - -
 *	         |  '                 `.______........-'                              `._
 *	       0 |
 *	job        ==============|....|==========================|.......|==|........|=======
 *	              run        pause: it falls, so it was      pause: it does not fall, so
 *	                         the job's own: run for longer   others wait: stay paused
 *
 * The job runs while the price is at most its bid. Above it, once the job has run for as long as was found to be worth
 * it, it is paused, and
 *
 *	the price falls, within a second   it was the job's own: goes on, half as long again as before, up to
 *	                                   16 times what finding out took
 *	the price falls, later             others have gone: goes on, for a second at first
 *	it stays high                      stays paused until its share of the time is due, or its patience is over;
 *	                                   then it runs for one slice
 *	there is no price any more         goes on
 *
 * A server that knows of each client says how many operations of others are in flight (protocol/prices.x). Then nothing need be
 * found out: at a price above the bid the job is paused as soon as others come, or more of them than it was found to leave the
 * price low beside, and goes on when they have been gone for a moment. Alone it is still paused now and then, as what else runs on
 * this host or on the server counts for no other client.
 *
 * A server's prices are averages over 2 s (pricing/level.h): to wait until one has reached the bid would cost the job 1.4 s
 * each time that it was its own. So a fall counts, too, that is as fast as that average's would be on its way well below
 * the bid. It must go on: a server that notices a change begins a new average, which falls at once, and then may stay above
 * the bid.
 *
 * Prices may come by a clock, or only when they move (protocol/subscription.h). Silence then means that the last one still
 * holds, and a fall is judged by the prices that came and by when: it has ended if none comes any more.
 *
 * Pure: no I/O, and time is a parameter.
 */
#ifndef CANFS_CANFSCTL_RUN_LAW_H
#define CANFS_CANFSCTL_RUN_LAW_H

#include <stdbool.h>
#include <stdint.h>

struct canfs_govern_terms {
	double bid;      /* a higher price is one to pause at, [0, 1] */
	double at_least; /* share of the time for which the job runs whatever the price, [0, 1] */
	uint64_t patience_usec; /* the longest pause, > 0 */
};

/* 0.5, no share, 30 s. */
extern const struct canfs_govern_terms canfs_govern_defaults;

enum canfs_govern_reason {
	CANFS_GOVERN_START,
	CANFS_GOVERN_HIGH,     /* paused: the price is above the bid */
	CANFS_GOVERN_OTHERS,   /* ... and others have come */
	CANFS_GOVERN_LOW,      /* goes on: it is not */
	CANFS_GOVERN_FALLS,    /* ... it will not be */
	CANFS_GOVERN_GONE,     /* ... others have gone */
	CANFS_GOVERN_SHARE,    /* ... the job's share of the time is due */
	CANFS_GOVERN_PATIENCE, /* ... the longest pause is over */
	CANFS_GOVERN_NO_PRICE, /* ... there is no price */
};

/* A price, [0, 1], and when it came; NAN: there is none. */
struct canfs_govern_price {
	double price;
	uint64_t usec;
	double others; /* operations of other clients in flight; negative: not known */
};

/* Those of the last 0.5 s at least: none but the last is within 80 ms of another. */
#define CANFS_GOVERN_PRICES 8

struct canfs_govern_law {
	struct canfs_govern_terms terms;
	bool is_paused;
	enum canfs_govern_reason reason; /* why it is, or is not */
	uint64_t since_usec;             /* since when */
	uint64_t stepped_usec;
	double slice_sec;  /* the shortest run */
	double run_sec;    /* the job is not paused before it has run so long */
	double owed_sec;   /* that it is to run whatever the price; at least 0 */
	double high_price; /* at which it was paused last; NAN: never */
	double own_price;  /* ... and that proved to be its own; NAN: none did */
	struct canfs_govern_price seen[CANFS_GOVERN_PRICES]; /* in this pause, the last one last */
	unsigned int n_seen;
	double others;        /* as of the last step */
	double bearable;      /* others beside which the price was low without the job; 0: none */
	uint64_t others_usec; /* when others were there last in this pause; 0: they were not */
};

/* The job has just been started. */
void canfs_govern_law_init(
	struct canfs_govern_law *law, const struct canfs_govern_terms *terms, uint64_t now_usec);

/* Is the job to be paused now? Call it with each new price, and when canfs_govern_law_due_usec() has come. */
bool canfs_govern_law_step(
	struct canfs_govern_law *law, struct canfs_govern_price price, uint64_t now_usec);

/* When the next step is due without a new price, the last one being what it was; UINT64_MAX: it is not. */
uint64_t canfs_govern_law_due_usec(const struct canfs_govern_law *law);

/* In words: "the price is above the bid" ... */
const char *canfs_govern_reason_text(enum canfs_govern_reason reason);

#endif
