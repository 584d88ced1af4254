// SPDX-License-Identifier: LGPL-3.0-or-later
#include "bench/herd/reader.h"

#include <math.h>
#include <stdlib.h>

#define STEPS_PER_SEC HERD_STEPS(1)
#define WRITING_STEPS (45 * STEPS_PER_SEC)
#define CLOSE_STEP    (60 * STEPS_PER_SEC)
#define STEPS         (90 * STEPS_PER_SEC)

enum { NUMBER = 2 }; /* of the client; selects the random numbers */

static const double rate_bytes_per_sec = 5e6;
static const double phases_sec[] = { 15, 10, 15, 10, 10 }; /* at work, not, at work ... */
static const unsigned int phases = sizeof(phases_sec) / sizeof(phases_sec[0]);

/*
 * The kernel's flusher runs every 5 s, so the data it writes is 30 to 35 s old, here 30 to 32.5 s.
 */
static const double head_start_usec = 2.5e6;

struct course {
	struct herd herd;
	unsigned short random[3];
	bool varies;
	unsigned int phase;
	double left_sec; /* rest of the phase */
	double drained_bytes[STEPS];
	double expensive_bytes;
};

static double vary(struct course *course, double value)
{
	return course->varies ? value * (0.5 + erand48(course->random)) : value;
}

static bool is_at_work(struct course *course)
{
	course->left_sec -= HERD_STEP_SEC;
	if (course->left_sec < HERD_STEP_SEC / 2 && course->phase < phases &&
		++course->phase < phases)
		course->left_sec = vary(course, phases_sec[course->phase]);
	return course->phase < phases && course->phase % 2 == 0;
}

static int begin(struct course *course, const struct herd_setup *setup)
{
	struct herd_setup alone = *setup;
	struct herd_client *client;
	int ret;

	alone.clients = alone.load_pct = 1;
	ret = herd_init(&course->herd, &alone);
	if (ret)
		return ret;
	course->varies = setup->seed != 1;
	course->random[2] = (unsigned short)setup->seed;
	for (int i = 0; i < 8; i++)
		erand48(course->random);
	course->left_sec = vary(course, phases_sec[0]);
	client = course->herd.clients;
	herd_client_init(client, NUMBER, HERD_STEADY, vary(course, rate_bytes_per_sec), setup);
	client->writer.to_write_bytes = INFINITY;
	client->kernel.head_start_usec = (uint64_t)(head_start_usec * erand48(course->random));
	return 0;
}

static void step(struct course *course, unsigned int number, struct herd_smoothness *seen)
{
	struct herd *herd = &course->herd;
	struct herd_client *client = herd->clients;

	if (number == WRITING_STEPS) {
		client->writer.to_write_bytes = 0;
		client->writer.pause_sec = INFINITY;
	}
	if (number == CLOSE_STEP) {
		seen->left_bytes = client->kernel.dirty_bytes;
		client->kernel.leaving_bytes += client->kernel.dirty_bytes;
		client->kernel.dirty_bytes = 0;
	}
	herd->server.reader_is_at_work = is_at_work(course);
	course->drained_bytes[number] = herd_step(herd);
	if (herd->server.reader_is_at_work)
		course->expensive_bytes += course->drained_bytes[number];
}

/* The peak is that of any second. The mean is from the first write to the last byte on disk. */
static void judge(const struct course *course, struct herd_smoothness *seen)
{
	double second = 0, peak = 0, all = 0;
	unsigned int last = 0;

	for (unsigned int i = 0; i < STEPS; i++) {
		second += course->drained_bytes[i];
		if (i >= STEPS_PER_SEC)
			second -= course->drained_bytes[i - STEPS_PER_SEC];
		peak = fmax(peak, second);
		all += course->drained_bytes[i];
		if (course->drained_bytes[i] > 0)
			last = i + 1;
	}
	seen->peak_over_mean = peak / (all / (last * HERD_STEP_SEC));
	seen->expensive_share = course->expensive_bytes / all;
}

int herd_beside_reader(const struct herd_setup *setup, struct herd_smoothness *seen, herd_say *say)
{
	struct course course = { 0 };
	double second = 0;
	int ret = begin(&course, setup);

	if (ret)
		goto out;
	for (unsigned int i = 0; i < STEPS; i++) {
		step(&course, i, seen);
		second += course.drained_bytes[i];
		if (say && (i + 1) % STEPS_PER_SEC == 0) {
			say(&course.herd, second);
			second = 0;
		}
	}
	judge(&course, seen);
out:
	herd_fini(&course.herd);
	return ret;
}
