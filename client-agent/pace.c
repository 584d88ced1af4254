/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "client-agent/pace.h"

#include <math.h>

#include "pricing/price.h"

/* Per second. Slower than prices come, or the rate would chase its own effect. */
static const double growth = 0.15;
static const double growth_if_idle =
	1.8; /* more: for a server that costs nothing; twofold in 0.33 s */
static const double shrinkage = 0.5;

/* Dear prices of one burst count once: so long takes a server's queue to be seen and to be drained. */
static const uint64_t halving_usec = 700000;

/* A step that comes later than this says nothing of what the server bore in the meantime. */
static const double learning_max_sec = 0.2;

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

/* share: of the rate that the taper leaves. */
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

/* What it may rise to. */
static double bearable(const struct canfs_pace_view *view)
{
	return fmax(2 * view->drain_bytes_per_sec, CANFS_PACE_START_BYTES_PER_SEC);
}

/* Earns for the time that has passed, and pays out whole chunks. */
static uint64_t spend(struct canfs_pace *pace, double rate, double sec)
{
	/* What was not sent was not borne: a long time earns one chunk, or what a late step does. */
	double most = fmax(rate * learning_max_sec, CANFS_PACE_CHUNK_BYTES);
	uint64_t bytes;

	pace->credit_bytes =
		clamp(pace->credit_bytes + fmin(rate * sec, most), 0, CANFS_PACE_BURST_MAX_BYTES);
	bytes = (uint64_t)pace->credit_bytes / CANFS_PACE_CHUNK_BYTES * CANFS_PACE_CHUNK_BYTES;
	pace->credit_bytes -= (double)bytes;
	return bytes;
}

static bool window_is_open(double rate, uint64_t on_its_way_bytes)
{
	double window = rate * CANFS_PACE_WINDOW_USEC / 1e6;

	return (double)on_its_way_bytes <= fmax(window, CANFS_PACE_WINDOW_MIN_BYTES);
}

uint64_t canfs_pace_step(struct canfs_pace *pace, const struct canfs_pace_view *view)
{
	double sec = (double)view->elapsed_usec / 1e6, own = bid(view);
	double share = clamp(1 - (view->server_price - own) / CANFS_PACE_TAPER, 0, 1);
	double rate;

	pace->since_halved_usec += view->elapsed_usec;
	learn(pace, own, view->server_price, share, fmin(sec, learning_max_sec));
	pace->rate_bytes_per_sec = fmin(pace->rate_bytes_per_sec, bearable(view));
	rate = pace->rate_bytes_per_sec * share * share;
	if ((double)view->room_bytes < view->fill_bytes_per_sec)
		rate = fmax(rate, view->fill_bytes_per_sec);
	if (!window_is_open(fmax(rate, pace->rate_bytes_per_sec), view->on_its_way_bytes)) {
		scale_rate(pace, exp(-shrinkage * fmin(sec, learning_max_sec)));
		pace->credit_bytes = 0;
		return 0;
	}
	return rate > 0 ? spend(pace, rate, sec) : 0;
}

uint64_t canfs_pace_blind(struct canfs_pace *pace, uint64_t on_its_way_bytes, uint64_t elapsed_usec)
{
	double rate = pace->rate_bytes_per_sec = CANFS_PACE_BLIND_BYTES_PER_SEC;

	if (!window_is_open(rate, on_its_way_bytes)) {
		pace->credit_bytes = 0;
		return 0;
	}
	return spend(pace, rate, (double)elapsed_usec / 1e6);
}
