/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Shared by the jobs. Jobs run inside guests, whose clocks differ, so measurements are durations.
 */
#ifndef CANFS_BENCH_JOBS_JOB_H
#define CANFS_BENCH_JOBS_JOB_H

#include <stddef.h>
#include <stdint.h>

/* Seconds of the monotonic clock. */
double canfs_job_now(void);
/* Returns at once if `when` has passed. */
void canfs_job_sleep_until(double when);

/* Latencies in order of arrival. Bounded; `lost` counts samples that did not fit. */
struct canfs_samples {
	size_t count, capacity, lost;
	double *seconds;
};

void canfs_samples_add(struct canfs_samples *samples, double seconds);
void canfs_samples_sort(struct canfs_samples *samples);
/* Needs sorted samples. percent: [0, 100]. Returns 0 if there are no samples. */
double canfs_samples_percentile(const struct canfs_samples *samples, double percent);
void canfs_samples_free(struct canfs_samples *samples);

/* Parses a number in [min, max]. On an error prints the allowed range and exits with status 2. */
double canfs_job_number(const char *option, const char *text, double min, double max);

/* SplitMix64: small, seedable, and the same on all systems. */
uint64_t canfs_job_random(uint64_t *state);
/* Uniform in [0, 1). */
double canfs_job_uniform(uint64_t *state);
/* Gamma-distributed with this shape (> 1) and mean. */
double canfs_job_gamma(uint64_t *state, double shape, double mean);

#endif
