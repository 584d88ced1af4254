/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_GANESHA_FSAL_WITHIN_H
#define CANFS_GANESHA_FSAL_WITHIN_H

#include <stdbool.h>
#include <stdint.h>

/* Of a thread that has looked at the clock before another did, since_usec is later than now. */
static inline bool canfs_is_within(uint64_t since_usec, uint64_t usec, uint64_t now_usec)
{
	return now_usec < since_usec + usec;
}

#endif
