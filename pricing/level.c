// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/level.h"

#include <math.h>

/*
 * Chosen with the recorded queue of a disk under seven loads of 20 s each. There, the deviation of
 * the price hardly depends on these values (drift 0.5 ... 1, evidence 4 ... 7).
 */
#define DRIFT    0.5 /* deviation that noise alone may cause, in units of noise */
#define EVIDENCE 6.0 /* above this, the load has changed */

/* Standard deviation per mean absolute deviation, for a normal distribution. */
#define NOISE_PER_DEVIATION 1.25

/* Lower bound of the noise. Changes below it (in price: 0.02 ... 0.2) may be detected later. */
#define NOISE_MIN 0.05

/* A sample counts for at most this many units of noise, so that no single sample is a change. */
#define SURPRISE_MAX 4.0

void canfs_level_init(struct canfs_level *level, double tau_sec)
{
	*level = (struct canfs_level) { .tau_sec = tau_sec };
}

static bool has_changed(
	struct canfs_drift *drift, double deviation, double sample, double elapsed_sec)
{
	drift->evidence += deviation - DRIFT;
	if (drift->evidence <= 0) {
		*drift = (struct canfs_drift) { 0 };
		return false;
	}
	drift->sum += sample * elapsed_sec;
	drift->sec += elapsed_sec;
	return drift->evidence > EVIDENCE;
}

static void begin_anew(struct canfs_level *level, double value, double age_sec)
{
	level->value = value;
	level->age_sec = age_sec;
	level->up = level->down = (struct canfs_drift) { 0 };
}

double canfs_level_add(struct canfs_level *level, double sample, double elapsed_sec)
{
	double distance, surprise, forget;
	bool higher, lower;

	if (isnan(sample) || !(elapsed_sec > 0) || !isfinite(elapsed_sec))
		return level->value;
	sample = fmin(fmax(sample, 0), 1);
	if (!level->primed || !(level->tau_sec > 0)) {
		level->primed = true;
		begin_anew(level, sample, elapsed_sec);
		return level->value;
	}
	distance = sample - level->value;
	surprise = distance / fmax(NOISE_PER_DEVIATION * level->deviation, NOISE_MIN);
	surprise = fmin(fmax(surprise, -SURPRISE_MAX), SURPRISE_MAX);
	higher = has_changed(&level->up, surprise, sample, elapsed_sec);
	lower = has_changed(&level->down, -surprise, sample, elapsed_sec);
	if (higher || lower) {
		struct canfs_drift drift = higher ? level->up : level->down;

		begin_anew(level, drift.sum / drift.sec, drift.sec);
		return level->value;
	}
	forget = -expm1(-elapsed_sec / level->tau_sec);
	level->age_sec += elapsed_sec;
	level->value += fmax(forget, elapsed_sec / level->age_sec) * distance;
	level->deviation += forget * (fabs(distance) - level->deviation);
	return level->value;
}
