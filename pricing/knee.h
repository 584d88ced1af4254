/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A disk's nominal queue depth, and its k, from measured latency against queue depth.
 *
 *	 throughput                        latency
 *	 X |         _____________         R |               /
 *	   |       / .                       |             /
 *	   |     /   .                       |           / .
 *	   |   /     .                       |---------'   .
 *	   | /       .                       |         .   .
 *	   +---------+------------- depth    +---------+------------ depth
 *	            knee                              knee
 *
 * Knee: the depth of greatest power = throughput^2 / latency (L. Kleinrock, "Power and deterministic
 * rules of thumb for probabilistic problems in computer communications", ICC 1979; the exponent
 * generalizes it). Going deeper raises the power only while the square of throughput grows by a
 * larger factor than latency does, that is while doubling the depth gains over 26 %: beyond the knee a
 * further request costs the others more than the disk gains by it. One head that serves one
 * request after the other has its knee at 1; flash at the number of its channels.
 *
 * Not the first power: its knee (M/M/1: half utilized) leaves too much of a disk unused whose
 * throughput grows slowly with depth, as of a virtual one: 28,000 reads a second at its knee of 2,
 * where it gives 71,000 at the knee of the second power, 16. A head stays at 1 with either.
 *
 * k "represents the performance degradation experienced by the end user as the resource becomes
 * congested" (CA-NFS §3.2). So the price is to rise as the latency does that a request finds when q
 * others are queued, at utilization u = q / knee:
 *
 *	d(u) = (R(1 + u knee) - R(1)) / (max(R(1 + knee), 2 R(1)) - R(1))
 *
 * and k is the one whose price curve has the same area below it from 0 to 1 as d: 1/ln k - 1/(k-1)
 * (an area, since single latencies are noisy). Where each request interferes with all the others
 * d is a straight line and k the least; where they run side by side until the knee k is great.
 */
#ifndef CANFS_PRICING_KNEE_H
#define CANFS_PRICING_KNEE_H

#include <stdbool.h>
#include <stddef.h>

/* What a closed loop that keeps depth requests queued has measured; all greater than 0. */
struct canfs_load_point {
	double depth;
	double per_sec;      /* throughput */
	double latency_usec; /* mean */
};

/*
 * Bounds of the calibrated k. 2 is the least that Ganesha's configuration takes; the other is the
 * network's, of which the paper says that none suffers later from load.
 */
#define CANFS_KNEE_K_MIN 2.0
#define CANFS_KNEE_K_MAX 64.0

struct canfs_knee {
	double depth; /* the least of those whose power is the greatest, to 5 % */
	double k;     /* [CANFS_KNEE_K_MIN, CANFS_KNEE_K_MAX] */
	bool at_end;  /* it is the deepest one measured: the disk may take more */
	bool is_flat; /* the first depth had 90 % of the greatest throughput already */
};

/*
 * points: by rising depth, the first at depth 1. Returns 0; -ENODATA for less than two points;
 * -EINVAL if they are not as said above (*knee is then unchanged).
 */
int canfs_knee_find(const struct canfs_load_point *points, size_t count, struct canfs_knee *knee);

/* Is the last of the points so far beyond the knee that deeper ones need not be measured? */
bool canfs_knee_passed(const struct canfs_load_point *points, size_t count);

#endif
