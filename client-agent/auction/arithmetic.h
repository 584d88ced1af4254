/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Arithmetic of byte counts and counters, which do not fit a double. */
#ifndef CANFS_CLIENT_AGENT_AUCTION_ARITHMETIC_H
#define CANFS_CLIENT_AGENT_AUCTION_ARITHMETIC_H

#include <stdint.h>

static inline uint64_t canfs_smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t canfs_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Of a counter; 0 if it ran backwards (another mount took the place). Also what is left of a capacity. */
static inline uint64_t canfs_growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

#endif
