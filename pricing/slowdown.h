/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How busy is a back end of which nothing but its response times can be seen: GlusterFS, CephFS, an array, a
 * cloud's disk? As delay-based congestion control does it (Brakmo and Peterson, TCP Vegas, JSAC 1995; RFC 6817,
 * LEDBAT): response time over the uncongested best. Two utilizations, of which the larger counts:
 *
 *	delay     what operations took, over what they take when the back end is not congested, less 1. At 1 they
 *	          take twice that: the knee, beyond which a single queue gives no more throughput, but longer
 *	          waits (L. Kleinrock, ICC 1979; pricing/knee.h). It shows what others do to the back end, too.
 *	queue     operations in flight, over how many others double the response time. That is 1 of a single head,
 *	          and a hundred of flash. It does not fall as soon as those that hurt hold back, so that a price
 *	          made of it does not swing.
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
 * How many others double the response time is learned from the operations that met some: each of n others prolongs an
 * operation by a share of its uncongested time, the interference,
 *
 *	interference = sum (response - best) / sum (n * best)       1: one after the other; 0: all side by side
 *
 * over so many operations as would have taken CANFS_INTERFERENCE_SEC one after the other. It compares operations of one workload
 * with each other, and so hardly depends on which workload that is.
 *
 * Pure: no clock, no lock.
 */
#ifndef CANFS_PRICING_SLOWDOWN_H
#define CANFS_PRICING_SLOWDOWN_H

#include <stdint.h>

#define CANFS_QUICK_SEC        0.001
#define CANFS_BEST_MINUTES     10
#define CANFS_BEST_MIN         8 /* a mean of fewer operations is none */
#define CANFS_INTERFERENCE_SEC 300.0

/* Before anything is known: eight others double it, as is usual for a virtual disk (server/monitors/disk_types.c). */
#define CANFS_INTERFERENCE_START 0.125

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

/* Operations of one class that ended in an interval, without the quick ones. */
struct canfs_response_sum {
	double count, sec;       /* and what they took, summed up */
	double alone, alone_sec; /* of these, those that found no other operation in flight */
	double met;              /* other operations in flight that they found, summed up */
};

struct canfs_response_best {
	double minute_sec[CANFS_BEST_MINUTES]; /* mean of those alone; 0: too few */
	double alone, alone_sec;               /* in this minute */
};

struct canfs_slowdown {
	struct canfs_response_best best[CANFS_RESPONSE_CLASSES];
	unsigned int minute; /* its place in minute_sec */
	double minute_sec;   /* how much of it is over */
	/* Of the interference: above and below its line. */
	double prolonged_sec, met_sec;
};

void canfs_slowdown_init(struct canfs_slowdown *slowdown);

/*
 * What came in the last elapsed_sec (> 0); queued: how many operations were in flight, in the mean, without the quick ones.
 * Returns the utilization, in [0, 1].
 */
double canfs_slowdown_step(struct canfs_slowdown *slowdown,
	const struct canfs_response_sum sums[CANFS_RESPONSE_CLASSES], double queued,
	double elapsed_sec);

/* [1 / 1024, 1] */
double canfs_slowdown_interference(const struct canfs_slowdown *slowdown);

/* Uncongested best of a class, in seconds; 0: not known. */
double canfs_slowdown_best(const struct canfs_slowdown *slowdown, unsigned int class);

#endif
