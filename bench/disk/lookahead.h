/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The drive's own read-ahead. After a read, the head stays on the track and keeps reading into a
 * segment of the drive's buffer. It stops 512 KB after the last requested byte, or when it has to
 * move.
 *
 *	segment   lo ========== hi          bytes in the buffer
 *	stream            ------->|         the active segment: hi moves with the platter, to `stop`
 *
 * Pure: time is a parameter, from which follows what the head has read.
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
	int active;             /* segment being filled; -1: none */
	double stream_usec;     /* when the head passed stream_position */
	double stream_position; /* revolutions */
	double stop_bytes;      /* end of the stream */
};

void canfs_lookahead_init(struct canfs_lookahead *lookahead);

/* The first byte that the active stream has not read at now_usec. Needs active >= 0. */
double canfs_lookahead_reach(const struct canfs_lookahead *lookahead,
	const struct canfs_geometry *geometry, double now_usec);

/*
 * Serves [lo, hi) from the buffer or the running stream, and extends the stream. If so, returns
 * true and sets *ready_usec to when the last byte is in the buffer, or to now_usec if it is there
 * already.
 */
bool canfs_lookahead_serve(struct canfs_lookahead *lookahead, const struct canfs_geometry *geometry,
	double lo, double hi, double now_usec, double *ready_usec);

/* Would canfs_lookahead_serve() return true? Changes only *ready_usec. */
bool canfs_lookahead_has(const struct canfs_lookahead *lookahead,
	const struct canfs_geometry *geometry, double lo, double hi, double now_usec,
	double *ready_usec);

/* The head begins to read [lo, hi) at start_usec, which becomes the active stream. */
void canfs_lookahead_begin(struct canfs_lookahead *lookahead, const struct canfs_geometry *geometry,
	double lo, double hi, double start_usec);

/* The head leaves at now_usec. Data read until then stays in the buffer. */
void canfs_lookahead_end(
	struct canfs_lookahead *lookahead, const struct canfs_geometry *geometry, double now_usec);

/* [lo, hi) is overwritten. Drops all segments that overlap it. */
void canfs_lookahead_invalidate(struct canfs_lookahead *lookahead, double lo, double hi);

#endif
