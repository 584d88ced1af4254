/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The level of a noisy utilization: steady while the load is constant, new as soon as it
 * changes.
 *
 *	       .  .                 . . .
 *	sample  . ' . ' . . ' ' . '  .  ' . .
 *	                     change^ ^noticed
 *	level  ---------------------.________      the mean since the load changed
 *
 * CA-NFS §3.3 averages "over a few hundreds of milliseconds". For a disk that is too long and
 * too short at once: in 100 ms it serves ten reads, so a constant load looks anything between
 * idle and full (measured: 0.54 ± 0.24), and what evens that out, a mean over seconds, shows a
 * burst when it is over.
 *
 * So the level is a mean over seconds that begins anew when the samples say that the load has
 * changed. They do (CUSUM: E. S. Page, Continuous inspection schemes, Biometrika 1954) when
 * they have been on one side of the level for so long, and so far, that it cannot be noise:
 * the deviations from it, in units of what is usual and less half a unit each, sum up to six.
 * From a constant level a step of the whole range is noticed at its second sample, one of
 * twice the noise after five; noise alone does so about once in 300 samples.
 */
#ifndef CANFS_PRICING_LEVEL_H
#define CANFS_PRICING_LEVEL_H

#include <stdbool.h>

/*
 * Of the levels of rates: at one moment a link is idle or full, and so is a processor, and a disk serves but ten reads in
 * 100 ms. Two seconds make the price of a constant load steady to 0.05 at the noisiest, a disk. Clients know it, too: by it
 * they judge whether a price that falls goes on to fall.
 */
#define CANFS_RATE_TAU_SEC 2.0

/* Samples that lie on one side of the level: has the load changed? */
struct canfs_drift {
	double evidence; /* 0: there is none */
	double sum, sec; /* since it began: sample * seconds, seconds */
};

struct canfs_level {
	double tau_sec; /* the mean forgets with this time constant; 0 = the level is the last sample */
	double value;     /* in [0, 1]; 0 before the first sample */
	bool primed;      /* the first sample is taken as it is */
	double age_sec;   /* the mean is of so long at most */
	double deviation; /* usual distance of a sample from the level */
	struct canfs_drift up, down;
};

void canfs_level_init(struct canfs_level *level, double tau_sec);

/*
 * Adds a sample, in [0, 1], that stands for the last elapsed_sec seconds (<= 0: it is ignored,
 * a clock that stands still carries no news; what is no number is ignored too). Returns the
 * new level.
 */
double canfs_level_add(struct canfs_level *level, double sample, double elapsed_sec);

#endif
