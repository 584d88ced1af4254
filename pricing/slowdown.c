// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/slowdown.h"

#include <math.h>

/* How much the interference that is assumed at first counts. */
#define START_SEC 5.0

#define INTERFERENCE_MIN (1.0 / 1024)

/*
 * Such a share of each interval counts as if one operation had been in flight, undisturbed: few operations in an interval, of
 * which one has taken longer than usual, are no congestion.
 */
#define UNDISTURBED_SHARE 0.1

unsigned int canfs_response_class(enum canfs_response_kind kind, uint64_t bytes)
{
	unsigned int octave = 0;

	for (uint64_t most = 4096; bytes > most && octave < CANFS_RESPONSE_OCTAVES - 1; most *= 2)
		octave++;
	return (unsigned int)kind * CANFS_RESPONSE_OCTAVES + octave;
}

void canfs_slowdown_init(struct canfs_slowdown *slowdown)
{
	*slowdown = (struct canfs_slowdown) {
		.prolonged_sec = CANFS_INTERFERENCE_START * START_SEC,
		.met_sec = START_SEC,
	};
}

static double this_minute(const struct canfs_response_best *best)
{
	return best->alone >= CANFS_BEST_MIN ? best->alone_sec / best->alone : 0;
}

double canfs_slowdown_best(const struct canfs_slowdown *slowdown, unsigned int class)
{
	const struct canfs_response_best *best = &slowdown->best[class];
	double least = this_minute(best);

	for (int i = 0; i < CANFS_BEST_MINUTES; i++) {
		double mean = best->minute_sec[i];

		if (mean > 0 && (least == 0 || mean < least))
			least = mean;
	}
	return least;
}

double canfs_slowdown_interference(const struct canfs_slowdown *slowdown)
{
	return fmin(fmax(slowdown->prolonged_sec / slowdown->met_sec, INTERFERENCE_MIN), 1);
}

static void end_minute(struct canfs_slowdown *slowdown)
{
	slowdown->minute_sec = 0;
	for (int class = 0; class < CANFS_RESPONSE_CLASSES; class ++) {
		struct canfs_response_best *best = &slowdown->best[class];

		best->minute_sec[slowdown->minute] = this_minute(best);
		best->alone = 0;
		best->alone_sec = 0;
	}
	slowdown->minute = (slowdown->minute + 1) % CANFS_BEST_MINUTES;
}

/* What is older gives way to what is newer. */
static void learn_interference(
	struct canfs_slowdown *slowdown, double prolonged_sec, double met_sec)
{
	double keep = fmin(1, CANFS_INTERFERENCE_SEC / (slowdown->met_sec + met_sec));

	slowdown->prolonged_sec = keep * (slowdown->prolonged_sec + fmax(prolonged_sec, 0));
	slowdown->met_sec = keep * (slowdown->met_sec + met_sec);
}

double canfs_slowdown_step(struct canfs_slowdown *slowdown,
	const struct canfs_response_sum sums[CANFS_RESPONSE_CLASSES], double queued,
	double elapsed_sec)
{
	double took_sec = 0, best_sec = 0, prolonged_sec = 0, met_sec = 0, delay;

	for (unsigned int class = 0; class < CANFS_RESPONSE_CLASSES; class ++) {
		const struct canfs_response_sum *sum = &sums[class];
		double best;

		slowdown->best[class].alone += sum->alone;
		slowdown->best[class].alone_sec += sum->alone_sec;
		best = canfs_slowdown_best(slowdown, class);
		if (best == 0)
			continue;
		took_sec += sum->sec;
		best_sec += sum->count * best;
		prolonged_sec += sum->sec - sum->alone_sec - (sum->count - sum->alone) * best;
		met_sec += sum->met * best;
	}
	learn_interference(slowdown, prolonged_sec, met_sec);
	slowdown->minute_sec += elapsed_sec;
	if (slowdown->minute_sec >= 60)
		end_minute(slowdown);
	delay = (took_sec - best_sec) / (best_sec + UNDISTURBED_SHARE * elapsed_sec);
	return fmin(fmax(fmax(delay, queued * canfs_slowdown_interference(slowdown)), 0), 1);
}
