// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/prefetch/learn.h"

#define PAGE_BYTES 4096u
#define MIDDLE     32u /* where the first read stands in the window */

/* How many reads it takes. */
#define LEARNT_READS   3 /* in a line without holes */
#define LEARNT_STEPS   4 /* evenly spaced, which three random ones are too often, */
#define LEARNT_REPEATS 2 /* or one after the other: two that repeat the distance of the first two */
#define LEARNT_WAY     2 /* beyond those before, all one way; */
#define LEARNT_MOSTLY  5 /* more one way than the other */

static const uint64_t ZERO = CANFS_POSITION_ZERO;

void canfs_cursor_begin(struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes)
{
	uint32_t span = bytes < PAGE_BYTES ? PAGE_BYTES : bytes;

	*cursor = (struct canfs_cursor) { .base = ZERO + offset - (uint64_t)MIDDLE * span,
		.seen = (uint64_t)1 << MIDDLE,
		.last = ZERO + offset,
		.span = span,
		.stamp = cursor->stamp,
		.seqcount = 1,
		.tolerance = CANFS_CURSOR_TOLERANCE };
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

/* From now on up or down by step; the last read began at position. */
static void know_stride(
	struct canfs_cursor *cursor, uint64_t begin, uint32_t span, int64_t step, uint8_t reads)
{
	bool down = step < 0;
	uint64_t size = down ? 0 - (uint64_t)step : (uint64_t)step;

	/* Gaps that are hardly any, or within a page, are not worth a request each. */
	if (size < span + PAGE_BYTES || size - span <= size / 16)
		span = (uint32_t)size;
	*cursor = (struct canfs_cursor) { .base = down ? ZERO - (begin - ZERO + span) + size
						       : begin + size,
		.step = size,
		.span = span,
		.run = span * reads,
		.stamp = cursor->stamp,
		.seqcount = reads,
		.tolerance = cursor->tolerance,
		.heading = down ? CANFS_DOWN : CANFS_UP };
}

void canfs_cursor_begin_stride(
	struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, int64_t step, uint8_t n)
{
	cursor->tolerance = CANFS_CURSOR_TOLERANCE;
	know_stride(cursor, ZERO + offset, bytes, step, n);
}

/* From now on up from the end of what was read, or down from its begin. */
static void know_line(struct canfs_cursor *cursor, bool down, uint64_t edge)
{
	uint64_t read = (uint64_t)__builtin_popcountll(cursor->seen) * cursor->span;

	*cursor = (struct canfs_cursor) { .base = down ? ZERO - (edge - ZERO) : edge,
		.step = cursor->span,
		.span = cursor->span,
		.run = (uint32_t)read,
		.stamp = cursor->stamp,
		.seqcount = cursor->seqcount,
		.tolerance = cursor->tolerance,
		.heading = down ? CANFS_DOWN : CANFS_UP };
}

uint64_t canfs_learn_distance(
	const struct canfs_cursor *cursor, uint64_t position, uint32_t reach_bytes)
{
	uint64_t away = position > cursor->last ? position - cursor->last : cursor->last - position;

	/* Whoever knows his way goes before. */
	return away < canfs_cursor_reach(cursor->span, reach_bytes) ? ZERO + away : UINT64_MAX;
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
	while (bytes <= cursor->span / 2 && cursor->span >= 2 * PAGE_BYTES) {
		cursor->seen = double_bits(cursor->seen);
		cursor->span /= 2;
	}
}

/* So that the read is in it. */
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

/* Enters the read into the window; returns where the bits of it begin. */
static void enter(struct canfs_cursor *cursor, uint64_t position, uint32_t bytes)
{
	uint64_t first, last, before;

	slide_window(cursor, position, bytes);
	before = cursor->seen;
	first = (position - cursor->base) / cursor->span;
	last = (position + bytes - 1 - cursor->base) / cursor->span;
	if ((position - cursor->base) % cursor->span != 0)
		cursor->uneven = true;
	cursor->seen |= ~(uint64_t)0 >> (63 - last + first) << first;
	if (before == 0 || cursor->seen == before)
		return;
	if (highest(cursor->seen) > highest(before)) {
		count(&cursor->ups);
	} else if (lowest(cursor->seen) < lowest(before)) {
		count(&cursor->downs);
	} else {
		/* It came late: how many had come before it? */
		uint64_t late = 2 * (uint64_t)__builtin_popcountll(before >> first);

		if (late > cursor->tolerance)
			cursor->tolerance =
				(uint8_t)(late < CANFS_CURSOR_REACH ? late : CANFS_CURSOR_REACH);
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

/* Does every step-th bit from the lowest on stand there, to the highest, and none else? Returns step, or 0. */
static unsigned int even_steps(uint64_t seen)
{
	uint64_t line = seen >> lowest(seen), shifted;
	unsigned int step;

	if (line == 1)
		return 0;
	step = lowest(line - 1);
	/* Shifted by a step, and with the first put back, it is the same but for one more at the end. */
	shifted = (line << step | 1) ^ line;
	return (shifted & (shifted - 1)) == 0 ? step : 0;
}

/* 1 up, -1 down, 0: neither. */
static int way(const struct canfs_cursor *cursor)
{
	int more = cursor->ups - cursor->downs;
	int enough = cursor->ups == 0 || cursor->downs == 0 ? LEARNT_WAY : LEARNT_MOSTLY;

	return more >= enough ? 1 : more <= -enough ? -1 : 0;
}

uint32_t canfs_learn(struct canfs_cursor *cursor, uint64_t position, uint32_t bytes)
{
	int heading, step;
	uint64_t low, high;

	if (bytes < cursor->span / 2 && cursor->span > PAGE_BYTES) {
		canfs_cursor_begin(cursor, position - ZERO, bytes);
		return 0;
	}
	canfs_cursor_rescale(cursor, bytes);
	note_delta(cursor, position);
	enter(cursor, position, bytes);
	if (cursor->seqcount < CANFS_SEQCOUNT_MAX)
		cursor->seqcount++;

	step = (int)even_steps(cursor->seen);
	heading = way(cursor);
	low = cursor->base + lowest(cursor->seen) * (uint64_t)cursor->span;
	high = cursor->base + highest(cursor->seen) * (uint64_t)cursor->span;
	if (step == 1 && heading != 0 && cursor->seqcount >= LEARNT_READS)
		know_line(cursor, heading < 0, heading < 0 ? low : high + cursor->span);
	else if (cursor->repeats >= LEARNT_REPEATS &&
		 (cursor->delta >= (int64_t)cursor->span ||
			 -cursor->delta >= (int64_t)cursor->span))
		know_stride(cursor, position, cursor->span, cursor->delta, LEARNT_STEPS);
	else if (step > 1 && heading != 0 && !cursor->uneven &&
		 __builtin_popcountll(cursor->seen) >= LEARNT_STEPS)
		know_stride(cursor, heading < 0 ? low : high, cursor->span,
			(int64_t)cursor->span * step * heading, LEARNT_STEPS);
	else
		return 0;
	return cursor->run;
}
