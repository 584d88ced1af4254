// SPDX-License-Identifier: LGPL-3.0-or-later
#include <math.h>

#include "bench/disk/drive.h"

#define COMMAND_USEC       100.0
#define BUS_BYTES_PER_USEC 300.0 /* = MB/s */
#define CACHE_BYTES        (16u << 20)
#define HIGH_WATER_BYTES   (CACHE_BYTES / 2)
/* One slice delays a reader by about a seek, half a revolution and 6 ms of transfer. */
#define SLICE_BYTES (1u << 20)
/*
 * A closed-loop reader behind a network sends its next read within this time, so keep the head in
 * place.
 */
#define IDLE_USEC 2000.0

void canfs_drive_init(struct canfs_drive *d, uint64_t capacity_bytes)
{
	*d = (struct canfs_drive) { 0 };
	canfs_geometry_init(&d->geometry, capacity_bytes);
	canfs_drive_drop_buffers(d);
}

void canfs_drive_drop_buffers(struct canfs_drive *d)
{
	canfs_lookahead_init(&d->lookahead);
	canfs_wcache_init(&d->wcache, CACHE_BYTES);
}

static double bus_usec(uint64_t bytes)
{
	return (double)bytes / BUS_BYTES_PER_USEC;
}

/* The head's position at now_usec. It follows the stream that it reads ahead. */
static double position(const struct canfs_drive *d, double now_usec)
{
	const struct canfs_geometry *g = &d->geometry;

	if (d->lookahead.active < 0)
		return d->head_position;
	return canfs_geometry_position(g, canfs_lookahead_reach(&d->lookahead, g, now_usec));
}

/* When the first byte at `offset` passes under a head that leaves at start_usec. */
static double arrival(const struct canfs_drive *d, double offset, double start_usec)
{
	const struct canfs_geometry *g = &d->geometry;
	double target = canfs_geometry_position(g, offset), arrived;

	arrived = start_usec + canfs_geometry_seek_usec(g, position(d, start_usec), target);
	return arrived + canfs_geometry_rotation_usec(g, target, arrived);
}

static double transfer_usec(const struct canfs_geometry *g, double lo, double hi)
{
	return (canfs_geometry_position(g, hi) - canfs_geometry_position(g, lo)) *
	       g->revolution_usec;
}

/*
 * Moves the head to `offset`, at now_usec or when it is free. Returns when the first byte passes.
 */
static double move_head(struct canfs_drive *d, double offset, double now_usec)
{
	double start = fmax(now_usec, d->head_free_usec);
	double arrived = arrival(d, offset, start);

	canfs_lookahead_end(&d->lookahead, &d->geometry, start);
	d->stats.seeks++;
	d->stats.head_busy_usec += arrived - start;
	return arrived;
}

/* Transfers [lo, hi), with the head at lo at start_usec. */
static void transfer(struct canfs_drive *d, double lo, double hi, double start_usec)
{
	double usec = transfer_usec(&d->geometry, lo, hi);

	d->head_position = canfs_geometry_position(&d->geometry, hi);
	d->head_free_usec = start_usec + usec;
	d->stats.head_busy_usec += usec;
}

/* Writes one slice of the cache to the platter, no earlier than now_usec. */
static void drain_slice(struct canfs_drive *d, double now_usec)
{
	struct canfs_extent slice;

	if (!canfs_wcache_take(&d->wcache, d->sweep_bytes, SLICE_BYTES, &slice))
		return;
	transfer(d, (double)slice.lo, (double)slice.hi, move_head(d, (double)slice.lo, now_usec));
	d->sweep_bytes = slice.hi;
	d->stats.slices++;
}

void canfs_drive_catch_up(struct canfs_drive *d, double now_usec)
{
	while (d->wcache.bytes > 0) {
		double start = d->head_free_usec;

		if (d->wcache.bytes <= HIGH_WATER_BYTES)
			start = fmax(start, d->bus_free_usec + IDLE_USEC);
		if (start >= now_usec)
			break;
		drain_slice(d, start);
	}
}

static double begin_command(struct canfs_drive *d, double arrival_usec)
{
	double start = fmax(arrival_usec, d->bus_free_usec);

	canfs_drive_catch_up(d, start);
	return start + COMMAND_USEC;
}

double canfs_drive_read(struct canfs_drive *d, uint64_t offset, uint64_t bytes, double arrival_usec)
{
	double lo = (double)offset, hi = (double)(offset + bytes), ready;
	double now = begin_command(d, arrival_usec);

	if (canfs_wcache_covers(&d->wcache, offset, offset + bytes)) {
		d->stats.buffer_hits++;
		d->bus_free_usec = now + bus_usec(bytes);
	} else if (canfs_lookahead_serve(&d->lookahead, &d->geometry, lo, hi, now, &ready)) {
		d->stats.buffer_hits++;
		d->stats.lookahead_hits++;
		/* the bus works while the platter turns; only buffered data is left to send */
		d->bus_free_usec = ready > now ? ready : now + bus_usec(bytes);
		d->head_free_usec = fmax(d->head_free_usec, ready);
	} else {
		double start = move_head(d, lo, now);

		transfer(d, lo, hi, start);
		canfs_lookahead_begin(&d->lookahead, &d->geometry, lo, hi, start);
		d->bus_free_usec = d->head_free_usec;
		if (d->wcache.bytes > HIGH_WATER_BYTES)
			drain_slice(d, d->head_free_usec);
	}
	return d->bus_free_usec;
}

double canfs_drive_read_estimate(
	const struct canfs_drive *d, uint64_t offset, uint64_t bytes, double start_usec)
{
	double lo = (double)offset, hi = (double)(offset + bytes), now = start_usec + COMMAND_USEC;
	double ready;

	if (canfs_wcache_covers(&d->wcache, offset, offset + bytes))
		return now + bus_usec(bytes);
	if (canfs_lookahead_has(&d->lookahead, &d->geometry, lo, hi, now, &ready))
		return ready > now ? ready : now + bus_usec(bytes);
	return arrival(d, lo, fmax(now, d->head_free_usec)) + transfer_usec(&d->geometry, lo, hi);
}

double canfs_drive_write_estimate(
	const struct canfs_drive *d, uint64_t offset, uint64_t bytes, double start_usec)
{
	if (!canfs_wcache_has_room(&d->wcache, offset, offset + bytes))
		return INFINITY;
	return start_usec + COMMAND_USEC + bus_usec(bytes);
}

double canfs_drive_write(
	struct canfs_drive *d, uint64_t offset, uint64_t bytes, double arrival_usec)
{
	double now = begin_command(d, arrival_usec);

	while (!canfs_wcache_has_room(&d->wcache, offset, offset + bytes)) {
		drain_slice(d, now);
		now = fmax(now, d->head_free_usec);
	}
	canfs_wcache_insert(&d->wcache, offset, offset + bytes);
	canfs_lookahead_invalidate(&d->lookahead, (double)offset, (double)(offset + bytes));
	/* an idle head cannot have begun to drain before the cache had data */
	d->head_free_usec = fmax(d->head_free_usec, now);
	d->bus_free_usec = now + bus_usec(bytes);
	return d->bus_free_usec;
}

double canfs_drive_flush(struct canfs_drive *d, double arrival_usec)
{
	double begin = begin_command(d, arrival_usec), now = begin;

	now = fmax(now, d->head_free_usec);
	while (d->wcache.bytes > 0) {
		drain_slice(d, now);
		now = fmax(now, d->head_free_usec);
	}
	d->stats.flush_max_usec = fmax(d->stats.flush_max_usec, now - begin);
	d->bus_free_usec = now;
	return now;
}
