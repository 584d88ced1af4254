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

/* Where a sweep is: at this place, that of the last one it served. Zeroed: at the start of the device. */
struct canfs_head {
	uint64_t address, serial;
};

/* Negative, 0, positive: the fetch lies before the head, under it, past it. */
int canfs_past_head(const struct canfs_fetch *fetch, struct canfs_head head);

/* C-LOOK: the first one past the head, else the lowest. NULL: empty. */
struct canfs_fetch *canfs_next_of_sweep(struct canfs_by_place *waiting, struct canfs_head head);

static inline struct canfs_head canfs_head_at(const struct canfs_fetch *fetch)
{
	return (struct canfs_head) { fetch->address, fetch->serial };
}

static inline uint64_t canfs_fetch_own_bytes(const struct canfs_fetch *fetch)
{
	return fetch->to - fetch->from;
}

#endif
