/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The nominal queue depth of a disk, from measured latency against queue depth.
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
 * The knee is the depth of greatest power = throughput^2 / latency (L. Kleinrock, "Power and
 * deterministic rules of thumb for probabilistic problems in computer communications", ICC 1979;
 * the exponent generalizes it). Power rises with depth while the square of throughput grows by a
 * larger factor than latency, that is, while doubling the depth gains more than 26 % of throughput.
 * Beyond the knee, one more request costs the others more than the disk gains. A single head that
 * serves one request after the other has its knee at 1. Flash has its knee at the number of its
 * channels.
 *
 * The exponent is 2, not 1. The knee of throughput / latency (M/M/1: half utilized) leaves too much
 * of a disk unused if its throughput grows slowly with depth, as on a virtual disk. One virtual
 * disk gives 28,000 reads per second at depth 2, its knee with exponent 1. It gives 71,000 at depth
 * 16, its knee with exponent 2. A single head has its knee at 1 with either exponent.
 */
#ifndef CANFS_PRICING_KNEE_H
#define CANFS_PRICING_KNEE_H

#include <stdbool.h>
#include <stddef.h>

/* Measurement of a closed loop that keeps depth requests queued. All values are greater than 0. */
struct canfs_load_point {
	double depth;
	double per_sec;      /* throughput */
	double latency_usec; /* mean */
};

struct canfs_knee {
	double depth; /* the least of those whose power is the greatest, to 5 % */
	bool at_end;  /* it is the deepest one measured: the disk may take more */
	bool is_flat; /* the first depth had 90 % of the greatest throughput already */
};

/*
 * points: sorted by rising depth, the first at depth 1. Returns 0, -ENODATA for fewer than two
 * points, or -EINVAL if points are not as described above. *knee is set only on 0.
 */
int canfs_knee_find(const struct canfs_load_point *points, size_t count, struct canfs_knee *knee);

/* Returns true if the last point is so far beyond the knee that deeper ones are not needed. */
bool canfs_knee_passed(const struct canfs_load_point *points, size_t count);

#endif
