/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Time-averaged utilization (CA-NFS §3.3: "we monitor the average network bandwidth over
 * a few hundreds of milliseconds"; without it a link is at 0 or at 1, and its price
 * flaps).
 *
 * An exponential average with a time constant, so that it does not depend on how
 * regularly the sampler runs: weight of a sample = 1 - exp(-elapsed / tau).
 */
#ifndef CANFS_PRICING_UTILIZATION_H
#define CANFS_PRICING_UTILIZATION_H

#include <stdbool.h>

struct canfs_average {
	double tau_sec; /* time constant; 0 = no averaging */
	double value;   /* the average so far; 0 before the first sample */
	bool primed;    /* the first sample is taken as it is */
};

void canfs_average_init(struct canfs_average *average, double tau_sec);

/*
 * Adds a sample that stands for the last elapsed_sec seconds (<= 0: the sample is
 * ignored, a clock that stands still carries no news; NaN and infinite samples are
 * ignored too). Returns the new average.
 */
double canfs_average_add(struct canfs_average *average, double sample, double elapsed_sec);

#endif
