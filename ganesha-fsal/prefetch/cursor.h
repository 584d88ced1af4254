/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One cursor: a reader's place in a file, how sure we are of it, and what was fetched ahead of it (Ellard & Seltzer
 * 2003: SlowDown, §6.2; cursors, §7). Pure: no clock, no lock, no allocation. 64 bytes, a cache line.
 *
 * The paper's nfsd expects one offset. Ours expects steps, since clients have many READs in flight:
 *
 *	              base = the expected offset               front
 *	               v                                         v
 *	  --- read --- |  ?  | read |  ?  | read | read |  ?  | read |  ...  fetched_to
 *	               seen:  0     1      0     1      1      0     1
 *	               |<---------- reach: at most 64 steps ------->|
 *
 *	read at base      expected: seqcount + 1, and + 1 for each that had come before its turn; base moves on
 *	read above it     near: seqcount stays; a bit is set
 *	`tolerance` reads wait for base to be read: it will not be; what is missing is given up, seqcount halves
 *
 * So a shuffled window counts as sequential once it is complete, and random reads, which leave holes, never do.
 * How many reads may wait is learnt from what came late; a new cursor takes 8, NFS clients' usual slots.
 *
 * A step is one read, or the distance of two if there are gaps between them (a stride). Descending readers are
 * ascending ones in mirrored positions. A new cursor is LEARNING: it gathers reads in the bitmap around its first one
 * until they are a line without holes, or evenly spaced, and have gone one way.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_CURSOR_H
#define CANFS_GANESHA_FSAL_PREFETCH_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CANFS_SEQCOUNT_MAX     127u
#define CANFS_OFFSET_MAX       ((uint64_t)1 << 61) /* reads end at or before it */
#define CANFS_CURSOR_TOLERANCE 8u                  /* reads */

enum canfs_heading { CANFS_LEARNING, CANFS_UP, CANFS_DOWN };

struct canfs_cursor {
	uint64_t base, seen; /* positions as in cursor.c */
	union {
		uint64_t fetched_to;
		uint64_t last; /* LEARNING: where the read before began */
	};
	uint64_t fetched_from;
	union {
		uint64_t step;
		int64_t delta; /* LEARNING: from the read before that one */
	};
	uint32_t span;        /* bytes read of a step; == step without gaps. LEARNING: a bit's */
	uint32_t outstanding; /* bytes fetched, neither read nor given up */
	union {
		uint32_t run;   /* bytes from where it began to base, gaps left out */
		uint32_t begun; /* LEARNING: the stamp at its begin */
	};
	uint32_t stamp;       /* the file's reads when it was hit; the table sets it before */
	uint8_t seqcount;     /* 1 ... 127. LEARNING: reads */
	uint8_t tolerance;    /* reads */
	uint8_t heading : 2;  /* enum canfs_heading */
	uint8_t disorder : 6; /* of the last reads: 0 (as in a sequence) ... 63 */
	bool referenced : 1;  /* the table's: hit since it last looked for one to recycle */
	bool suspected : 1;   /* account.h */
	uint8_t behind : 6;   /* so many more reads behind base it takes: late ones, repeats */
	union {
		uint32_t surplus; /* bytes read that are not yet counted as used, < span */
		struct {
			uint8_t ups, downs; /* LEARNING: reads beyond what was read, each way */
			uint8_t repeats;    /* of delta */
			bool uneven;        /* offsets are not multiples of span apart */
		};
	};
};

/* What a read did; bytes. */
struct canfs_followed {
	uint32_t sequential; /* read in sequence */
	uint32_t used;       /* of what was fetched */
	uint32_t wasted;     /* of it, given up */
};

/* A cursor at its first read. Bytes are 1 ... UINT32_MAX / 4 in all of these; stamp: the file's reads. */
void canfs_cursor_begin(
	struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, uint32_t stamp);

/*
 * A stride that was found elsewhere: four reads, step apart (negative: descending), the last of them this. False: no
 * stride, too wide or too narrow; the cursor has begun as any.
 */
bool canfs_cursor_begin_stride(
	struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, int64_t step, uint32_t stamp);

/*
 * How far the read is from the expected one, in bytes: 0: it is that. UINT64_MAX: it is not of this cursor.
 * reach_bytes of reads may wait for one before them, if that is 24 to 32 reads; else so many.
 */
uint64_t canfs_cursor_distance(
	const struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, uint32_t reach_bytes);

/* The read belongs to this cursor: its distance is not UINT64_MAX. */
struct canfs_followed canfs_cursor_follow(
	struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, uint32_t reach_bytes);

/*
 * It goes up, without gaps, and in such an order as a server's few threads make of a sequence. To a kernel that guesses at
 * readers, reads in less order are random ones.
 */
bool canfs_cursor_is_plain(const struct canfs_cursor *cursor);

/* Has it read, or given up, all that was fetched for it? */
bool canfs_cursor_is_past_fetched(const struct canfs_cursor *cursor);

/*
 * How far to be ahead: it grows with seqcount, to all of max_bytes at half of its maximum, but not beyond four
 * times as far as the stream was followed. 0 while LEARNING.
 */
uint64_t canfs_cursor_ahead(const struct canfs_cursor *cursor, uint64_t max_bytes);

/* Is there something to fetch now? Not while more than half of ahead_bytes is on its way. */
bool canfs_cursor_wants(const struct canfs_cursor *cursor, uint64_t ahead_bytes);

/*
 * What to fetch next, nearest first; returns the number of pieces, 0 if it wants nothing or has come to its end. It counts
 * as fetched. With gaps, each step is a piece of its own.
 */
struct canfs_piece {
	uint64_t offset, bytes;
};
struct canfs_reach {
	uint64_t ahead_bytes; /* to be fetched ahead of the furthest read */
	uint32_t piece_bytes; /* at most */
	uint64_t end;         /* canfs_cursor_end() */
};

/* Where it will stop, as a position of its own: at the end of the file, */
uint64_t canfs_cursor_end(const struct canfs_cursor *cursor, uint64_t file_bytes);

/*
 * or before, where another reader of the same file began: a reader of one part reads none of another's. A reader that
 * goes on from there all the same has passed it. Returns the nearer one.
 */
uint64_t canfs_cursor_end_before(
	const struct canfs_cursor *cursor, const struct canfs_cursor *other, uint64_t end);
size_t canfs_cursor_fetch(struct canfs_cursor *cursor, const struct canfs_reach *reach,
	struct canfs_piece piece[], size_t pieces);

/* So many of the bytes to be fetched were there already: returns how many no longer count. */
uint32_t canfs_cursor_was_there(struct canfs_cursor *cursor, uint64_t bytes);

/* These bytes were not fetched, or have changed: returns how many no longer count as fetched. */
uint32_t canfs_cursor_not_fetched(struct canfs_cursor *cursor, uint64_t offset, uint64_t bytes);

#endif
