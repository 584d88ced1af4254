/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Fetches in order of arrival, and in order of their place on the device: what policies are made of. */
#ifndef CANFS_GANESHA_FSAL_SCHEDULER_SORTED_H
#define CANFS_GANESHA_FSAL_SCHEDULER_SORTED_H

#include "ganesha-fsal/scheduler/fetch.h"

/* A tree of one file; it need not use all that it gets. */
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
