// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/confidence.h"

void canfs_confidence_init(struct canfs_confidence *confidence, double tau_sec)
{
	canfs_average_init(&confidence->average, tau_sec);
	confidence->average.value = CANFS_CONFIDENCE_START;
	confidence->average.primed = true;
}

double canfs_confidence_add(struct canfs_confidence *confidence, uint64_t used_bytes,
	uint64_t fetched_bytes, double elapsed_sec)
{
	if (fetched_bytes < CANFS_CONFIDENCE_MIN_BYTES)
		return confidence->average.value;

	/* If pages were read again from the cache, used > fetched. Nothing was wasted then. */
	double ratio = used_bytes < fetched_bytes ? (double)used_bytes / (double)fetched_bytes : 1;
	return canfs_average_add(&confidence->average, ratio, elapsed_sec);
}
