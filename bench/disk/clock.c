/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
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

double canfs_clock_sleep_until(const struct canfs_clock *clock, double model_usec)
{
	double due = clock->base_wall_usec + (model_usec - clock->base_model_usec) / clock->scale;
	double now = wall_usec();
	struct timespec until;

	if (due > now) {
		until.tv_sec = (time_t)(due / 1e6);
		until.tv_nsec = (long)((due - (double)until.tv_sec * 1e6) * 1e3);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
		now = wall_usec();
	}
	return now > due ? now - due : 0;
}
