/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where a byte is on a spinning disk, and how long the head takes to get there.
 *
 * A position is counted in revolutions from the outermost track. Its integer part is the track, its
 * fraction the angle. Tracks form a single spiral, so a sequential transfer of n bytes takes
 * exactly position(offset + n) - position(offset) revolutions.
 *
 *	seek      = 0                                     on the same track
 *	          = seek_min + (seek_max - seek_min) * sqrt(tracks crossed / all tracks)
 *	rotation  = until the angle passes; the platter turns with absolute model time
 *	transfer  = zoned: 16 zones of equal size; the media rate falls linearly towards the centre
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

/*
 * A 7200 rpm disk with 180 MB/s at the outside, 90 MB/s at the inside, and a full stroke of 11.5
 * ms. capacity_bytes > 0.
 */
void canfs_geometry_init(struct canfs_geometry *geometry, uint64_t capacity_bytes);

/* Convert a byte offset in [0, capacity] to a position, and back. */
double canfs_geometry_position(const struct canfs_geometry *geometry, double offset_bytes);
double canfs_geometry_offset(const struct canfs_geometry *geometry, double position);

double canfs_geometry_seek_usec(const struct canfs_geometry *geometry, double from, double to);

/* Time from time_usec until the angle of position passes under the head, [0, one revolution). */
double canfs_geometry_rotation_usec(
	const struct canfs_geometry *geometry, double position, double time_usec);

#endif
