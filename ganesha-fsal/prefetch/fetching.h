/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is being fetched of a file, and what of it is there: for read.c.
 *
 *	begin() --> queue() --> engine ----.
 *	       `--> read inline by a worker --> end() --> the read that wanted it: arrived()
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_FETCHING_H
#define CANFS_GANESHA_FSAL_PREFETCH_FETCHING_H

#include "ganesha-fsal/prefetch/prefetcher.h"

/* What is fetched is rounded to; a larger page is fetched whole anyway. */
#define CANFS_FETCH_PAGE_BYTES ((uint64_t)4096)

/* How many of these bytes a file of file_bytes has; and the file, as large as it is now. */
uint64_t canfs_clip(uint64_t offset, uint64_t bytes, uint64_t file_bytes);
uint64_t canfs_clip_now(struct canfs_open_file *file, uint64_t offset, uint64_t bytes);

/* Is it served past the page cache? Then no page of it is ever worth waiting for. */
bool canfs_is_uncached(const struct canfs_open_file *file);

/* How often a resident file of the device was found not to be (residency.h). */
unsigned int canfs_residency_age(const struct canfs_open_file *file);

/* In the page cache, maybe still on its way there; is any of it on its way; all there. */
bool canfs_range_is_resident(struct canfs_open_file *file, uint64_t offset, uint64_t bytes);
bool canfs_range_is_in_flight(struct canfs_open_file *file, uint64_t offset, uint64_t bytes);
bool canfs_range_is_there(struct canfs_open_file *file, uint64_t offset, uint64_t bytes);

/*
 * From now on it is in flight, for the read, or (NULL) ahead for that cursor; at most CANFS_FETCH_BYTES_MAX, from a
 * page's beginning. queue() or end() is to follow, which may both call read->arrived() at once. NULL: no memory, or
 * export_fs drains.
 */
struct canfs_fetch *canfs_fetching_begin(struct canfs_open_file *file, uint64_t offset,
	uint64_t bytes, uint32_t cursor, struct canfs_read *read);
void canfs_fetching_queue(struct canfs_fetch *fetch);
void canfs_fetching_end(struct canfs_fetch *fetch, int error);

/* What of the advice is not there yet. */
uint64_t canfs_fetching_ahead(struct canfs_open_file *file, const struct canfs_advice *advice);

/* read.c: one of the fetches that the read waits for has ended; read->arrived. */
void canfs_read_arrived(struct canfs_read *read);

#endif
