/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The drive's own read-ahead: after a read the head stays and goes on reading into a segment of the
 * drive's buffer, until it is 512 KB past the last byte asked for or is called away.
 *
 *	segment   lo ========== hi          bytes in the buffer
 *	stream            ------->|         the active segment: hi moves with the platter, up to `stop`
 *
 * Pure: time is a parameter; what the head has read by then follows from it.
 */
#ifndef CANFS_BENCH_DISK_LOOKAHEAD_H
#define CANFS_BENCH_DISK_LOOKAHEAD_H

#include <stdbool.h>

#include "bench/disk/geometry.h"

#define CANFS_DISK_SEGMENTS 16

struct canfs_segment {
	double lo, hi; /* bytes; hi <= lo: empty */
	double used_usec;
};

struct canfs_lookahead {
	struct canfs_segment segment[CANFS_DISK_SEGMENTS];
	int active;             /* the segment that the head is filling, -1: none */
	double stream_usec;     /* at this time ... */
	double stream_position; /* ... the head passed this position */
	double stop_bytes;      /* where the stream ends */
};

void canfs_lookahead_init(struct canfs_lookahead *lookahead);

/* First byte that the active stream has not read at `now`; only with active >= 0. */
double canfs_lookahead_reach(const struct canfs_lookahead *lookahead,
	const struct canfs_geometry *geometry, double now_usec);

/*
 * Serve [lo, hi) from the buffer or from the running stream. True: *ready_usec is when its last
 * byte is in the buffer (now_usec if it is there already), and the stream has been extended.
 */
bool canfs_lookahead_serve(struct canfs_lookahead *lookahead, const struct canfs_geometry *geometry,
	double lo, double hi, double now_usec, double *ready_usec);

/* Would it be served so? Nothing is changed. */
bool canfs_lookahead_has(const struct canfs_lookahead *lookahead,
	const struct canfs_geometry *geometry, double lo, double hi, double now_usec,
	double *ready_usec);

/* The head has begun to read [lo, hi) at start_usec: it is the active stream from now on. */
void canfs_lookahead_begin(struct canfs_lookahead *lookahead, const struct canfs_geometry *geometry,
	double lo, double hi, double start_usec);

/* The head leaves at now_usec: what it has read until then stays in the buffer. */
void canfs_lookahead_end(
	struct canfs_lookahead *lookahead, const struct canfs_geometry *geometry, double now_usec);

/* [lo, hi) is overwritten: forget the segments that hold some of it. */
void canfs_lookahead_invalidate(struct canfs_lookahead *lookahead, double lo, double hi);

#endif
