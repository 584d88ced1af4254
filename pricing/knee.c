// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/knee.h"

#include <errno.h>
#include <math.h>

#define SAME_POWER   0.95 /* within what two runs of the same load differ by */
#define PASSED_POWER 0.6  /* at constant throughput each doubling of the depth halves it */
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

/* Straight between two points, level beyond the last. */
static double latency_at(const struct canfs_load_point *points, size_t count, double depth)
{
	for (size_t i = 1; i < count; i++) {
		const struct canfs_load_point *left = &points[i - 1], *right = &points[i];

		if (depth <= right->depth)
			return left->latency_usec +
			       (right->latency_usec - left->latency_usec) *
				       ((depth - left->depth) / (right->depth - left->depth));
	}
	return points[count - 1].latency_usec;
}

/* The mean of d(u) over [0, 1]: trapezoids between the measured depths, up to 1 + knee. */
static double degradation_area(const struct canfs_load_point *points, size_t count, double knee)
{
	const double idle = points[0].latency_usec;
	const double congested = fmax(latency_at(points, count, 1.0 + knee), 2.0 * idle);
	double depth = 1.0, rise = 0.0, area = 0.0;

	for (size_t i = 1; depth < 1.0 + knee; i++) {
		const double next = i < count ? fmin(points[i].depth, 1.0 + knee) : 1.0 + knee;
		/* Where latency falls at first (requests that merge) nothing degrades. */
		const double next_rise = fmax(latency_at(points, count, next) - idle, 0.0);

		area += (next - depth) * (rise / 2.0 + next_rise / 2.0);
		depth = next;
		rise = next_rise;
	}
	return area / knee / (congested - idle);
}

static double price_area(double k)
{
	return 1.0 / log(k) - 1.0 / (k - 1.0);
}

/* price_area() falls with k, from 0.44 at 2 to 0.22 at 64. */
static double k_of_area(double area)
{
	double low = CANFS_KNEE_K_MIN, high = CANFS_KNEE_K_MAX;

	for (int i = 0; i < 50; i++) {
		const double middle = (low + high) / 2.0;

		if (price_area(middle) > area)
			low = middle;
		else
			high = middle;
	}
	return low;
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
		.k = k_of_area(degradation_area(points, count, points[at].depth)),
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
