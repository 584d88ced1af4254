// SPDX-License-Identifier: LGPL-3.0-or-later
/* Passes an operation through the features. */
#include "ganesha-fsal/stack/feature.h"

#define TABLE(NAME, name) &canfs_feature_##name,
const struct canfs_feature *const canfs_features[] = { CANFS_FEATURE_ROWS(TABLE) NULL };

/* Calls after[] of the features before `end`, last first. */
static fsal_status_t back(struct canfs_op *op, int end, fsal_status_t status)
{
	while (end-- > 0) {
		if (canfs_features[end]->after[op->kind])
			status = canfs_features[end]->after[op->kind](op, status);
	}
	return status;
}

fsal_status_t canfs_before(struct canfs_op *op)
{
	for (int at = 0; at < CANFS_FEATURES; at++) {
		fsal_status_t status = { ERR_FSAL_NO_ERROR, 0 };

		if (canfs_features[at]->before[op->kind])
			status = canfs_features[at]->before[op->kind](op);
		if (FSAL_IS_ERROR(status))
			return back(op, at, status);
	}
	op->passed = true;
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

fsal_status_t canfs_after(struct canfs_op *op, fsal_status_t status)
{
	return back(op, CANFS_FEATURES, status);
}

/* The load if no feature knows it. */
static double full_scale(const struct canfs_export *export)
{
	(void)export;
	return 1;
}

static double no_price(const struct canfs_export *export)
{
	(void)export;
	return 0;
}

static bool nobody_steps_aside(void)
{
	return false;
}

static void not_counted(struct canfs_op *op, uint64_t bytes)
{
	(void)op;
	(void)bytes;
}

static double no_others(void)
{
	return 0;
}

static void not_measured(void)
{
}

const struct canfs_load *canfs_load(void)
{
	static const struct canfs_load not_known = { .readahead_scale = full_scale,
		.write_price = no_price,
		.steps_aside = nobody_steps_aside,
		.fetched_ahead = not_counted,
		.others_in_flight = no_others,
		.measure_others = not_measured };

	for (int at = 0; at < CANFS_FEATURES; at++) {
		if (canfs_features[at]->load)
			return canfs_features[at]->load;
	}
	return &not_known;
}
