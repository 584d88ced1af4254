// SPDX-License-Identifier: LGPL-3.0-or-later
#include <math.h>

#include "bench/disk/geometry.h"

#define REVOLUTION_USEC      (60e6 / 7200)
#define SEEK_MIN_USEC        800.0
#define SEEK_MAX_USEC        11500.0
#define OUTER_BYTES_PER_USEC 180.0 /* = MB/s */
#define INNER_BYTES_PER_USEC 90.0

/*
 * Rounding may put a head that has just arrived slightly past its sector, which must not cost a
 * revolution.
 */
#define ANGLE_EPSILON 1e-4

static double fraction(double x)
{
	return x - floor(x);
}

void canfs_geometry_init(struct canfs_geometry *g, uint64_t capacity_bytes)
{
	g->capacity_bytes = (double)capacity_bytes;
	g->revolution_usec = REVOLUTION_USEC;
	g->seek_min_usec = SEEK_MIN_USEC;
	g->seek_max_usec = SEEK_MAX_USEC;
	for (int i = 0; i <= CANFS_DISK_ZONES; i++)
		g->zone_start_bytes[i] = g->capacity_bytes * i / CANFS_DISK_ZONES;
	g->zone_position[0] = 0;
	for (int i = 0; i < CANFS_DISK_ZONES; i++) {
		double rate = OUTER_BYTES_PER_USEC + (INNER_BYTES_PER_USEC - OUTER_BYTES_PER_USEC) *
							     i / (CANFS_DISK_ZONES - 1);
		double zone_bytes = g->zone_start_bytes[i + 1] - g->zone_start_bytes[i];

		g->track_bytes[i] = rate * g->revolution_usec;
		g->zone_position[i + 1] = g->zone_position[i] + zone_bytes / g->track_bytes[i];
	}
}

double canfs_geometry_position(const struct canfs_geometry *g, double offset_bytes)
{
	int zone = (int)(offset_bytes / g->capacity_bytes * CANFS_DISK_ZONES);

	if (zone < 0)
		zone = 0;
	if (zone >= CANFS_DISK_ZONES)
		zone = CANFS_DISK_ZONES - 1;
	return g->zone_position[zone] +
	       (offset_bytes - g->zone_start_bytes[zone]) / g->track_bytes[zone];
}

double canfs_geometry_offset(const struct canfs_geometry *g, double position)
{
	int zone = 0;

	while (zone < CANFS_DISK_ZONES - 1 && position >= g->zone_position[zone + 1])
		zone++;
	return g->zone_start_bytes[zone] +
	       (position - g->zone_position[zone]) * g->track_bytes[zone];
}

double canfs_geometry_seek_usec(const struct canfs_geometry *g, double from, double to)
{
	double tracks = fabs(floor(from) - floor(to));

	if (tracks == 0)
		return 0;
	return g->seek_min_usec + (g->seek_max_usec - g->seek_min_usec) *
					  sqrt(tracks / g->zone_position[CANFS_DISK_ZONES]);
}

double canfs_geometry_rotation_usec(
	const struct canfs_geometry *g, double position, double time_usec)
{
	double turn = fraction(fraction(position) - fraction(time_usec / g->revolution_usec));

	return turn > 1 - ANGLE_EPSILON ? 0 : turn * g->revolution_usec;
}
