/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_COMMON_COUNTER_H
#define CANFS_COMMON_COUNTER_H

#include <stdint.h>

/*
 * Returns the increase of a counter. Returns 0 if the counter ran backwards, because a device or
 * mount was replaced or the counter was reset. Also used for what is left of a capacity, as a difference that is never below 0.
 */
static inline uint64_t canfs_growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

#endif
