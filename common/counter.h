/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_COMMON_COUNTER_H
#define CANFS_COMMON_COUNTER_H

#include <stdint.h>

/* Increase of a counter; 0 if it ran backwards (a device or mount was replaced, a counter reset). Also the rest of a capacity. */
static inline uint64_t canfs_growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

#endif
