// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/knee.h"

#include <errno.h>
#include <math.h>

#define SAME_POWER   0.95 /* two runs of the same load differ by up to 5 % */
#define PASSED_POWER 0.6  /* at constant throughput, doubling the depth halves the power */
#define FLAT         0.9

static double power(const struct canfs_load_point *point)
{
	return point->per_sec * (point->per_sec / point->latency_usec);
}

static bool is_measured(double value)
{
	return isfinite(value) && value > 0.0;
}

static bool are_valid(const struct canfs_load_point *points, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_measured(points[i].depth) || !is_measured(points[i].per_sec) ||
			!is_measured(points[i].latency_usec) || !is_measured(power(&points[i])))
			return false;
		if (i == 0 ? points[i].depth != 1.0 : points[i].depth <= points[i - 1].depth)
			return false;
	}
	return true;
}

static size_t most_powerful(const struct canfs_load_point *points, size_t count)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++) {
		if (power(&points[i]) > power(&points[best]))
			best = i;
	}
	return best;
}

static size_t knee_index(const struct canfs_load_point *points, size_t count)
{
	const double enough = SAME_POWER * power(&points[most_powerful(points, count)]);
	size_t i = 0;

	while (power(&points[i]) < enough)
		i++;
	return i;
}

int canfs_knee_find(const struct canfs_load_point *points, size_t count, struct canfs_knee *knee)
{
	double most_per_sec = 0.0;
	size_t at;

	if (!are_valid(points, count))
		return -EINVAL;
	if (count < 2)
		return -ENODATA;
	for (size_t i = 0; i < count; i++)
		most_per_sec = fmax(most_per_sec, points[i].per_sec);
	at = knee_index(points, count);
	*knee = (struct canfs_knee) {
		.depth = points[at].depth,
		.at_end = at == count - 1,
		.is_flat = points[0].per_sec >= FLAT * most_per_sec,
	};
	return 0;
}

bool canfs_knee_passed(const struct canfs_load_point *points, size_t count)
{
	if (count < 2 || !are_valid(points, count))
		return false;
	return power(&points[count - 1]) <
	       PASSED_POWER * power(&points[most_powerful(points, count)]);
}
