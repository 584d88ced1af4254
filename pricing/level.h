/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The level of a noisy utilization: steady while the load is constant, updated as soon as the load
 * changes.
 *
 *	       .  .                 . . .
 *	sample  . ' . ' . . ' ' . '  .  ' . .
 *	                     change^ ^noticed
 *	level  ---------------------.________      the mean since the load changed
 *
 * CA-NFS §3.3 averages "over a few hundreds of milliseconds". For a disk, this is both too long and
 * too short. A disk serves ten reads in 100 ms, so samples of a constant load lie anywhere between
 * idle and full (measured: 0.54 ± 0.24). A mean over seconds smooths them, but shows a burst only
 * after its end.
 *
 * The level is therefore a mean over seconds that restarts when the samples show a change of load.
 * The test is CUSUM (E. S. Page, Continuous inspection schemes, Biometrika 1954). The samples must
 * stay on one side of the level so long, and so far from it, that noise cannot be the cause. Each
 * deviation is divided by the usual deviation and reduced by one half. The load has changed when
 * these terms sum up to six. From a constant level, a step over the whole range is noticed at its
 * second sample, and a step of twice the noise after five samples. Noise alone causes a false
 * restart about once in 300 samples.
 */
#ifndef CANFS_PRICING_LEVEL_H
#define CANFS_PRICING_LEVEL_H

#include <stdbool.h>

/*
 * Time constant for levels of rates. At any moment a link or a processor is idle or full, and a
 * disk serves only ten reads in 100 ms. Two seconds keep the price of a constant load steady to
 * 0.05 even on a disk, the noisiest resource. `canfsctl run` also uses this constant, to judge
 * whether a falling price will fall further.
 */
#define CANFS_RATE_TAU_SEC 2.0

/* Samples on one side of the level, as evidence that the load has changed. */
struct canfs_drift {
	double evidence; /* 0: none */
	double sum, sec; /* while evidence is > 0: sample * seconds; seconds */
};

struct canfs_level {
	double tau_sec;   /* time constant of the mean; 0: the level is the last sample */
	double value;     /* in [0, 1]; 0 before the first sample */
	bool primed;      /* there was a first sample; it sets the value */
	double age_sec;   /* time since the mean (re)started: the most it covers */
	double deviation; /* mean distance of a sample from the level */
	struct canfs_drift up, down;
};

void canfs_level_init(struct canfs_level *level, double tau_sec);

/*
 * Adds a sample in [0, 1] for the last elapsed_sec seconds. Returns the new level. Ignores a NaN
 * sample, and an elapsed_sec that is not finite and > 0, because a stopped clock gives no
 * information.
 */
double canfs_level_add(struct canfs_level *level, double sample, double elapsed_sec);

#endif
