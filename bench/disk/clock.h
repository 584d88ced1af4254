/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Maps model time to wall time. The model computes when a command is done, and the caller sleeps
 * until that time on the wall clock. A late wake-up delays one reply but not the model, so delays
 * do not accumulate.
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

/* Changes the speed. Model time continues from its present value. */
void canfs_clock_set_scale(struct canfs_clock *clock, double scale);

double canfs_clock_now_usec(const struct canfs_clock *clock);

/* Converts model_usec to CLOCK_MONOTONIC. */
struct timespec canfs_clock_deadline(const struct canfs_clock *clock, double model_usec);

/* How long ago model_usec was, in microseconds of wall time, >= 0. */
double canfs_clock_late_usec(const struct canfs_clock *clock, double model_usec);

#endif
