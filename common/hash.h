/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_COMMON_HASH_H
#define CANFS_COMMON_HASH_H

#include <stdint.h>

/* Returns a hash with full avalanche (the finalizer of MurmurHash3). */
static inline uint64_t canfs_hash(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

#endif
