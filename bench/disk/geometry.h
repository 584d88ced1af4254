/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where a byte lies on a spinning disk, and how long the head needs to get there.
 *
 * A position is counted in revolutions from the outermost track: its whole part is the track, its
 * fraction the angle. Tracks are laid out as one spiral, so that a sequential transfer of n bytes
 * takes position(offset + n) - position(offset) revolutions and nothing else.
 *
 *	seek      = 0                                     on the same track
 *	          = seek_min + (seek_max - seek_min) * sqrt(tracks crossed / all tracks)
 *	rotation  = until the angle comes by; the platter turns with the absolute model time
 *	transfer  = zoned: 16 zones of equal size, the media rate falls linearly inwards
 *
 * Pure: no clock, no I/O.
 */
#ifndef CANFS_BENCH_DISK_GEOMETRY_H
#define CANFS_BENCH_DISK_GEOMETRY_H

#include <stdint.h>

#define CANFS_DISK_ZONES 16

struct canfs_geometry {
	double capacity_bytes;
	double revolution_usec;
	double seek_min_usec;
	double seek_max_usec;
	double zone_start_bytes[CANFS_DISK_ZONES + 1];
	double zone_position[CANFS_DISK_ZONES + 1]; /* revolutions */
	double track_bytes[CANFS_DISK_ZONES];
};

/* A 7200 rpm disk, 180 MB/s outside to 90 MB/s inside, full stroke 11.5 ms. capacity_bytes > 0. */
void canfs_geometry_init(struct canfs_geometry *geometry, uint64_t capacity_bytes);

/* Position of a byte offset in [0, capacity], and back. */
double canfs_geometry_position(const struct canfs_geometry *geometry, double offset_bytes);
double canfs_geometry_offset(const struct canfs_geometry *geometry, double position);

double canfs_geometry_seek_usec(const struct canfs_geometry *geometry, double from, double to);

/* How long from time_usec until the angle of position passes under the head, [0, one revolution). */
double canfs_geometry_rotation_usec(
	const struct canfs_geometry *geometry, double position, double time_usec);

#endif
