// SPDX-License-Identifier: LGPL-3.0-or-later
#include "bench/herd/laws.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define MIB ((double)(1 << 20))

static const double link_bytes_per_sec = 120e6;
static const double start_bytes_per_sec = 8 * MIB;

static double clamp(double value, double low, double high)
{
	return fmin(fmax(value, low), high);
}

static void init_simple(union herd_law_state *state)
{
	state->simple = (struct herd_rate) { .rate_bytes_per_sec = start_bytes_per_sec };
}

static double seconds(const struct herd_view *view)
{
	return fmin((double)view->pace.elapsed_usec / 1e6, 0.2);
}

/* Whole chunks, like the agent. */
static uint64_t pay(struct herd_rate *simple, double rate, double sec)
{
	double bytes;

	simple->credit_bytes = fmin(simple->credit_bytes + rate * sec, 32 * MIB);
	bytes = floor(simple->credit_bytes / CANFS_PACE_CHUNK_BYTES) * CANFS_PACE_CHUNK_BYTES;
	simple->credit_bytes -= bytes;
	return (uint64_t)bytes;
}

static uint64_t step_threshold(union herd_law_state *state, const struct herd_view *view)
{
	if (view->verdict != CANFS_ACCELERATE)
		return 0;
	return pay(&state->simple, link_bytes_per_sec, seconds(view));
}

static uint64_t step_margin(union herd_law_state *state, const struct herd_view *view)
{
	double share = 4 * (view->pace.own_price - view->pace.server_price);

	return pay(&state->simple, clamp(share, 0, 1) * link_bytes_per_sec, seconds(view));
}

static uint64_t step_aimd(union herd_law_state *state, const struct herd_view *view)
{
	double *rate = &state->simple.rate_bytes_per_sec, sec = seconds(view);

	if (view->pace.own_price > view->pace.server_price)
		*rate = fmin(*rate + link_bytes_per_sec * sec, link_bytes_per_sec);
	else
		*rate *= exp(-1.5 * sec);
	return pay(&state->simple, *rate, sec);
}

/*
 * Doubles in 0.5 s while accelerating. Halves in 0.25 s while half a second's worth is uncommitted.
 * Stops at DEFER, and restarts at half the rate.
 */
static uint64_t step_doubling(union herd_law_state *state, const struct herd_view *view)
{
	struct herd_rate *simple = &state->simple;
	double on_its_way = (double)view->pace.in_flight_bytes, sec = seconds(view);
	enum canfs_verdict before = simple->verdict;
	bool open = on_its_way <= fmax(simple->rate_bytes_per_sec * 0.5, 16 * MIB);

	simple->verdict = view->verdict;
	if (view->verdict != CANFS_ACCELERATE) {
		if (before == CANFS_ACCELERATE)
			simple->rate_bytes_per_sec =
				fmax(simple->rate_bytes_per_sec / 2, start_bytes_per_sec);
		simple->credit_bytes = 0;
		return 0;
	}
	if (view->pace.own_price > view->pace.server_price && open)
		simple->rate_bytes_per_sec *= exp2(sec / 0.5);
	else
		simple->rate_bytes_per_sec *= exp2(-sec / 0.25);
	simple->rate_bytes_per_sec =
		clamp(simple->rate_bytes_per_sec, start_bytes_per_sec, 1024 * MIB);
	return open ? pay(simple, simple->rate_bytes_per_sec, sec) : 0;
}

/*
 * Uses no price: the round trip of a COMMIT shows how long the server's queue is, as in TCP Vegas.
 */
static uint64_t step_commit(union herd_law_state *state, const struct herd_view *view)
{
	double *rate = &state->simple.rate_bytes_per_sec, sec = seconds(view);
	double window = fmax(*rate * 0.3, CANFS_PACE_CHUNK_BYTES);
	bool open = (double)view->pace.in_flight_bytes <= window;

	*rate = clamp(*rate * exp2(open ? sec : -sec / 0.25), 1e4, link_bytes_per_sec);
	return open ? pay(&state->simple, *rate, sec) : 0;
}

static void init_taper(union herd_law_state *state)
{
	canfs_pace_init(&state->pace);
}

static uint64_t step_taper(union herd_law_state *state, const struct herd_view *view)
{
	return canfs_pace_step(&state->pace, &view->pace);
}

static uint64_t step_taper_ageless(union herd_law_state *state, const struct herd_view *view)
{
	struct canfs_pace_view ageless = view->pace;

	ageless.held_usec = 0;
	return canfs_pace_step(&state->pace, &ageless);
}

static const struct herd_law laws[] = {
	{ "stock", "the kernel alone, at its defaults", NULL, NULL },
	{ "threshold", "all that the link carries while the auction says accelerate", init_simple,
		step_threshold },
	{ "margin", "in proportion to how much cheaper the server is", init_simple, step_margin },
	{ "aimd", "additive increase while cheaper, multiplicative decrease", init_simple,
		step_aimd },
	{ "doubling",
		"twofold in 0.5 s while cheaper, nothing while more expensive, from half again",
		init_simple, step_doubling },
	{ "commit", "by the round trip of COMMITs, without a price", init_simple, step_commit },
	{ "ageless", "taper without the price of the deadline", init_taper, step_taper_ageless },
	{ "taper", "the agent's: client-agent/auction/pace.c", init_taper, step_taper },
};

const struct herd_law *herd_law_at(unsigned int index)
{
	return index < sizeof(laws) / sizeof(laws[0]) ? &laws[index] : NULL;
}

const struct herd_law *herd_law_find(const char *name)
{
	const struct herd_law *law;

	for (unsigned int i = 0; (law = herd_law_at(i)) && strcmp(law->name, name);)
		i++;
	return law;
}
