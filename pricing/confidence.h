/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Read-ahead confidence (CA-NFS §3.3, "Client Read-Ahead Effectiveness"): the share of the fetched
 * bytes that applications read. 1: all were wanted. 0: all were fetched in vain.
 */
#ifndef CANFS_PRICING_CONFIDENCE_H
#define CANFS_PRICING_CONFIDENCE_H

#include <stdint.h>
#include "pricing/utilization.h"

/* Initial value: without evidence, read-ahead is assumed to be useful. */
#define CANFS_CONFIDENCE_START 1.0

/* An interval in which less than this was fetched is ignored. */
#define CANFS_CONFIDENCE_MIN_BYTES (256 << 10)

struct canfs_confidence {
	struct canfs_average average; /* in [0, 1] */
};

void canfs_confidence_init(struct canfs_confidence *confidence, double tau_sec);

/*
 * used_bytes: read by applications through the cache in the last elapsed_sec seconds.
 * fetched_bytes: read from the server for this. Returns the confidence, in [0, 1].
 */
double canfs_confidence_add(struct canfs_confidence *confidence, uint64_t used_bytes,
	uint64_t fetched_bytes, double elapsed_sec);

#endif
