/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The utilization of a back end that shows nothing but its response times: GlusterFS, CephFS, an
 * array, a cloud disk. As in delay-based congestion control (Brakmo and Peterson, TCP Vegas, JSAC
 * 1995; RFC 6817, LEDBAT), response time is compared with the uncongested best. The larger of two
 * utilizations counts:
 *
 *	delay     response time over the uncongested best, minus 1. At 1, operations take twice as
 *	          long as without congestion. This is the knee: beyond it, a single queue gives no more
 *	          throughput, only longer waits (L. Kleinrock, ICC 1979; pricing/knee.h). It also
 *	          shows the load that others put on the back end.
 *	queue     operations in flight over the nominal depth of the back end. It does not drop as soon
 *	          as the clients that cause the load hold back, so a price based on it does not
 *	          oscillate.
 *
 * The uncongested best is kept per class of operations: their kind and the octave of their size. It
 * covers only operations that found no other operation in flight. It is the smallest per-minute
 * mean of the last CANFS_BEST_MINUTES:
 *
 *	mean      because the service time itself varies
 *	smallest  because other load on the back end only adds to the time
 *	last      because workloads and back ends change
 *
 * A class without a best is not counted. Commits have no class, because the time of a commit
 * depends on what was written before. A commit still counts as an operation in flight.
 *
 * Operations faster than CANFS_QUICK_SEC are left out. They were served from memory or from idle
 * flash, and say nothing about a queue for which a price would matter. A workload that turns from
 * cached to uncached reads therefore does not look congested.
 *
 * The nominal depth is the knee of the back end (pricing/knee.h). It is learned from operations
 * that found others in flight: their response time over the uncongested best, for each octave of
 * the number of others. Only operations of one workload are compared with each other, so the depth
 * hardly depends on the workload. Until enough operations found others, the depth is 1, as for a
 * single head. If it is really a hundred, as for flash, the first operations that overlap show
 * this.
 *
 * No clock, no lock.
 */
#ifndef CANFS_PRICING_SLOWDOWN_H
#define CANFS_PRICING_SLOWDOWN_H

#include <stdint.h>

#define CANFS_QUICK_SEC    0.001
#define CANFS_BEST_MINUTES 10
#define CANFS_BEST_MIN     8 /* a mean of fewer operations is not used */

/*
 * Uncongested time of the operations of one octave of others, in total. An octave with less than
 * the minimum is not used. Above the maximum, older operations are faded out.
 */
#define CANFS_DEPTH_MIN_SEC 0.5
#define CANFS_DEPTH_MAX_SEC 60.0

enum canfs_response_kind {
	CANFS_RESPONSE_READ,
	CANFS_RESPONSE_WRITE,
	CANFS_RESPONSE_STABLE_WRITE,
	CANFS_RESPONSE_KINDS
};

/* Octaves of size: up to 4 KiB, 8 KiB, ..., 512 KiB, and more. */
#define CANFS_RESPONSE_OCTAVES 9
#define CANFS_RESPONSE_CLASSES (CANFS_RESPONSE_KINDS * CANFS_RESPONSE_OCTAVES)

/* Returns the class, in [0, CANFS_RESPONSE_CLASSES). */
unsigned int canfs_response_class(enum canfs_response_kind kind, uint64_t bytes);

/* Octaves of the number of other operations in flight: none, 1, 2 ... 3, 4 ... 7, ..., 64 and more. */
#define CANFS_OTHERS_OCTAVES 8

/* Returns the octave, in [0, CANFS_OTHERS_OCTAVES). */
unsigned int canfs_others_octave(unsigned int others);

/*
 * Operations of one class that ended in an interval, by the number of others that they found in
 * flight. Operations faster than CANFS_QUICK_SEC are left out.
 */
struct canfs_response_sum {
	double count[CANFS_OTHERS_OCTAVES];
	double sec[CANFS_OTHERS_OCTAVES]; /* sum of response times */
};

struct canfs_response_best {
	double minute_sec[CANFS_BEST_MINUTES]; /* mean of operations that were alone; 0: too few */
	double alone, alone_sec;               /* in the current minute */
};

struct canfs_slowdown {
	struct canfs_response_best best[CANFS_RESPONSE_CLASSES];
	unsigned int minute; /* the current minute's index in canfs_response_best.minute_sec */
	double minute_sec;   /* elapsed in the current minute */
	/*
	 * Recent operations, by octave of others: their response times, and their uncongested
	 * times.
	 */
	double took_sec[CANFS_OTHERS_OCTAVES], best_sec[CANFS_OTHERS_OCTAVES];
};

void canfs_slowdown_init(struct canfs_slowdown *slowdown);

/*
 * sums: operations that ended in the last elapsed_sec (> 0), one entry per class. queued: mean
 * number of operations in flight, without those faster than CANFS_QUICK_SEC. Returns the
 * utilization, in [0, 1].
 */
double canfs_slowdown_step(struct canfs_slowdown *slowdown,
	const struct canfs_response_sum sums[CANFS_RESPONSE_CLASSES], double queued,
	double elapsed_sec);

/* Returns the nominal depth, >= 1. */
double canfs_slowdown_depth(const struct canfs_slowdown *slowdown);

/* Returns the uncongested best of a class, in seconds; 0: not known. */
double canfs_slowdown_best(const struct canfs_slowdown *slowdown, unsigned int response_class);

#endif
