/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A cursor that is still LEARNING where its reader goes (cursor.h). Its bitmap is a window around
 * its reads that slides with them. A bit stands for as many bytes as a read has.
 *
 *	reads 5 4 6 8 7 in order of arrival     ..1 1 1 1 1..   no holes; beyond all earlier reads: 4 below,
 *	                                                        6 and 8 above
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_LEARN_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_LEARN_H

#include "ganesha-fsal/read/prefetch/cursor.h"

#define CANFS_PAGE_BYTES    4096u
#define CANFS_GAP_PART      16u /* a gap of at most step / CANFS_GAP_PART is ignored */
#define CANFS_POSITION_ZERO ((uint64_t)1 << 62) /* of offset 0 */

/* Internals of cursors. Positions are those of an ascending reader. */
/*
 * Takes a read while LEARNING. Returns the bytes that are found to be read in sequence: not 0 only
 * once, when the cursor has learned its way.
 */
uint32_t canfs_learn(
	struct canfs_cursor *cursor, uint64_t position, uint32_t bytes, uint32_t reach_bytes);

/*
 * Returns how far from the expected read a read may be, in bytes of reads: 1.5 x reach_bytes,
 * clamped to 36 ... 48 of the bitmap's 64 reads. The extra half lets reads match that are beyond
 * those that wait.
 */
static inline uint64_t canfs_cursor_reach(uint32_t span, uint32_t reach_bytes)
{
	uint64_t reach = reach_bytes + (uint64_t)reach_bytes / 2, least = 36 * (uint64_t)span;

	if (reach < least)
		return least;
	return reach < 48 * (uint64_t)span ? reach : 48 * (uint64_t)span;
}

/*
 * Returns the distance from the last read. CANFS_POSITION_ZERO is added so that a cursor that knows
 * its way is preferred.
 */
static inline uint64_t canfs_learn_distance(
	const struct canfs_cursor *cursor, uint64_t position, uint32_t reach_bytes)
{
	uint64_t away = position > cursor->last ? position - cursor->last : cursor->last - position;

	return away < canfs_cursor_reach(cursor->span, reach_bytes) ? CANFS_POSITION_ZERO + away
								    : UINT64_MAX;
}

/* Raises the tolerance to `reads`, but at most to two thirds of the reach. */
void canfs_cursor_widen(struct canfs_cursor *cursor, uint64_t reads, uint32_t reach_bytes);

/*
 * Returns the steps (bit i: at base + i * step) whose span's middle lies in [begin, end). A step
 * thus also counts as read by reads that are smaller, larger, or begin elsewhere.
 */
uint64_t canfs_cursor_middles(
	uint64_t base, uint64_t step, uint32_t span, uint64_t begin, uint64_t end);

/* Returns the offset of the last read. */
static inline uint64_t canfs_learn_offset(const struct canfs_cursor *cursor)
{
	return cursor->last - CANFS_POSITION_ZERO;
}

/* Scales the bits to reads of `bytes`, within a factor of two, but never below a page. */
void canfs_cursor_rescale(struct canfs_cursor *cursor, uint32_t bytes);

#endif
