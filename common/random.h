/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_COMMON_RANDOM_H
#define CANFS_COMMON_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include "common/clock.h"

/*
 * Fills bytes with the best random bytes available without blocking. Before the kernel has any,
 * this is only the current time.
 */
static inline void canfs_random(void *bytes, size_t len)
{
	uint64_t now = canfs_now_usec();

	if (getrandom(bytes, len, GRND_NONBLOCK) != (ssize_t)len)
		memcpy(bytes, &now, len < sizeof(now) ? len : sizeof(now));
}

#endif
