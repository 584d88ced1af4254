/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One cursor: a reader's place in a file, the confidence in that place, and what was fetched ahead
 * of it (Ellard & Seltzer 2003: SlowDown, §6.2; cursors, §7). Pure: no clock, no lock, no
 * allocation. 64 bytes, one cache line.
 *
 * The paper's nfsd expects one offset. This cursor expects steps, since clients have many READs in
 * flight:
 *
 *	              base = the expected offset               front
 *	               v                                         v
 *	  --- read --- |  ?  | read |  ?  | read | read |  ?  | read |  ...  fetched_to
 *	               seen:  0     1      0     1      1      0     1
 *	               |<---------- reach: at most 64 steps ------->|
 *
 *	read at base      expected: seqcount grows by 1, and by 1 for each read that came early; base advances
 *	read above base   near: seqcount stays; a bit of `seen` is set
 *	`tolerance` reads wait for base: base will not be read. The missing steps are given up; seqcount halves
 *
 * A shuffled window thus counts as sequential once it is complete. Random reads leave holes, so
 * they never count. The number of reads that may wait is learned from late reads. A new cursor
 * tolerates 8, the usual number of slots of an NFS client.
 *
 * A step is one read. If there are gaps between the reads (a stride), a step is the distance
 * between two reads. Descending readers are ascending readers in mirrored positions. A new cursor
 * is LEARNING: its bitmap gathers reads around the first one. It has learned its way when the reads
 * form a line without holes, or are evenly spaced, and went one way.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_CURSOR_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CANFS_SEQCOUNT_MAX     127u
#define CANFS_OFFSET_MAX       ((uint64_t)1 << 61) /* reads end at or below this offset */
#define CANFS_CURSOR_TOLERANCE 8u                  /* reads */

enum canfs_heading { CANFS_LEARNING, CANFS_UP, CANFS_DOWN };

struct canfs_cursor {
	uint64_t base, seen; /* positions as in cursor.c */
	union {
		uint64_t fetched_to;
		uint64_t last; /* LEARNING: where the last read began */
	};
	uint64_t fetched_from;
	union {
		uint64_t step;
		int64_t delta; /* LEARNING: distance between the last two reads */
	};
	uint32_t span;        /* bytes read of a step; == step without gaps. LEARNING: of a bit */
	uint32_t outstanding; /* bytes fetched, neither read nor given up */
	union {
		uint32_t run;   /* bytes from the start of the stream to base, without gaps */
		uint32_t begun; /* LEARNING: the stamp at its first read */
	};
	uint32_t stamp;       /* the file's read count at the last hit; set by the table */
	uint8_t seqcount;     /* 1 ... 127. LEARNING: reads */
	uint8_t tolerance;    /* reads */
	uint8_t heading : 2;  /* enum canfs_heading */
	uint8_t disorder : 6; /* of the recent reads: 0 (in sequence) ... 63 */
	bool referenced : 1;  /* for the table: hit since its clock hand last passed */
	bool suspected : 1;   /* account.h */
	uint8_t behind : 6;   /* how many more reads behind base are accepted: late ones, repeats */
	union {
		uint32_t surplus; /* bytes read that are not yet counted as used, <= span */
		struct {
			uint8_t ups, downs; /* LEARNING: reads above and below all earlier reads */
			uint8_t repeats;    /* of delta */
			bool uneven;        /* some offsets are not a multiple of span apart */
		};
	};
};

/* What a read did, in bytes. */
struct canfs_followed {
	uint32_t sequential; /* read in sequence */
	uint32_t used;       /* fetched bytes that were read */
	uint32_t wasted;     /* fetched bytes that were given up */
};

/*
 * Starts a cursor at its first read. bytes, in all these functions: 1 ... UINT32_MAX / 4. stamp:
 * the file's read count.
 */
void canfs_cursor_begin(
	struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, uint32_t stamp);

/*
 * Starts a cursor on a stride that the caller has found: four reads, each `step` bytes after the
 * one before (negative: descending). This read is the last of the four. False: the step is too wide
 * or too narrow, so the cursor starts as by canfs_cursor_begin().
 */
bool canfs_cursor_begin_stride(
	struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, int64_t step, uint32_t stamp);

/*
 * Returns the distance of the read from the expected one, in bytes. 0: it is the expected one.
 * UINT64_MAX: the read does not belong to this cursor. Reads of up to reach_bytes may wait for an
 * earlier read, clamped to 24 ... 32 reads.
 */
uint64_t canfs_cursor_distance(
	const struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, uint32_t reach_bytes);

/* Takes a read of this cursor. Its distance must not be UINT64_MAX. */
struct canfs_followed canfs_cursor_follow(
	struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes, uint32_t reach_bytes);

/*
 * True if the reads ascend without gaps, and are no more out of order than a server's few threads
 * make a sequence. The kernel's read-ahead takes reads in worse order for random ones.
 */
bool canfs_cursor_is_plain(const struct canfs_cursor *cursor);

/* True if all bytes fetched for the cursor were read or given up. */
bool canfs_cursor_is_past_fetched(const struct canfs_cursor *cursor);

/*
 * Returns how far to be ahead, in bytes. It grows with seqcount and reaches max_bytes at half of
 * CANFS_SEQCOUNT_MAX. It is at most four times the length of the stream so far. 0 while LEARNING.
 */
uint64_t canfs_cursor_ahead(const struct canfs_cursor *cursor, uint64_t max_bytes);

/*
 * True if there is something to fetch now: at most half of ahead_bytes lies fetched ahead of the
 * reader.
 */
bool canfs_cursor_wants(const struct canfs_cursor *cursor, uint64_t ahead_bytes);

/* A range to fetch. With gaps, each step is a piece of its own. */
struct canfs_piece {
	uint64_t offset, bytes;
};
struct canfs_reach {
	uint64_t ahead_bytes; /* how far to fetch ahead of the furthest read */
	uint32_t piece_bytes; /* maximum size of a piece */
	uint64_t end;         /* canfs_cursor_end() */
};

/* Returns the position (cursor.c) where the cursor stops at the end of the file. */
uint64_t canfs_cursor_end(const struct canfs_cursor *cursor, uint64_t file_bytes);

/*
 * Returns the nearer of `end` and the position where another reader of the same file began. A
 * reader of one part does not read another reader's part. A cursor that has passed that position is
 * not stopped by it.
 */
uint64_t canfs_cursor_end_before(
	const struct canfs_cursor *cursor, const struct canfs_cursor *other, uint64_t end);
/*
 * Returns how many pieces to fetch next, nearest first; they count as fetched. 0: nothing wanted,
 * or at its end.
 */
size_t canfs_cursor_fetch(struct canfs_cursor *cursor, const struct canfs_reach *reach,
	struct canfs_piece piece[], size_t pieces);

/* `bytes` of the advised bytes need no fetch. Returns how many no longer count as fetched. */
uint32_t canfs_cursor_was_there(struct canfs_cursor *cursor, uint64_t bytes);

/* These bytes were not fetched, or have changed. Returns how many no longer count as fetched. */
uint32_t canfs_cursor_not_fetched(struct canfs_cursor *cursor, uint64_t offset, uint64_t bytes);

#endif
