/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Trees of fetches, by arrival and by place on the device. Policies are built from them. */
#ifndef CANFS_GANESHA_FSAL_READ_SCHEDULER_SORTED_H
#define CANFS_GANESHA_FSAL_READ_SCHEDULER_SORTED_H

#include "ganesha-fsal/read/scheduler/fetch.h"

/* A tree that is private to one source file, which need not use all generated functions. */
#define CANFS_RB(name, type, field, compare)                                                       \
	RB_GENERATE_INTERNAL(name, type, field, compare, __attribute__((unused)) static)

RB_HEAD(canfs_by_arrival, canfs_fetch);
RB_PROTOTYPE(canfs_by_arrival, canfs_fetch, by_place, )

RB_HEAD(canfs_by_place, canfs_fetch);
RB_PROTOTYPE(canfs_by_place, canfs_fetch, by_place, )

static inline uint64_t canfs_fetch_own_bytes(const struct canfs_fetch *fetch)
{
	return fetch->to - fetch->from;
}

#endif
