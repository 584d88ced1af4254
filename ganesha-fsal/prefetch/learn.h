/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A cursor that does not know yet where its reader goes (cursor.h). Its bitmap is a window around its reads that
 * slides with them; its bits are as large as a read.
 *
 *	reads 5 4 6 8 7 in order of arrival     ..1 1 1 1 1..   no holes, and beyond what was read before: 4 is
 *	                                                        below, 6 and 8 are above
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_LEARN_H
#define CANFS_GANESHA_FSAL_PREFETCH_LEARN_H

#include "ganesha-fsal/prefetch/cursor.h"

#define CANFS_PAGE_BYTES    4096u
#define CANFS_GAP_PART      16u /* a gap is none if it is less than this part of the step */
#define CANFS_POSITION_ZERO ((uint64_t)1 << 62) /* of offset 0 */

/* The inside of cursors. Positions are those of a reader that goes up. */
/* Bytes that are found to be read in sequence: once, when the cursor has learnt. */
uint32_t canfs_learn(
	struct canfs_cursor *cursor, uint64_t position, uint32_t bytes, uint32_t reach_bytes);

/*
 * How far from the expected one a read may be, in bytes of reads: half as far again as reach_bytes, so that reads that
 * go on beyond those that wait are still known; but 36 to 48 reads, of a bitmap of 64.
 */
static inline uint64_t canfs_cursor_reach(uint32_t span, uint32_t reach_bytes)
{
	uint64_t reach = reach_bytes + (uint64_t)reach_bytes / 2, least = 36 * (uint64_t)span;

	if (reach < least)
		return least;
	return reach < 48 * (uint64_t)span ? reach : 48 * (uint64_t)span;
}

/* From its last read. A cursor that knows its way goes before. */
static inline uint64_t canfs_learn_distance(
	const struct canfs_cursor *cursor, uint64_t position, uint32_t reach_bytes)
{
	uint64_t away = position > cursor->last ? position - cursor->last : cursor->last - position;

	return away < canfs_cursor_reach(cursor->span, reach_bytes) ? CANFS_POSITION_ZERO + away
								    : UINT64_MAX;
}

/* At least so many reads may wait, but for two thirds of the reach. */
void canfs_cursor_widen(struct canfs_cursor *cursor, uint64_t reads, uint32_t reach_bytes);

/*
 * The steps (bit i: at base + i * step) whose span's middle lies in [begin, end): that is how a step is read by reads
 * that are smaller, larger, or begin elsewhere.
 */
uint64_t canfs_cursor_middles(
	uint64_t base, uint64_t step, uint32_t span, uint64_t begin, uint64_t end);

/* Where its last read began. */
static inline uint64_t canfs_learn_offset(const struct canfs_cursor *cursor)
{
	return cursor->last - CANFS_POSITION_ZERO;
}

/* Bits as large as reads of so many bytes, within a factor of two; never below a page. */
void canfs_cursor_rescale(struct canfs_cursor *cursor, uint32_t bytes);

#endif
