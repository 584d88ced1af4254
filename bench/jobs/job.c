// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/jobs/job.h"

#define SAMPLES_MAX ((size_t)4 << 20)

double canfs_job_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void canfs_job_sleep_until(double when)
{
	struct timespec until = { .tv_sec = (time_t)when };

	until.tv_nsec = (long)((when - (double)until.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

void canfs_samples_add(struct canfs_samples *s, double seconds)
{
	if (s->count == s->capacity) {
		size_t capacity = s->capacity ? 2 * s->capacity : 4096;
		double *larger = capacity > SAMPLES_MAX
					 ? NULL
					 : realloc(s->seconds, capacity * sizeof(*larger));

		if (!larger) {
			s->lost++;
			return;
		}
		s->seconds = larger;
		s->capacity = capacity;
	}
	s->seconds[s->count++] = seconds;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void canfs_samples_sort(struct canfs_samples *s)
{
	if (s->count > 0)
		qsort(s->seconds, s->count, sizeof(*s->seconds), ascending);
}

double canfs_samples_percentile(const struct canfs_samples *s, double percent)
{
	if (s->count == 0)
		return 0;
	return s->seconds[(size_t)(percent / 100 * (double)(s->count - 1))];
}

void canfs_samples_free(struct canfs_samples *s)
{
	free(s->seconds);
	*s = (struct canfs_samples) { 0 };
}

double canfs_job_number(const char *option, const char *text, double min, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= min && value <= max)) {
		fprintf(stderr, "--%s %s: must be a number from %g to %g\n", option, text, min,
			max);
		exit(2);
	}
	return value;
}

uint64_t canfs_job_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

double canfs_job_uniform(uint64_t *state)
{
	return (double)(canfs_job_random(state) >> 11) * 0x1p-53;
}

/* Knuth, The Art of Computer Programming 2, 3.4.1, algorithm A. */
double canfs_job_gamma(uint64_t *state, double shape, double mean)
{
	double scale = sqrt(2 * shape - 1), x, y;

	do {
		do {
			y = tan(M_PI * canfs_job_uniform(state));
			x = scale * y + shape - 1;
		} while (x <= 0);
	} while (canfs_job_uniform(state) >
		 (1 + y * y) * exp((shape - 1) * log(x / (shape - 1)) - scale * y));
	return x * mean / shape;
}
