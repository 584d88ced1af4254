/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "client-agent/pace.h"

#include <math.h>
#include <stdbool.h>

static const uint64_t granule_bytes = 1 << 20;

static double clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

void canfs_pace_init(struct canfs_pace *pace)
{
	*pace = (struct canfs_pace) {
		.rate_bytes_per_sec = CANFS_PACE_MIN_BYTES_PER_SEC,
		.verdict = CANFS_HOLD,
	};
}

static bool window_is_open(const struct canfs_pace *pace, uint64_t on_its_way_bytes)
{
	double window = pace->rate_bytes_per_sec * CANFS_PACE_WINDOW_USEC / 1e6;

	return (double)on_its_way_bytes <= fmax(window, CANFS_PACE_WINDOW_MIN_BYTES);
}

/* Earns for the time that has passed, and pays out whole granules. */
static uint64_t spend(struct canfs_pace *pace, bool open, double elapsed_usec)
{
	uint64_t chunk;

	if (!open) {
		pace->credit_bytes = 0;
		return 0;
	}
	pace->credit_bytes =
		clamp(pace->credit_bytes + pace->rate_bytes_per_sec * elapsed_usec / 1e6, 0,
			CANFS_PACE_CHUNK_MAX_BYTES);
	chunk = (uint64_t)pace->credit_bytes / granule_bytes * granule_bytes;
	pace->credit_bytes -= (double)chunk;
	return chunk;
}

uint64_t canfs_pace_step(struct canfs_pace *pace, enum canfs_verdict verdict, double margin,
	uint64_t on_its_way_bytes, uint64_t elapsed_usec)
{
	enum canfs_verdict before = pace->verdict;
	double elapsed = (double)elapsed_usec, factor;
	bool open;

	pace->verdict = verdict;
	if (verdict != CANFS_ACCELERATE) {
		if (before == CANFS_ACCELERATE)
			pace->rate_bytes_per_sec = clamp(pace->rate_bytes_per_sec / 2,
				CANFS_PACE_MIN_BYTES_PER_SEC, CANFS_PACE_MAX_BYTES_PER_SEC);
		pace->credit_bytes = 0;
		return 0;
	}

	open = window_is_open(pace, on_its_way_bytes);
	factor = margin > 0 && open ? exp2(elapsed / CANFS_PACE_DOUBLING_USEC)
				    : exp2(-elapsed / CANFS_PACE_HALVING_USEC);
	pace->rate_bytes_per_sec = clamp(pace->rate_bytes_per_sec * factor,
		CANFS_PACE_MIN_BYTES_PER_SEC, CANFS_PACE_MAX_BYTES_PER_SEC);
	return spend(pace, open, elapsed);
}

uint64_t canfs_pace_blind(struct canfs_pace *pace, uint64_t on_its_way_bytes, uint64_t elapsed_usec)
{
	pace->verdict = CANFS_HOLD;
	pace->rate_bytes_per_sec = CANFS_PACE_BLIND_BYTES_PER_SEC;
	return spend(pace, window_is_open(pace, on_its_way_bytes), (double)elapsed_usec);
}
