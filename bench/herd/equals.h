/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Fairness over time (CA-NFS §5): clients that are alike, each with bursts of its own, for as long as it takes that chance
 * evens out. Does the auction let the same ones wait again and again?
 *
 *	client 1  ##......###.......##.     deferred: it holds data, and the verdict is to defer
 *	client 2  ...##......##.###....
 */
#ifndef CANFS_BENCH_HERD_EQUALS_H
#define CANFS_BENCH_HERD_EQUALS_H

#include "bench/herd/model.h"

struct herd_equality {
	/* Of each client, in all: the mean, the least, the most. */
	double deferred_sec, deferred_min_sec, deferred_max_sec;
	/* Jain's index: of that; of the bytes that the server took. 1 if all are 0. */
	double deferred_fairness, served_fairness;
};

/* 0 or the -errno of herd_init(). */
int herd_among_equals(
	const struct herd_setup *setup, unsigned int seconds, struct herd_equality *seen);

#endif
