/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Fairness over time (CA-NFS §5). Equal clients, each with bursts of its own, run long enough for
 * chance to even out. Does the auction make the same clients wait again and again?
 *
 *	client 1  ##......###.......##.     deferred: it holds data, and the verdict is to defer
 *	client 2  ...##......##.###....
 */
#ifndef CANFS_BENCH_HERD_EQUALS_H
#define CANFS_BENCH_HERD_EQUALS_H

#include "bench/herd/model.h"

struct herd_equality {
	/* Time deferred by a client: mean, minimum, maximum over all clients. */
	double deferred_sec, deferred_min_sec, deferred_max_sec;
	/*
	 * Jain's index of the time deferred, and of the bytes that the server took. 1 if all are 0.
	 */
	double deferred_fairness, served_fairness;
};

/* Returns 0, or the -errno of herd_init(). */
int herd_among_equals(
	const struct herd_setup *setup, unsigned int seconds, struct herd_equality *seen);

#endif
