/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How busy is a back end of which nothing but its response times can be seen: GlusterFS, CephFS, an array, a
 * cloud's disk? As delay-based congestion control does it (Brakmo and Peterson, TCP Vegas, JSAC 1995; RFC 6817,
 * LEDBAT): response time over the uncongested best. Two utilizations, of which the larger counts:
 *
 *	delay     what operations took, over what they take when the back end is not congested, less 1. At 1 they
 *	          take twice that: the knee, beyond which a single queue gives no more throughput, but longer
 *	          waits (L. Kleinrock, ICC 1979; pricing/knee.h). It shows what others do to the back end, too.
 *	queue     operations in flight, over as many as the back end takes, its nominal depth. It does not fall as soon
 *	          as those that hurt hold back, so that a price made of it does not swing.
 *
 * The uncongested best of a class of operations (its kind, and the octave of its size) is what those took that found
 * no other operation in flight: the least mean of the minutes of the last CANFS_BEST_MINUTES. A mean, since what an operation
 * takes of itself differs; the least, since what else goes on at the back end is no less than nothing; of minutes that end,
 * since workloads change, as does the back end. Until there is one, the class has no say. Commits
 * never have: what one takes depends on what was written before. But it is another operation in flight.
 *
 * What took less than CANFS_QUICK_SEC came from memory, or from flash that has nothing else to do: it tells nothing of a queue
 * for which a price would matter, and is left out. So a workload that turns from cached to uncached reads does not look
 * congested.
 *
 * The nominal depth is the knee of the back end (pricing/knee.h), which is learned from the operations that found others: what they
 * took, over the uncongested best, for each octave of how many others there were. It compares operations of one workload with each
 * other, and so hardly depends on which workload that is. Until enough found others the depth is 1, as of a single head: where it is in fact a
 * hundred, as of flash, the first ones that others come in between tell.
 *
 * Pure: no clock, no lock.
 */
#ifndef CANFS_PRICING_SLOWDOWN_H
#define CANFS_PRICING_SLOWDOWN_H

#include <stdint.h>

#define CANFS_QUICK_SEC    0.001
#define CANFS_BEST_MINUTES 10
#define CANFS_BEST_MIN     8 /* a mean of fewer operations is none */

/* Of what is known of one octave of others: operations that take so long by themselves; less than the first tells nothing. */
#define CANFS_DEPTH_MIN_SEC 0.5
#define CANFS_DEPTH_MAX_SEC 60.0

enum canfs_response_kind {
	CANFS_RESPONSE_READ,
	CANFS_RESPONSE_WRITE,
	CANFS_RESPONSE_STABLE_WRITE,
	CANFS_RESPONSE_KINDS
};

/* Up to 4 KiB, 8 KiB, ..., 512 KiB, and more. */
#define CANFS_RESPONSE_OCTAVES 9
#define CANFS_RESPONSE_CLASSES (CANFS_RESPONSE_KINDS * CANFS_RESPONSE_OCTAVES)

/* In [0, CANFS_RESPONSE_CLASSES). */
unsigned int canfs_response_class(enum canfs_response_kind kind, uint64_t bytes);

/* How many others an operation found in flight: none, 1, 2 ... 3, 4 ... 7, ..., 64 and more. */
#define CANFS_OTHERS_OCTAVES 8

/* In [0, CANFS_OTHERS_OCTAVES). */
unsigned int canfs_others_octave(unsigned int others);

/* Operations of one class that ended in an interval, by how many others they found, without the quick ones. */
struct canfs_response_sum {
	double count[CANFS_OTHERS_OCTAVES];
	double sec[CANFS_OTHERS_OCTAVES]; /* what they took, summed up */
};

struct canfs_response_best {
	double minute_sec[CANFS_BEST_MINUTES]; /* mean of those alone; 0: too few */
	double alone, alone_sec;               /* in this minute */
};

struct canfs_slowdown {
	struct canfs_response_best best[CANFS_RESPONSE_CLASSES];
	unsigned int minute; /* its place in minute_sec */
	double minute_sec;   /* how much of it is over */
	/* Of those that found so many others, recently: what they took, and would have taken alone. */
	double took_sec[CANFS_OTHERS_OCTAVES], best_sec[CANFS_OTHERS_OCTAVES];
};

void canfs_slowdown_init(struct canfs_slowdown *slowdown);

/*
 * What came in the last elapsed_sec (> 0); queued: how many operations were in flight, in the mean, without the quick ones.
 * Returns the utilization, in [0, 1].
 */
double canfs_slowdown_step(struct canfs_slowdown *slowdown,
	const struct canfs_response_sum sums[CANFS_RESPONSE_CLASSES], double queued,
	double elapsed_sec);

/* The nominal depth, >= 1. */
double canfs_slowdown_depth(const struct canfs_slowdown *slowdown);

/* Uncongested best of a class, in seconds; 0: not known. */
double canfs_slowdown_best(const struct canfs_slowdown *slowdown, unsigned int response_class);

#endif
