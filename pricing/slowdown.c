// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/slowdown.h"

#include <math.h>

#include "pricing/knee.h"

/*
 * Each interval counts as if one undisturbed operation had been in flight for this share of it.
 * Otherwise one slow operation among few would look like congestion.
 */
#define UNDISTURBED_SHARE 0.1

unsigned int canfs_response_class(enum canfs_response_kind kind, uint64_t bytes)
{
	unsigned int octave = 0;

	for (uint64_t most = 4096; bytes > most && octave < CANFS_RESPONSE_OCTAVES - 1; most *= 2)
		octave++;
	return (unsigned int)kind * CANFS_RESPONSE_OCTAVES + octave;
}

unsigned int canfs_others_octave(unsigned int others)
{
	unsigned int octave = 0;

	for (; others > 0 && octave < CANFS_OTHERS_OCTAVES - 1; others /= 2)
		octave++;
	return octave;
}

void canfs_slowdown_init(struct canfs_slowdown *slowdown)
{
	*slowdown = (struct canfs_slowdown) { 0 };
}

static double this_minute(const struct canfs_response_best *best)
{
	return best->alone >= CANFS_BEST_MIN ? best->alone_sec / best->alone : 0;
}

double canfs_slowdown_best(const struct canfs_slowdown *slowdown, unsigned int response_class)
{
	const struct canfs_response_best *best = &slowdown->best[response_class];
	double least = this_minute(best);

	for (int i = 0; i < CANFS_BEST_MINUTES; i++) {
		double mean = best->minute_sec[i];

		if (mean > 0 && (least == 0 || mean < least))
			least = mean;
	}
	return least;
}

/* Takes the middle of each octave of others, and adds the operation itself. */
double canfs_slowdown_depth(const struct canfs_slowdown *slowdown)
{
	struct canfs_load_point points[CANFS_OTHERS_OCTAVES] = { { 1, 1, 1 } };
	struct canfs_knee knee = { .depth = 1 };
	size_t count = 1;

	for (int octave = 1; octave < CANFS_OTHERS_OCTAVES; octave++) {
		double depth = 0.5 + 0.75 * (1 << octave);
		double slower;

		if (slowdown->best_sec[octave] < CANFS_DEPTH_MIN_SEC)
			continue;
		slower = fmax(slowdown->took_sec[octave] / slowdown->best_sec[octave], 1);
		points[count++] = (struct canfs_load_point) { depth, depth / slower, slower };
	}
	canfs_knee_find(points, count, &knee); /* fails for a single point: the depth stays 1 */
	return knee.depth;
}

static void end_minute(struct canfs_slowdown *slowdown)
{
	slowdown->minute_sec = 0;
	for (int response_class = 0; response_class < CANFS_RESPONSE_CLASSES; response_class++) {
		struct canfs_response_best *best = &slowdown->best[response_class];

		best->minute_sec[slowdown->minute] = this_minute(best);
		best->alone = 0;
		best->alone_sec = 0;
	}
	slowdown->minute = (slowdown->minute + 1) % CANFS_BEST_MINUTES;
}

/* Scales the sums down to CANFS_DEPTH_MAX_SEC, so that older operations fade out. */
static void learn_depth(
	struct canfs_slowdown *slowdown, int octave, double took_sec, double best_sec)
{
	double *took = &slowdown->took_sec[octave], *best = &slowdown->best_sec[octave];
	double keep;

	*took += took_sec;
	*best += best_sec;
	keep = *best > CANFS_DEPTH_MAX_SEC ? CANFS_DEPTH_MAX_SEC / *best : 1;
	*took *= keep;
	*best *= keep;
}

double canfs_slowdown_step(struct canfs_slowdown *slowdown,
	const struct canfs_response_sum sums[CANFS_RESPONSE_CLASSES], double queued,
	double elapsed_sec)
{
	double took_sec = 0, best_sec = 0, delay;

	for (unsigned int response_class = 0; response_class < CANFS_RESPONSE_CLASSES;
		response_class++) {
		const struct canfs_response_sum *sum = &sums[response_class];
		double best;

		slowdown->best[response_class].alone += sum->count[0];
		slowdown->best[response_class].alone_sec += sum->sec[0];
		best = canfs_slowdown_best(slowdown, response_class);
		for (int octave = 0; best > 0 && octave < CANFS_OTHERS_OCTAVES; octave++) {
			learn_depth(slowdown, octave, sum->sec[octave], sum->count[octave] * best);
			took_sec += sum->sec[octave];
			best_sec += sum->count[octave] * best;
		}
	}
	slowdown->minute_sec += elapsed_sec;
	if (slowdown->minute_sec >= 60)
		end_minute(slowdown);
	delay = (took_sec - best_sec) / (best_sec + UNDISTURBED_SHARE * elapsed_sec);
	return fmin(fmax(fmax(delay, queued / canfs_slowdown_depth(slowdown)), 0), 1);
}
