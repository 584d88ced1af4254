/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The order in which a reader asks for the blocks of its file: the patterns of Ellard & Seltzer
 * 2003.
 *
 *	sequential    0 1 2 3 ...
 *	backwards     n-1 n-2 ... 0
 *	random        each block once
 *	stride-S      S interleaved sequential streams (§7, Table 1); with x = n/S: 0 x 2x ... 1 x+1 ...
 *	swap-P        sequential, but P % of the blocks are out of order by one place (§6)
 *	shuffle-W     sequential, but each W blocks are in random order, as if read by many threads
 *	one-of-N      every N-th block
 */
#ifndef CANFS_BENCH_JOBS_ORDER_H
#define CANFS_BENCH_JOBS_ORDER_H

#include <stdint.h>

#define CANFS_ORDER_PATTERNS "sequential, backwards, random, stride-S, swap-P, shuffle-W, one-of-N"

struct canfs_order {
	uint64_t *block; /* freed by the caller */
	uint64_t count;
};

/*
 * Makes the order for a file of this many blocks. Random patterns depend only on the seed. S, W, N:
 * 1 ... 2^20; P: 1 ... 100. Returns 0, -EINVAL for an unknown pattern, or -ENOMEM. Sets *order only
 * if it returns 0.
 */
int canfs_order_make(
	const char *pattern, uint64_t blocks, uint64_t seed, struct canfs_order *order);

#endif
