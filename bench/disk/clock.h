/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Model time against wall time. The model computes when a command is done; the caller then sleeps
 * until the wall clock has come that far. A late wake-up delays one reply but not the model, so
 * that lateness does not add up.
 */
#ifndef CANFS_BENCH_DISK_CLOCK_H
#define CANFS_BENCH_DISK_CLOCK_H

#include <time.h>

struct canfs_clock {
	double base_wall_usec;
	double base_model_usec;
	double scale; /* model seconds per wall second, > 0 */
};

void canfs_clock_init(struct canfs_clock *clock);

/* Model time goes on from where it is, at another speed. */
void canfs_clock_set_scale(struct canfs_clock *clock, double scale);

double canfs_clock_now_usec(const struct canfs_clock *clock);

/* When model_usec is, on CLOCK_MONOTONIC. */
struct timespec canfs_clock_deadline(const struct canfs_clock *clock, double model_usec);

/* How long ago that was in wall time, microseconds >= 0. */
double canfs_clock_late_usec(const struct canfs_clock *clock, double model_usec);

#endif
