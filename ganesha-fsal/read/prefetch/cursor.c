// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Positions: where a read begins, as seen by an ascending reader. For a descending reader the file
 * is mirrored, so that all other code is written once.
 *
 *	UP, LEARNING: MIRROR + offset           DOWN: MIRROR - end of the read
 *
 * MIRROR keeps both positive, even for a window that begins before the file.
 */
#include "ganesha-fsal/read/prefetch/cursor.h"
#include "ganesha-fsal/read/prefetch/learn.h"

#define MIRROR        CANFS_POSITION_ZERO
#define SEQCOUNT_SURE 64u /* from here on the cursor is as far ahead as it may be */
#define EARLY_READS   8u
#define BEHIND_MAX    63u
#define REPEATS       2u
/*
 * Disorder: a read this far from the furthest one counts for FAR_WEIGHT reads in order. Above half
 * of the maximum, the reads are no sequence. The distance is from the furthest read and not from
 * base: a delayed server thread lets dozens of reads pass, which are in order all the same.
 */
#define FAR_READS    4u
#define FAR_WEIGHT   8u
#define DISORDER_MAX 63u
#define MEET_BYTES   ((uint64_t)128 << 10)

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t position(const struct canfs_cursor *cursor, uint64_t offset, uint64_t bytes)
{
	return cursor->heading == CANFS_DOWN ? MIRROR - (offset + bytes) : MIRROR + offset;
}

static struct canfs_piece piece_at(
	const struct canfs_cursor *cursor, uint64_t begin, uint64_t bytes)
{
	return (struct canfs_piece) {
		.offset = cursor->heading == CANFS_DOWN ? MIRROR - (begin + bytes) : begin - MIRROR,
		.bytes = bytes
	};
}

static bool has_gaps(const struct canfs_cursor *cursor)
{
	return cursor->step > cursor->span;
}

/* Returns where the furthest read ends. */
static uint64_t front(const struct canfs_cursor *cursor)
{
	return cursor->seen == 0 ? cursor->base
				 : cursor->base + (64 - (uint64_t)__builtin_clzll(cursor->seen)) *
							  cursor->step;
}

uint64_t canfs_cursor_distance(
	const struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, uint32_t reach_bytes)
{
	uint64_t begin = position(cursor, offset, bytes), behind = cursor->base - begin;

	if (cursor->heading == CANFS_LEARNING)
		return canfs_learn_distance(cursor, begin, reach_bytes);
	if (begin >= cursor->base) {
		uint64_t ahead = begin - cursor->base, steps = 0;

		if (has_gaps(cursor)) {
			steps = ahead / cursor->step;
			if (ahead - steps * cursor->step + bytes > cursor->span && ahead > 0)
				return UINT64_MAX;
			ahead = steps * cursor->span;
		}
		return ahead < canfs_cursor_reach(cursor->span, reach_bytes) ? ahead : UINT64_MAX;
	}
	if (has_gaps(cursor)) {
		uint64_t steps = (behind + cursor->step - 1) / cursor->step;

		if (steps * cursor->step - behind + bytes > cursor->span)
			return UINT64_MAX;
		behind = steps * cursor->span;
	} else if (behind < max(bytes, cursor->span)) {
		return 0; /* begins in the bytes read last, and continues beyond them */
	}
	/*
	 * Late reads are of steps that were given up. A few reads may be repeats, or those of a
	 * reader that follows closely. More reads of bytes already read come from another reader,
	 * or from this one in the other direction or from its start again.
	 */
	return cursor->behind > 0 && behind <= cursor->tolerance * (uint64_t)cursor->span
		       ? behind
		       : UINT64_MAX;
}

/* Returns the bits of steps [first, last]. */
static uint64_t bits(uint64_t first, uint64_t last)
{
	return ~(uint64_t)0 >> (63 - min(last, 63) + first) << first;
}

/* Returns the bits of the steps that were fetched and are not passed yet. */
static uint64_t fetched_bits(const struct canfs_cursor *cursor)
{
	uint64_t from = 0, to;

	if (cursor->outstanding == 0 || cursor->fetched_to <= cursor->base)
		return 0;
	if (cursor->fetched_from > cursor->base)
		from = (cursor->fetched_from - cursor->base + cursor->step - 1) / cursor->step;
	if (cursor->fetched_to - cursor->base >= 64 * cursor->step)
		to = 64;
	else
		to = (cursor->fetched_to - cursor->base + cursor->step - 1) / cursor->step;
	return from > 63 || to <= from ? 0 : bits(from, to - 1);
}

static uint32_t settle(struct canfs_cursor *cursor, uint64_t bytes)
{
	uint32_t settled = (uint32_t)min(bytes, cursor->outstanding);

	cursor->outstanding -= settled;
	return settled;
}

/* A stream that is in order for long needs less tolerance. */
static void narrow_tolerance(struct canfs_cursor *cursor)
{
	if (cursor->seen == 0 && cursor->tolerance > CANFS_CURSOR_TOLERANCE &&
		cursor->base / cursor->step % 64 == 0)
		cursor->tolerance--;
}

static void pass(struct canfs_cursor *cursor, uint64_t steps)
{
	cursor->base += steps * cursor->step;
	cursor->run = (uint32_t)min(cursor->run + steps * cursor->span, UINT32_MAX);
}

/* Moves base over the steps read from it on. Returns their bytes. */
static uint64_t advance(struct canfs_cursor *cursor)
{
	/*
	 * The reach is below 64 steps, so some bit of ~seen is set. The check is for ctz, which is
	 * undefined for 0.
	 */
	uint64_t steps =
		cursor->seen == ~(uint64_t)0 ? 64 : (uint64_t)__builtin_ctzll(~cursor->seen);

	cursor->seen = steps == 64 ? 0 : cursor->seen >> steps;
	pass(cursor, steps);
	return steps * cursor->span;
}

/*
 * Gives up the steps before the first read that waits: SlowDown's second case. Returns the bytes
 * wasted.
 */
static uint32_t give_up(struct canfs_cursor *cursor)
{
	uint64_t steps = (uint64_t)__builtin_ctzll(cursor->seen);
	uint64_t missed = bits(0, steps - 1) & fetched_bits(cursor);
	uint32_t wasted = settle(cursor, (uint64_t)__builtin_popcountll(missed) * cursor->span);

	cursor->seen >>= steps;
	pass(cursor, steps);
	cursor->behind = min(cursor->behind + steps, BEHIND_MAX) & BEHIND_MAX;
	cursor->seqcount /= 2;
	return wasted;
}

/*
 * Returns the bytes that were fetched, of the steps that this read was the first to read. Reads may
 * be smaller or larger than a step. No more is counted than was read.
 */
static uint32_t count_used(struct canfs_cursor *cursor, uint64_t new_bits, uint32_t bytes)
{
	uint64_t steps = (uint64_t)__builtin_popcountll(new_bits & fetched_bits(cursor));
	uint64_t rest = max(
		bytes / CANFS_GAP_PART, CANFS_PAGE_BYTES); /* of the page, or of an ignored gap */
	uint64_t read = bytes + rest + cursor->surplus;
	uint64_t used = min(steps * cursor->span, read);

	cursor->surplus = (uint32_t)min(read - used, cursor->span);
	return settle(cursor, used);
}

/* Returns the fetched bytes behind base that were not counted as used: they were not read. */
static uint32_t count_passed(struct canfs_cursor *cursor)
{
	uint64_t left = cursor->fetched_to > cursor->base ? cursor->fetched_to - cursor->base : 0;

	if (has_gaps(cursor))
		left = (left + cursor->step - 1) / cursor->step * cursor->span;
	left += cursor->span; /* of the step that is being read */
	return cursor->outstanding > left ? settle(cursor, cursor->outstanding - left) : 0;
}

/* The client's reads have become larger or smaller: makes the steps so, too. */
static void rescale(struct canfs_cursor *cursor, uint64_t begin, uint32_t bytes)
{
	uint32_t before = cursor->span;

	canfs_cursor_rescale(cursor, bytes);
	cursor->step = cursor->span;
	/* Base was as coarse as the larger steps. Move it to where the reader really is. */
	if (cursor->span < before && cursor->seen == 0 && begin < cursor->base &&
		cursor->base - begin < before)
		cursor->base = begin;
}

static void raise_seqcount(struct canfs_cursor *cursor, uint64_t hits)
{
	cursor->seqcount = (uint8_t)min(cursor->seqcount + hits, CANFS_SEQCOUNT_MAX);
}

/* The expected step has been read: base advances. */
static void go_on(struct canfs_cursor *cursor, uint32_t bytes, uint32_t reach_bytes,
	struct canfs_followed *followed)
{
	uint64_t waited = (uint64_t)__builtin_popcountll(cursor->seen), passed = advance(cursor);
	uint64_t more = passed > bytes ? (passed - bytes) / cursor->span : 0;

	if (more > 0)
		canfs_cursor_widen(cursor, 2 * waited, reach_bytes);
	if (cursor->behind < REPEATS)
		cursor->behind++;
	narrow_tolerance(cursor);
	raise_seqcount(cursor, 1 + more);
	followed->sequential = (uint32_t)min(passed, UINT32_MAX);
	followed->wasted += count_passed(cursor);
}

static void note_order(struct canfs_cursor *cursor, uint64_t begin)
{
	uint64_t to = front(cursor), far = FAR_READS * cursor->step;

	if (begin >= to + far || begin + far + cursor->step < to)
		cursor->disorder = min(cursor->disorder + FAR_WEIGHT, DISORDER_MAX) & DISORDER_MAX;
	else if (cursor->disorder > 0)
		cursor->disorder--;
}

bool canfs_cursor_is_plain(const struct canfs_cursor *cursor)
{
	return cursor->heading == CANFS_UP && !has_gaps(cursor) &&
	       cursor->disorder <= DISORDER_MAX / 2;
}

bool canfs_cursor_is_past_fetched(const struct canfs_cursor *cursor)
{
	return cursor->outstanding == 0 || cursor->fetched_to <= cursor->base;
}

struct canfs_followed canfs_cursor_follow(
	struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, uint32_t reach_bytes)
{
	struct canfs_followed followed = { 0 };
	uint64_t begin, new_bits;

	if (cursor->heading == CANFS_LEARNING) {
		followed.sequential = canfs_learn(cursor, MIRROR + offset, bytes, reach_bytes);
		return followed;
	}
	begin = position(cursor, offset, bytes);
	if (!has_gaps(cursor))
		rescale(cursor, begin, bytes);
	note_order(cursor, begin);
	if (begin + bytes <= cursor->base && cursor->behind > 0) {
		cursor->behind--; /* late: the cursor should have waited for it */
		canfs_cursor_widen(cursor, 2 * (front(cursor) - begin) / cursor->step, reach_bytes);
	}
	new_bits = canfs_cursor_middles(
			   cursor->base, cursor->step, cursor->span, begin, begin + bytes) &
		   ~cursor->seen;
	followed.used = count_used(cursor, new_bits, bytes);
	cursor->seen |= new_bits;
	if ((cursor->seen & 1) == 0 && __builtin_popcountll(cursor->seen) > cursor->tolerance) {
		followed.wasted = give_up(cursor);
		if (cursor->seqcount <= 1) {
			followed.wasted += settle(cursor, UINT32_MAX);
			canfs_cursor_begin(cursor, offset, bytes, cursor->stamp);
			return followed;
		}
	}
	if (cursor->seen & 1)
		go_on(cursor, bytes, reach_bytes, &followed);
	return followed;
}

uint64_t canfs_cursor_ahead(const struct canfs_cursor *cursor, uint64_t max_bytes)
{
	uint64_t each = max_bytes / SEQCOUNT_SURE;

	if (cursor->heading == CANFS_LEARNING)
		return 0;
	if (each < cursor->span)
		each = cursor->span;
	return min(min(cursor->seqcount * each, max_bytes), 4 * (uint64_t)cursor->run);
}

uint64_t canfs_cursor_end(const struct canfs_cursor *cursor, uint64_t file_bytes)
{
	return cursor->heading == CANFS_DOWN ? MIRROR : MIRROR + file_bytes;
}

uint64_t canfs_cursor_end_before(
	const struct canfs_cursor *cursor, const struct canfs_cursor *other, uint64_t end)
{
	uint64_t begin = other->base - other->run; /* or a little before: some reads were early */
	uint64_t early = EARLY_READS * (uint64_t)other->span;

	/*
	 * Ignored: a reader with another heading or with gaps, one whose start is no longer known,
	 * one that began before this reader, and one that was passed.
	 */
	if (other->heading != cursor->heading || has_gaps(other) || other->run == UINT32_MAX ||
		begin <= cursor->base - cursor->run + early || begin + early <= front(cursor))
		return end;
	return min(begin, end);
}

bool canfs_cursor_wants(const struct canfs_cursor *cursor, uint64_t ahead_bytes)
{
	uint64_t half = ahead_bytes / 2;

	if (cursor->heading == CANFS_LEARNING || ahead_bytes < cursor->span)
		return false;
	if (has_gaps(cursor))
		half = ahead_bytes / cursor->span * cursor->step / 2;
	return cursor->fetched_to <= front(cursor) + half;
}

static size_t fetch_steps(struct canfs_cursor *cursor, const struct canfs_reach *reach,
	struct canfs_piece piece[], size_t pieces)
{
	uint64_t to = front(cursor) + reach->ahead_bytes / cursor->span * cursor->step, sum = 0;
	size_t n = 0;

	for (; n < pieces && cursor->fetched_to < min(to, reach->end);
		cursor->fetched_to += cursor->step) {
		uint64_t bytes = min(cursor->span, reach->end - cursor->fetched_to);

		piece[n++] = piece_at(cursor, cursor->fetched_to, bytes);
		sum += bytes;
	}
	cursor->outstanding += (uint32_t)sum;
	return n;
}

static size_t fetch_run(struct canfs_cursor *cursor, const struct canfs_reach *reach,
	struct canfs_piece piece[], size_t pieces)
{
	uint64_t to = min(front(cursor) + reach->ahead_bytes, reach->end);
	size_t n = 0;

	/*
	 * Two fetches meet at a page boundary, and none is of a few bytes. The next fetch brings
	 * the rest.
	 */
	if (to < reach->end)
		to -= to % (to < cursor->fetched_to + MEET_BYTES ? CANFS_PAGE_BYTES : MEET_BYTES);
	for (; n < pieces && cursor->fetched_to < to; n++) {
		uint64_t bytes = min(to - cursor->fetched_to, reach->piece_bytes);

		piece[n] = piece_at(cursor, cursor->fetched_to, bytes);
		cursor->fetched_to += bytes;
		cursor->outstanding += (uint32_t)bytes;
	}
	return n;
}

size_t canfs_cursor_fetch(struct canfs_cursor *cursor, const struct canfs_reach *reach,
	struct canfs_piece piece[], size_t pieces)
{
	if (!canfs_cursor_wants(cursor, reach->ahead_bytes))
		return 0;
	if (cursor->fetched_to < front(cursor))
		cursor->fetched_to = front(cursor);
	if (cursor->outstanding == 0)
		cursor->fetched_from = cursor->fetched_to;
	return has_gaps(cursor) ? fetch_steps(cursor, reach, piece, pieces)
				: fetch_run(cursor, reach, piece, pieces);
}

uint32_t canfs_cursor_was_there(struct canfs_cursor *cursor, uint64_t bytes)
{
	return cursor->heading == CANFS_LEARNING ? 0 : settle(cursor, bytes);
}

uint32_t canfs_cursor_not_fetched(struct canfs_cursor *cursor, uint64_t offset, uint64_t bytes)
{
	uint64_t from, lost;

	if (cursor->heading == CANFS_LEARNING || cursor->outstanding == 0)
		return 0;
	from = position(cursor, offset, bytes);
	if (from + bytes <= cursor->base || from >= cursor->fetched_to)
		return 0;
	if (from < cursor->base)
		from = cursor->base;
	lost = cursor->fetched_to - from;
	if (has_gaps(cursor))
		lost = (lost + cursor->step - 1) / cursor->step * cursor->span;
	cursor->fetched_to = from;
	return settle(cursor, lost);
}
