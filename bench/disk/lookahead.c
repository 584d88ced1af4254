// SPDX-License-Identifier: LGPL-3.0-or-later
#include <math.h>

#include "bench/disk/lookahead.h"

#define AHEAD_BYTES       (512.0 * 1024)
#define SEGMENT_MAX_BYTES (4.0 * 1024 * 1024)

void canfs_lookahead_init(struct canfs_lookahead *la)
{
	*la = (struct canfs_lookahead) { .active = -1 };
}

double canfs_lookahead_reach(
	const struct canfs_lookahead *la, const struct canfs_geometry *g, double now_usec)
{
	double turned = fmax(0, now_usec - la->stream_usec) / g->revolution_usec;

	return fmin(canfs_geometry_offset(g, la->stream_position + turned), la->stop_bytes);
}

static double stop_after(const struct canfs_geometry *g, double hi)
{
	return fmin(hi + AHEAD_BYTES, g->capacity_bytes);
}

/* The bounds of segment i after adding what the head has read, limited to a segment's size. */
static void bounds(const struct canfs_lookahead *la, int i, double reach, double *lo, double *hi)
{
	*lo = la->segment[i].lo;
	*hi = la->segment[i].hi;
	if (i != la->active)
		return;
	*hi = fmax(*hi, reach);
	*lo = fmax(*lo, *hi - SEGMENT_MAX_BYTES);
}

static void fill_active(struct canfs_lookahead *la, double reach)
{
	struct canfs_segment *s = &la->segment[la->active];

	bounds(la, la->active, reach, &s->lo, &s->hi);
}

/*
 * A request near the end of the buffered data moves the stop. A stream that has already stopped
 * there must wait until its position comes around again.
 */
static void extend(
	struct canfs_lookahead *la, const struct canfs_geometry *g, double hi, double now_usec)
{
	double reach = canfs_lookahead_reach(la, g, now_usec);

	if (reach < la->stop_bytes) {
		la->stop_bytes = fmax(la->stop_bytes, stop_after(g, hi));
	} else if (hi + AHEAD_BYTES / 2 >= la->stop_bytes) {
		la->stream_position = canfs_geometry_position(g, la->stop_bytes);
		la->stream_usec =
			now_usec + canfs_geometry_rotation_usec(g, la->stream_position, now_usec);
		la->stop_bytes = fmax(la->stop_bytes, stop_after(g, hi));
	}
}

/* The segment that has [lo, hi), or will have it at *ready_usec without a seek. -1: none. */
static int find(const struct canfs_lookahead *la, const struct canfs_geometry *g, double lo,
	double hi, double now_usec, double *ready_usec)
{
	double reach = la->active >= 0 ? canfs_lookahead_reach(la, g, now_usec) : 0;
	double segment_lo, segment_hi, passes_usec;

	*ready_usec = now_usec;
	for (int i = 0; i < CANFS_DISK_SEGMENTS; i++) {
		bounds(la, i, reach, &segment_lo, &segment_hi);
		if (lo >= segment_lo && hi <= segment_hi)
			return i;
	}
	if (la->active < 0 || reach >= la->stop_bytes)
		return -1;
	bounds(la, la->active, reach, &segment_lo, &segment_hi);
	if (lo < segment_lo || lo > reach)
		return -1;
	passes_usec = la->stream_usec +
		      (canfs_geometry_position(g, hi) - la->stream_position) * g->revolution_usec;
	*ready_usec = fmax(now_usec, passes_usec);
	return la->active;
}

bool canfs_lookahead_has(const struct canfs_lookahead *la, const struct canfs_geometry *g,
	double lo, double hi, double now_usec, double *ready_usec)
{
	return find(la, g, lo, hi, now_usec, ready_usec) >= 0;
}

bool canfs_lookahead_serve(struct canfs_lookahead *la, const struct canfs_geometry *g, double lo,
	double hi, double now_usec, double *ready_usec)
{
	int i = find(la, g, lo, hi, now_usec, ready_usec);

	if (la->active >= 0)
		fill_active(la, canfs_lookahead_reach(la, g, now_usec));
	if (i < 0)
		return false;
	la->segment[i].used_usec = now_usec;
	if (i == la->active)
		extend(la, g, hi, now_usec);
	return true;
}

void canfs_lookahead_begin(struct canfs_lookahead *la, const struct canfs_geometry *g, double lo,
	double hi, double start_usec)
{
	int victim = 0;

	for (int i = 0; i < CANFS_DISK_SEGMENTS; i++) {
		if (la->segment[i].hi <= la->segment[i].lo) {
			victim = i;
			break;
		}
		if (la->segment[i].used_usec < la->segment[victim].used_usec)
			victim = i;
	}
	la->segment[victim] =
		(struct canfs_segment) { .lo = lo, .hi = lo, .used_usec = start_usec };
	la->active = victim;
	la->stream_usec = start_usec;
	la->stream_position = canfs_geometry_position(g, lo);
	la->stop_bytes = stop_after(g, hi);
}

void canfs_lookahead_end(
	struct canfs_lookahead *la, const struct canfs_geometry *g, double now_usec)
{
	if (la->active < 0)
		return;
	fill_active(la, canfs_lookahead_reach(la, g, now_usec));
	la->active = -1;
}

void canfs_lookahead_invalidate(struct canfs_lookahead *la, double lo, double hi)
{
	for (int i = 0; i < CANFS_DISK_SEGMENTS; i++) {
		struct canfs_segment *s = &la->segment[i];
		double end = i == la->active ? la->stop_bytes : s->hi;

		if (lo >= end || hi <= s->lo)
			continue;
		s->lo = s->hi = 0;
		if (i == la->active)
			la->active = -1;
	}
}
