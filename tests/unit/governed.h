/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A job that canfsctl/run/law.c governs, beside others, on a simulated server:
 *
 *	job     ====..====..========      own_load while it runs
 *	others  ____########________##    1 while they are at work
 *	u       the sum, at most 1, with noise; a sample each 100 ms
 *	price   its average over 2 s; or, if the server notices changes, P(u) of its level, like the plugin's
 *	known   the price that the job's poller gets when it asks, ten times a second; or the price that is
 *	        pushed when it has moved, or when others come or go, if the server tells of them
 *
 * Two that share the server get half of it each. All random numbers come from the seed.
 */
#ifndef CANFS_TESTS_GOVERNED_H
#define CANFS_TESTS_GOVERNED_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "canfsctl/run/law.h"
#include "pricing/level.h"
#include "pricing/price.h"
#include "pricing/utilization.h"
#include "protocol/subscription.h"

#define STEP_USEC   10000
#define SAMPLE_USEC 100000
#define SERVER_K    4.0
#define QUIET_USEC  900000 /* the price service then also pushes a price that has not moved */

struct scene {
	struct canfs_govern_terms terms;
	bool notices_changes;      /* the server does */
	bool pushes;               /* the server does */
	bool tells_others;         /* the server does, when it pushes */
	double tau_sec;            /* of its averages; 0: the law's value */
	double own_load, tail_sec; /* tail: the load lasts so long into a pause */
	double others_load;        /* while they are at work; 0: 1 */
	double busy_sec, idle_sec; /* of the others, in turn; idle first */
	double jitter;             /* share by which each of these may be longer or shorter */
	double work_sec;           /* time that the job takes alone */
	double limit_sec;          /* end of the simulation if the job has not ended; 0: none */
	unsigned short seed;
};

struct outcome {
	double took_sec, ran_sec, longest_pause_sec, done_sec;
	double others_busy_sec, beside_sec; /* the part of it in which the job ran */
	unsigned int pauses;
	struct canfs_govern_law law; /* at the end */
};

struct simulation {
	const struct scene *scene;
	struct outcome seen;
	unsigned short random[3];
	struct canfs_average average;
	struct canfs_level level;
	double sum; /* of the load, since the last sample */
	double price;
	bool is_new;                             /* the price was computed in this step */
	double others_sum, others, known_others; /* of the others, like the price */
	bool others_work;
	double turn_sec; /* until the others change */
	double tail_sec; /* the paused job's load lasts */
	double pause_sec;
	uint64_t now_usec;
	uint64_t ask_usec, price_usec; /* when the poller asks next; when it last got a price */
	double known_price;
};

static inline double draw(struct simulation *sim)
{
	return erand48(sim->random);
}

static inline void take_turns(struct simulation *sim, double dt_sec)
{
	const struct scene *scene = sim->scene;
	double mean_sec;

	sim->turn_sec -= dt_sec;
	if (sim->turn_sec > 0 || !(scene->busy_sec > 0))
		return;
	sim->others_work = !sim->others_work || !(scene->idle_sec > 0);
	mean_sec = sim->others_work ? scene->busy_sec : scene->idle_sec;
	sim->turn_sec = mean_sec * (1 + scene->jitter * (2 * draw(sim) - 1));
}

/* A queue that is never empty, or always empty, has no noise. */
static inline void sample(struct simulation *sim)
{
	double u = sim->sum * STEP_USEC / SAMPLE_USEC;

	u += (2 * draw(sim) - 1) * fmin(fmin(u, 1 - u), 0.25);
	canfs_average_add(&sim->average, u, SAMPLE_USEC / 1e6);
	canfs_level_add(&sim->level, u, SAMPLE_USEC / 1e6);
	sim->price = sim->scene->notices_changes ? canfs_price(sim->level.value, SERVER_K)
						 : sim->average.value;
	sim->is_new = true;
	sim->sum = 0;
	sim->others = sim->others_sum * STEP_USEC / SAMPLE_USEC;
	sim->others_sum = 0;
}

static inline void load_server(struct simulation *sim, bool job_runs, double dt_sec)
{
	double others_load = sim->scene->others_load > 0 ? sim->scene->others_load : 1;
	double load = sim->others_work ? others_load : 0;

	sim->tail_sec = job_runs ? sim->scene->tail_sec : fmax(sim->tail_sec - dt_sec, 0);
	if (job_runs || sim->tail_sec > 0)
		load += sim->scene->own_load;
	sim->sum += fmin(load, 1);
	sim->others_sum += sim->others_work;
	sim->is_new = false;
	if (sim->now_usec % SAMPLE_USEC == 0)
		sample(sim);
}

/*
 * Asks in the poller's rhythm, every 100 ms, stretched by a random phase. The price has the steps
 * of the tag.
 */
static inline bool ask(struct simulation *sim)
{
	if (sim->now_usec < sim->ask_usec)
		return false;
	sim->ask_usec = sim->now_usec + (uint64_t)((0.8 + 0.4 * draw(sim)) * 1e5);
	sim->known_price = round(sim->price * 255) / 255;
	return true;
}

static inline bool is_pushed(struct simulation *sim)
{
	bool moved = fabs(sim->price - sim->known_price) > CANFS_PUSH_THRESHOLD;

	if (sim->scene->tells_others)
		moved = moved || canfs_others_came(sim->known_others, sim->others) ||
			canfs_others_came(sim->others, sim->known_others);
	if (!sim->is_new || (!moved && sim->now_usec < sim->price_usec + QUIET_USEC))
		return false;
	sim->known_price = sim->price;
	sim->known_others = sim->others;
	return true;
}

static inline void govern(struct simulation *sim)
{
	struct canfs_govern_law *law = &sim->seen.law;
	bool has_come = sim->scene->pushes ? is_pushed(sim) : ask(sim);
	bool was_paused = law->is_paused;

	if (!has_come && sim->now_usec < canfs_govern_law_due_usec(law))
		return;
	if (has_come)
		sim->price_usec = sim->now_usec;
	canfs_govern_law_step(law,
		(struct canfs_govern_price) { .price = sim->known_price,
			.usec = sim->price_usec,
			.others = sim->scene->tells_others ? sim->known_others : -1 },
		sim->now_usec);
	sim->seen.pauses += law->is_paused && !was_paused;
}

static inline void measure_job(struct simulation *sim, bool job_runs, double dt_sec)
{
	struct outcome *seen = &sim->seen;

	seen->took_sec += dt_sec;
	sim->pause_sec = job_runs ? 0 : sim->pause_sec + dt_sec;
	seen->longest_pause_sec = fmax(seen->longest_pause_sec, sim->pause_sec);
	if (sim->others_work)
		seen->others_busy_sec += dt_sec;
	if (!job_runs)
		return;
	seen->ran_sec += dt_sec;
	seen->done_sec += sim->others_work ? dt_sec / 2 : dt_sec;
	if (sim->others_work)
		seen->beside_sec += dt_sec;
}

static inline struct outcome simulate(const struct scene *scene)
{
	struct simulation sim = {
		.scene = scene, .now_usec = 1000000, .turn_sec = scene->idle_sec
	};
	const double dt_sec = STEP_USEC / 1e6;
	double tau_sec = scene->tau_sec > 0 ? scene->tau_sec : CANFS_RATE_TAU_SEC;

	sim.random[0] = scene->seed;
	canfs_average_init(&sim.average, tau_sec);
	canfs_level_init(&sim.level, tau_sec);
	canfs_govern_law_init(&sim.seen.law, &scene->terms, sim.now_usec);
	do {
		bool job_runs = !sim.seen.law.is_paused;

		sim.now_usec += STEP_USEC;
		take_turns(&sim, dt_sec);
		load_server(&sim, job_runs, dt_sec);
		measure_job(&sim, job_runs, dt_sec);
		govern(&sim);
	} while (sim.seen.done_sec < scene->work_sec &&
		 (!(scene->limit_sec > 0) || sim.seen.took_sec < scene->limit_sec));
	return sim.seen;
}

#endif
