/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The pieces of a file that are in flight, and which of its bytes are in the page cache. For
 * submit.c.
 *
 *	begin() --> queue() --> engine ----.
 *	       `--> read inline by a worker --> end() --> canfs_read_fetch_ended()
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_FETCHING_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_FETCHING_H

#include "ganesha-fsal/read/prefetch/prefetcher.h"

/* Fetches are rounded to this size. The kernel fetches a larger page whole anyway. */
#define CANFS_FETCH_PAGE_BYTES ((uint64_t)4096)

/*
 * Returns how many of these bytes lie within a file of file_bytes, or within the file at its
 * current size.
 */
uint64_t canfs_clip(uint64_t offset, uint64_t bytes, uint64_t file_bytes);
uint64_t canfs_clip_now(struct canfs_open_file *file, uint64_t offset, uint64_t bytes);

/* True if the file is served past the page cache. No page of it is then worth waiting for. */
bool canfs_is_uncached(const struct canfs_open_file *file);

/* Returns how often a resident file of the device was found evicted (residency.h). */
unsigned int canfs_residency_age(const struct canfs_open_file *file);

/*
 * is_resident: all of the range is in the page cache, or perhaps still being read into it.
 * is_in_flight: a piece that overlaps the range is in flight. is_there: resident, and not in
 * flight.
 */
bool canfs_range_is_resident(struct canfs_open_file *file, uint64_t offset, uint64_t bytes);
bool canfs_range_is_in_flight(struct canfs_open_file *file, uint64_t offset, uint64_t bytes);
bool canfs_range_is_there(struct canfs_open_file *file, uint64_t offset, uint64_t bytes);

/*
 * Marks the range as in flight, for `read`, or (read NULL) as prefetch for `cursor`. The range
 * begins at a page and has at most CANFS_FETCH_BYTES_MAX bytes. The caller must then call queue()
 * or end(); both may call canfs_read_fetch_ended() before they return. NULL: no memory, or export_fs drains.
 */
struct canfs_fetch *canfs_fetching_begin(struct canfs_open_file *file, uint64_t offset,
	uint64_t bytes, uint32_t cursor, struct canfs_read *read);
bool canfs_fetching_queue(struct canfs_fetch *fetch); /* false: refused, and ended */
void canfs_fetching_end(struct canfs_fetch *fetch, int error);

/* Queues the part of the advice that is not in the page cache. Returns its bytes. */
uint64_t canfs_fetching_ahead(struct canfs_open_file *file, const struct canfs_advice *advice);

/* submit.c: one of the fetches that the read waits for has ended. */
void canfs_read_fetch_ended(struct canfs_read *read);

#endif
