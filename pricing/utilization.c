// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/utilization.h"

#include <math.h>

void canfs_average_init(struct canfs_average *average, double tau_sec)
{
	*average = (struct canfs_average) { .tau_sec = tau_sec };
}

double canfs_average_add(struct canfs_average *average, double sample, double elapsed_sec)
{
	double weight;

	if (!isfinite(sample) || !(elapsed_sec > 0.0))
		return average->value;

	if (average->primed && average->tau_sec > 0.0)
		weight = -expm1(-elapsed_sec / average->tau_sec);
	else
		weight = 1.0;

	/* A weighted mean cannot overflow. value += weight * difference could. */
	average->value = weight * sample + (1.0 - weight) * average->value;
	average->primed = true;
	return average->value;
}
