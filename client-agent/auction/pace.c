// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/auction/pace.h"

#include <math.h>

#include "pricing/price.h"

/* Per second. Slower than prices come, or the rate would chase its own effect. */
static const double growth = 0.1;
static const double growth_if_idle =
	1.8; /* in addition, for a server that costs nothing: twofold in 0.33 s */
static const double shrinkage = 0.5;

/*
 * High prices of one burst count once. This is the time to notice a server's queue and to drain it.
 */
static const uint64_t halving_usec = 700000;

/* A later step tells nothing about what the server sustained in the meantime. */
static const double learning_max_sec = 0.2;

/*
 * Data that was held back is spread over at least even_min_sec, however old it is. Once it may
 * leave, the rate is at least begin_share of its bound.
 */
static const double even_min_sec = 3, begin_share = 0.75;

/*
 * An expensive server that is cheap for less than this has only paused, for example because a
 * reader's packet was lost.
 */
static const double pause_sec = 0.5;

/* The held data is gone when no more is held than what arrives between two steps. */
static const double gone_sec = 0.1;
static const double gone_bytes = 2 * CANFS_PACE_CHUNK_BYTES;

static double clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

void canfs_pace_init(struct canfs_pace *pace)
{
	*pace = (struct canfs_pace) { .rate_bytes_per_sec = CANFS_PACE_START_BYTES_PER_SEC };
}

static double bid(const struct canfs_pace_view *view)
{
	double deadline = canfs_price(
		(double)view->held_usec / CANFS_PACE_DEADLINE_USEC, CANFS_PACE_DEADLINE_K);

	return fmax(fmax(view->own_price, deadline), CANFS_PACE_BID_MIN);
}

static void scale_rate(struct canfs_pace *pace, double factor)
{
	pace->rate_bytes_per_sec = clamp(pace->rate_bytes_per_sec * factor,
		CANFS_PACE_MIN_BYTES_PER_SEC, CANFS_PACE_MAX_BYTES_PER_SEC);
}

/* share: what is left of the taper, [0, 1]. */
static void learn(struct canfs_pace *pace, double own, double server, double share, double sec)
{
	if (share >= 1) {
		scale_rate(pace, exp((growth + growth_if_idle * (own - server) / own) * sec));
	} else if (share > 0) {
		scale_rate(pace, exp(-shrinkage * (1 - share) * sec));
	} else if (pace->borne && pace->since_halved_usec > halving_usec) {
		scale_rate(pace, 0.5);
		pace->since_halved_usec = 0;
		pace->borne = false;
	}
	if (share > 0)
		pace->borne = true;
}

/*
 * Bounds the rate so that two things leave evenly: the data held now, and as much new data as came
 * in the spell.
 */
static void bound_after_spell(struct canfs_pace *pace, const struct canfs_pace_view *view)
{
	double age_sec = (double)view->held_usec / 1e6;
	double spell_sec = fmin(pace->expensive_sec, age_sec);
	double left_sec = fmax(CANFS_PACE_GONE_USEC / 1e6 - age_sec, even_min_sec);

	if (spell_sec < CANFS_PACE_SPELL_USEC / 1e6)
		return;
	pace->even_sec = fmin(spell_sec, left_sec);
	pace->even_bytes_per_sec =
		clamp((double)view->held_bytes * (1 / spell_sec + 1 / pace->even_sec),
			CANFS_PACE_MIN_BYTES_PER_SEC / begin_share, CANFS_PACE_MAX_BYTES_PER_SEC);
}

/* Returns true if nobody else needs the server, or the data cannot wait. */
static bool is_its_time(const struct canfs_pace_view *view)
{
	return view->server_price < CANFS_PACE_BID_MIN ||
	       view->held_usec >= CANFS_PACE_DEADLINE_USEC;
}

/*
 * A spell may pause. After its end, held data may still grow until nothing is tapered, and the
 * bound grows with the data.
 */
static void note_spell(
	struct canfs_pace *pace, const struct canfs_pace_view *view, double share, double sec)
{
	if (share < CANFS_PACE_EXPENSIVE_SHARE) {
		pace->expensive_sec += sec;
		pace->cheap_sec = 0;
		return;
	}
	pace->cheap_sec += sec;
	if (pace->expensive_sec > 0 && pace->cheap_sec >= pause_sec)
		bound_after_spell(pace, view);
	if (share >= 1 && pace->cheap_sec >= pause_sec)
		pace->expensive_sec = 0;
}

static void smooth(
	struct canfs_pace *pace, const struct canfs_pace_view *view, double share, double sec)
{
	bool expensive = share < CANFS_PACE_EXPENSIVE_SHARE;
	double even, least, most;

	pace->even_sec -= share * share * (double)view->elapsed_usec / 1e6;
	note_spell(pace, view, share, sec);
	even = pace->even_bytes_per_sec;
	if (expensive || pace->even_sec <= 0 ||
		(double)view->held_bytes < fmax(gone_bytes, even * gone_sec))
		even = pace->even_bytes_per_sec = 0;
	if (!(even > 0))
		return;
	least = is_its_time(view) ? even * begin_share : 0;
	most = view->own_price > CANFS_PACE_BID_MIN ? CANFS_PACE_MAX_BYTES_PER_SEC : even;
	pace->rate_bytes_per_sec = clamp(pace->rate_bytes_per_sec, least, most);
}

/* The rate must not exceed the link's speed, nor take all of the link unless that is necessary. */
static void keep_to_network(struct canfs_pace *pace, const struct canfs_pace_view *view)
{
	bool needed =
		view->own_price > CANFS_PACE_BID_MIN || view->held_usec >= CANFS_PACE_DEADLINE_USEC;
	double most = view->network_bytes_per_sec * (needed ? 1 : CANFS_PACE_NETWORK_SHARE);

	if (most > 0)
		pace->rate_bytes_per_sec =
			fmin(pace->rate_bytes_per_sec, fmax(most, CANFS_PACE_MIN_BYTES_PER_SEC));
}

/*
 * Earns credit for the elapsed time. The server has not proven that it sustains data that was not
 * sent. So a long time earns one chunk, or as much as learning_max_sec.
 */
static void earn(struct canfs_pace *pace, double rate, double sec, double credit_max)
{
	double most = fmax(rate * learning_max_sec, CANFS_PACE_CHUNK_BYTES);

	pace->credit_bytes = clamp(pace->credit_bytes + fmin(rate * sec, most), 0, credit_max);
}

static bool is_soon_full(const struct canfs_pace_view *view)
{
	return (double)view->headroom_bytes < view->fill_bytes_per_sec;
}

/* Returns the size of a batch. Less is not sent yet. */
static double batch_bytes(const struct canfs_pace_view *view, double rate)
{
	if (is_soon_full(view))
		return 0;
	return fmin(fmin(rate * CANFS_PACE_BATCH_SEC, CANFS_PACE_BATCH_MAX_BYTES),
		(double)view->held_bytes);
}

static uint64_t pay_whole_chunks(struct canfs_pace *pace, double least)
{
	uint64_t bytes =
		(uint64_t)pace->credit_bytes / CANFS_PACE_CHUNK_BYTES * CANFS_PACE_CHUNK_BYTES;

	if (pace->credit_bytes < least)
		return 0;
	pace->credit_bytes -= (double)bytes;
	return bytes;
}

static bool window_is_open(double rate, uint64_t in_flight_bytes)
{
	double window = rate * CANFS_PACE_WINDOW_USEC / 1e6;

	return (double)in_flight_bytes <= fmax(window, CANFS_PACE_WINDOW_MIN_BYTES);
}

/*
 * Gathers from the moment that nothing is held until the data is worth a COMMIT, cannot wait, or is
 * complete.
 */
static void note_gathering(struct canfs_pace *pace, const struct canfs_pace_view *view)
{
	bool no_more_comes = view->fill_bytes_per_sec < CANFS_PACE_STOPPED_BYTES_PER_SEC;

	if (view->held_bytes >= CANFS_PACE_WORTH_BYTES || view->own_price > CANFS_PACE_BID_MIN ||
		view->held_usec >= CANFS_PACE_DEADLINE_USEC || no_more_comes)
		pace->gathering = false;
	else if (view->held_bytes < CANFS_PACE_CHUNK_BYTES)
		pace->gathering = true;
}

uint64_t canfs_pace_step(struct canfs_pace *pace, const struct canfs_pace_view *view)
{
	double sec = (double)view->elapsed_usec / 1e6, own = bid(view);
	double share = clamp(1 - (view->server_price - own) / CANFS_PACE_TAPER, 0, 1);
	double known_sec = fmin(sec, learning_max_sec), rate;

	pace->since_halved_usec += view->elapsed_usec;
	learn(pace, own, view->server_price, share, known_sec);
	smooth(pace, view, share, known_sec);
	keep_to_network(pace, view);
	note_gathering(pace, view);
	rate = pace->rate_bytes_per_sec * share * share;
	if (is_soon_full(view))
		rate = fmax(rate, view->fill_bytes_per_sec);
	/*
	 * Keep no more credit than for one batch at the present price, or than what is worth a
	 * COMMIT.
	 */
	pace->credit_bytes =
		fmin(pace->credit_bytes, fmax(rate * CANFS_PACE_BATCH_SEC, CANFS_PACE_WORTH_BYTES));
	if (!window_is_open(fmax(rate, pace->rate_bytes_per_sec), view->in_flight_bytes)) {
		scale_rate(pace, exp(-shrinkage * known_sec));
		earn(pace, rate, sec, pace->even_bytes_per_sec > 0 ? batch_bytes(view, rate) : 0);
		return 0;
	}
	earn(pace, rate, sec,
		pace->gathering ? CANFS_PACE_WORTH_BYTES : CANFS_PACE_BURST_MAX_BYTES);
	return rate > 0 && !pace->gathering ? pay_whole_chunks(pace, batch_bytes(view, rate)) : 0;
}

uint64_t canfs_pace_blind(struct canfs_pace *pace, uint64_t in_flight_bytes, uint64_t elapsed_usec)
{
	double rate = pace->rate_bytes_per_sec = CANFS_PACE_BLIND_BYTES_PER_SEC;

	if (!window_is_open(rate, in_flight_bytes)) {
		pace->credit_bytes = 0;
		return 0;
	}
	earn(pace, rate, (double)elapsed_usec / 1e6, CANFS_PACE_BURST_MAX_BYTES);
	return pay_whole_chunks(pace, 0);
}
