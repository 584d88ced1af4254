// SPDX-License-Identifier: LGPL-3.0-or-later
#include <time.h>

#include "bench/disk/clock.h"

static double wall_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

void canfs_clock_init(struct canfs_clock *clock)
{
	*clock = (struct canfs_clock) { .base_wall_usec = wall_usec(), .scale = 1 };
}

void canfs_clock_set_scale(struct canfs_clock *clock, double scale)
{
	double wall = wall_usec();

	clock->base_model_usec += (wall - clock->base_wall_usec) * clock->scale;
	clock->base_wall_usec = wall;
	clock->scale = scale;
}

double canfs_clock_now_usec(const struct canfs_clock *clock)
{
	return clock->base_model_usec + (wall_usec() - clock->base_wall_usec) * clock->scale;
}

static double due_wall_usec(const struct canfs_clock *clock, double model_usec)
{
	return clock->base_wall_usec + (model_usec - clock->base_model_usec) / clock->scale;
}

struct timespec canfs_clock_deadline(const struct canfs_clock *clock, double model_usec)
{
	double due = due_wall_usec(clock, model_usec);
	struct timespec until = { .tv_sec = (time_t)(due / 1e6) };

	until.tv_nsec = (long)((due - (double)until.tv_sec * 1e6) * 1e3);
	return until;
}

double canfs_clock_late_usec(const struct canfs_clock *clock, double model_usec)
{
	double late = wall_usec() - due_wall_usec(clock, model_usec);

	return late > 0 ? late : 0;
}
