/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_WITHIN_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_WITHIN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * since_usec may be later than now_usec, because another thread may have read the clock after the
 * caller did.
 */
static inline bool canfs_is_within(uint64_t since_usec, uint64_t usec, uint64_t now_usec)
{
	return now_usec < since_usec + usec;
}

#endif
