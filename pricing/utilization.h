/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Time-averaged utilization (CA-NFS §3.3: "we monitor the average network bandwidth over a few
 * hundreds of milliseconds"). Without averaging, a link is at 0 or at 1 and its price flaps.
 *
 * The average is exponential with a time constant: weight of a sample = 1 - exp(-elapsed / tau). It
 * therefore does not depend on how regularly the sampler runs.
 */
#ifndef CANFS_PRICING_UTILIZATION_H
#define CANFS_PRICING_UTILIZATION_H

#include <stdbool.h>

struct canfs_average {
	double tau_sec; /* time constant; 0: no averaging */
	double value;   /* the average so far; 0 before the first sample */
	bool primed;    /* there was a first sample; it sets the value */
};

void canfs_average_init(struct canfs_average *average, double tau_sec);

/*
 * Adds a sample for the last elapsed_sec seconds. Returns the new average. Ignores NaN and infinite
 * samples, and elapsed_sec <= 0, because a stopped clock gives no information.
 */
double canfs_average_add(struct canfs_average *average, double sample, double elapsed_sec);

#endif
