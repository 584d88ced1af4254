// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/learn.h"

#define MIDDLE 32u /* bit of the first read in the window */

/* How many reads a cursor needs to learn its way: */
#define LEARNT_READS   3  /* in a line */
#define LEARNT_STEPS   4  /* evenly spaced: three random reads are so too often */
#define LEARNT_REPEATS 3  /* one after the other, that repeat the distance of the first two */
#define LEARNT_WAY     2  /* beyond all earlier reads, all one way */
#define LEARNT_MOSTLY  5  /* more one way than the other */
#define LEARNT_MANY    8  /* in any order */
#define VAIN_READS     16 /* enough to know that learning is in vain, */
#define VAIN_SHARE     8u /* if they are less than 1/VAIN_SHARE of the file's reads */
#define SPACING_MAX    16u
#define STEP_MAX       ((int64_t)1 << 40) /* 1 TiB; keeps positions from overflowing */

static const uint64_t ZERO = CANFS_POSITION_ZERO;

void canfs_cursor_begin(
	struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, uint32_t stamp)
{
	uint32_t span = bytes < CANFS_PAGE_BYTES ? CANFS_PAGE_BYTES : bytes;

	*cursor = (struct canfs_cursor) { .base = ZERO + offset - (uint64_t)MIDDLE * span,
		.seen = (uint64_t)1 << MIDDLE,
		.last = ZERO + offset,
		.span = span,
		.begun = stamp,
		.stamp = stamp,
		.seqcount = 1,
		.referenced = true,
		.tolerance = CANFS_CURSOR_TOLERANCE };
}

void canfs_cursor_widen(struct canfs_cursor *cursor, uint64_t reads, uint32_t reach_bytes)
{
	/* Reads that wait must stay within reach. */
	uint64_t most = canfs_cursor_reach(cursor->span, reach_bytes) * 2 / 3 / cursor->span;

	if (reads > most)
		reads = most;
	if (reads > cursor->tolerance)
		cursor->tolerance = (uint8_t)reads;
}

static void count(uint8_t *n)
{
	if (*n < UINT8_MAX)
		++*n;
}

static unsigned int lowest(uint64_t bits)
{
	return (unsigned int)__builtin_ctzll(bits);
}

static unsigned int highest(uint64_t bits)
{
	return 63 - (unsigned int)__builtin_clzll(bits);
}

/*
 * Ends LEARNING. Members that are not set here start anew. Positions are in the cursor's own
 * direction.
 */
static void know(struct canfs_cursor *cursor, enum canfs_heading heading, uint64_t base,
	uint64_t seen, uint64_t step, uint64_t read_bytes)
{
	*cursor = (struct canfs_cursor) { .base = base,
		.seen = seen,
		.step = step,
		.span = cursor->span,
		.run = (uint32_t)(read_bytes < UINT32_MAX ? read_bytes : UINT32_MAX),
		.stamp = cursor->stamp,
		.seqcount = cursor->seqcount,
		.tolerance = cursor->tolerance,
		.referenced = true,
		.heading = heading & 3 };
	/* Very small gaps, and gaps within a page, are not worth one request per step. */
	if (step < cursor->span + CANFS_PAGE_BYTES || step - cursor->span <= step / CANFS_GAP_PART)
		cursor->span = (uint32_t)step;
}

/*
 * Ends LEARNING with a stride: the last read began at `begin`, and the next one begins `step` from
 * there.
 */
static void know_stride(struct canfs_cursor *cursor, uint64_t begin, int64_t step)
{
	uint64_t read = (uint64_t)cursor->span * cursor->seqcount;

	if (step > 0)
		know(cursor, CANFS_UP, begin + (uint64_t)step, 0, (uint64_t)step, read);
	else
		know(cursor, CANFS_DOWN, 2 * ZERO - (begin + cursor->span) - (uint64_t)step, 0,
			0 - (uint64_t)step, read);
}

static bool is_step(const struct canfs_cursor *cursor, int64_t step)
{
	int64_t size = step < 0 ? -step : step;

	return size >= cursor->span && size <= STEP_MAX;
}

bool canfs_cursor_begin_stride(
	struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, int64_t step, uint32_t stamp)
{
	canfs_cursor_begin(cursor, offset, bytes, stamp);
	cursor->seqcount = LEARNT_STEPS;
	if (!is_step(cursor, step))
		return false;
	know_stride(cursor, ZERO + offset, step);
	return true;
}

/* Bits 2i and 2i + 1 become bit i. */
static uint64_t halve_bits(uint64_t x)
{
	x = (x | x >> 1) & 0x5555555555555555u;
	x = (x | x >> 1) & 0x3333333333333333u;
	x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0fu;
	x = (x | x >> 4) & 0x00ff00ff00ff00ffu;
	x = (x | x >> 8) & 0x0000ffff0000ffffu;
	return (x | x >> 16) & 0xffffffffu;
}

/* Bit i becomes bits 2i and 2i + 1; the upper half is lost. */
static uint64_t double_bits(uint64_t x)
{
	x &= 0xffffffffu;
	x = (x | x << 16) & 0x0000ffff0000ffffu;
	x = (x | x << 8) & 0x00ff00ff00ff00ffu;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
	x = (x | x << 2) & 0x3333333333333333u;
	x = (x | x << 1) & 0x5555555555555555u;
	return x | x << 1;
}

void canfs_cursor_rescale(struct canfs_cursor *cursor, uint32_t bytes)
{
	while (bytes >= 2 * cursor->span) {
		cursor->seen = halve_bits(cursor->seen);
		cursor->span *= 2;
	}
	while (bytes <= cursor->span / 2 && cursor->span >= 2 * CANFS_PAGE_BYTES) {
		cursor->seen = double_bits(cursor->seen);
		cursor->span /= 2;
	}
}

/* Slides the window so that it contains the read. */
static void slide_window(struct canfs_cursor *cursor, uint64_t position, uint32_t bytes)
{
	uint64_t end = position + bytes, window = 64 * (uint64_t)cursor->span, steps;

	if (position < cursor->base) {
		steps = (cursor->base - position + cursor->span - 1) / cursor->span;
		cursor->seen = steps > 63 ? 0 : cursor->seen << steps;
		cursor->base -= steps * cursor->span;
	} else if (end > cursor->base + window) {
		steps = (end - cursor->base - window + cursor->span - 1) / cursor->span;
		cursor->seen = steps > 63 ? 0 : cursor->seen >> steps;
		cursor->base += steps * cursor->span;
	}
}

uint64_t canfs_cursor_middles(
	uint64_t base, uint64_t step, uint32_t span, uint64_t begin, uint64_t end)
{
	uint64_t middle = base + span / 2, first, last;

	if (begin == base && end == base + span) /* the usual case, without a division */
		return 1;
	if (end <= middle)
		return 0;
	first = begin <= middle ? 0 : (begin - middle + step - 1) / step;
	last = (end - middle - 1) / step;
	if (first > last || first > 63)
		return 0;
	return ~(uint64_t)0 >> (63 - (last < 63 ? last : 63) + first) << first;
}

/* Adds the read to the window. */
static void enter(
	struct canfs_cursor *cursor, uint64_t position, uint32_t bytes, uint32_t reach_bytes)
{
	uint64_t before, first;

	slide_window(cursor, position, bytes);
	before = cursor->seen;
	first = (position + bytes / 2 - cursor->base) / cursor->span;
	if ((position - cursor->base) % cursor->span != 0)
		cursor->uneven = true;
	cursor->seen |= canfs_cursor_middles(
		cursor->base, cursor->span, cursor->span, position, position + bytes);
	if (before == 0)
		cursor->seen |= (uint64_t)1 << first;
	if (before == 0 || cursor->seen == before)
		return;
	if (highest(cursor->seen) > highest(before)) {
		count(&cursor->ups);
	} else if (lowest(cursor->seen) < lowest(before)) {
		count(&cursor->downs);
	} else {
		/* A late read: let twice as many reads wait as had overtaken it. */
		canfs_cursor_widen(
			cursor, 2 * (uint64_t)__builtin_popcountll(before >> first), reach_bytes);
	}
}

static void note_delta(struct canfs_cursor *cursor, uint64_t position)
{
	int64_t delta = (int64_t)(position - cursor->last);

	if (delta != cursor->delta || delta == 0)
		cursor->repeats = 0;
	else
		count(&cursor->repeats);
	cursor->delta = delta;
	cursor->last = position;
}

/* Returns 1: up, -1: down, 0: not known. */
static int way(const struct canfs_cursor *cursor)
{
	int more = cursor->ups - cursor->downs;
	bool at_begin = cursor->base + lowest(cursor->seen) * (uint64_t)cursor->span <= ZERO;
	int enough = cursor->ups == 0 || cursor->downs == 0 ? LEARNT_WAY : LEARNT_MOSTLY;

	if (at_begin) /* from there a reader can only go up */
		return cursor->ups > 0;
	return more >= enough ? 1 : more <= -enough ? -1 : 0;
}

static uint64_t mirror_bits(uint64_t x)
{
	x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
	x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
	x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
	return __builtin_bswap64(x);
}

/* Returns the widest spacing that all bits keep, counted from bit 0, which is set. */
static unsigned int spacing(uint64_t line)
{
	for (unsigned int n = SPACING_MAX; n > 1; n--) {
		uint64_t others = line;

		for (unsigned int i = 0; i < 64 && others != 0; i += n)
			others &= ~((uint64_t)1 << i);
		if (others == 0)
			return n;
	}
	return 1;
}

/*
 * If the reads are a line in the reader's direction, ends LEARNING and returns true. The oldest
 * part of the line must be complete. Half is enough of the rest, where reads may be in flight.
 */
static bool learn_line(struct canfs_cursor *cursor, bool down)
{
	uint64_t window =
		down ? 2 * ZERO - cursor->base - 64 * (uint64_t)cursor->span : cursor->base;
	uint64_t seen = down ? mirror_bits(cursor->seen) : cursor->seen, waiting = 0;
	unsigned int begin = lowest(seen), reads = (unsigned int)__builtin_popcountll(seen);
	uint64_t line = seen >> begin;
	unsigned int step = spacing(line), width = highest(line) / step + 1, run = 0;

	while (run < width && line >> (run * step) & 1)
		run++;
	if (2 * reads < width || cursor->seqcount < LEARNT_READS ||
		(step > 1 ? cursor->uneven || run < LEARNT_STEPS || 2 * reads < cursor->seqcount
			  : run < LEARNT_READS && run < width && reads < LEARNT_MANY))
		return false;
	for (unsigned int i = run; i < width; i++)
		waiting |= (line >> (i * step) & 1) << (i - run);
	know(cursor, down ? CANFS_DOWN : CANFS_UP,
		window + (begin + run * step) * (uint64_t)cursor->span, waiting,
		step * (uint64_t)cursor->span, reads * (uint64_t)cursor->span);
	return true;
}

static bool learn_repeats(struct canfs_cursor *cursor, uint64_t position)
{
	if (cursor->repeats < LEARNT_REPEATS || !is_step(cursor, cursor->delta))
		return false;
	know_stride(cursor, position, cursor->delta);
	return true;
}

/* True after many reads that are few of the file's: random reads fill any window in time. */
static bool is_vain(const struct canfs_cursor *cursor)
{
	return cursor->seqcount >= VAIN_READS &&
	       cursor->stamp - cursor->begun > VAIN_SHARE * cursor->seqcount;
}

uint32_t canfs_learn(
	struct canfs_cursor *cursor, uint64_t position, uint32_t bytes, uint32_t reach_bytes)
{
	int heading;

	if ((bytes < cursor->span / 2 && cursor->span > CANFS_PAGE_BYTES) || is_vain(cursor)) {
		canfs_cursor_begin(cursor, position - ZERO, bytes, cursor->stamp);
		return 0;
	}
	canfs_cursor_rescale(cursor, bytes);
	note_delta(cursor, position);
	enter(cursor, position, bytes, reach_bytes);
	if (cursor->seqcount < CANFS_SEQCOUNT_MAX)
		cursor->seqcount++;
	heading = way(cursor);
	if ((heading != 0 && learn_line(cursor, heading < 0)) || learn_repeats(cursor, position))
		return cursor->run;
	return 0;
}
