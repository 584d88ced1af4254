/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Read-ahead confidence (CA-NFS §3.3, "Client Read-Ahead Effectiveness"): of what was fetched, how
 * much did the application read? 1: every byte was wanted; 0: all of it in vain.
 */
#ifndef CANFS_PRICING_CONFIDENCE_H
#define CANFS_PRICING_CONFIDENCE_H

#include <stdint.h>
#include "pricing/utilization.h"

/* Before there is evidence, read-ahead gets the benefit of the doubt. */
#define CANFS_CONFIDENCE_START 1.0

/* Fetching less than this in an interval is no evidence. */
#define CANFS_CONFIDENCE_MIN_BYTES (256 << 10)

struct canfs_confidence {
	struct canfs_average average; /* in [0, 1] */
};

void canfs_confidence_init(struct canfs_confidence *confidence, double tau_sec);

/*
 * used_bytes: read by applications through the cache in the last elapsed_sec seconds; fetched_bytes:
 * read from the server for that. Returns the confidence, in [0, 1].
 */
double canfs_confidence_add(struct canfs_confidence *confidence, uint64_t used_bytes,
	uint64_t fetched_bytes, double elapsed_sec);

#endif
