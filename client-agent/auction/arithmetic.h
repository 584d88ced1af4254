/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Arithmetic on byte counts and counters, which a double cannot represent exactly. */
#ifndef CANFS_CLIENT_AGENT_AUCTION_ARITHMETIC_H
#define CANFS_CLIENT_AGENT_AUCTION_ARITHMETIC_H

#include <stdint.h>
#include "common/counter.h"

static inline uint64_t canfs_smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t canfs_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
