// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/top/disks.h"

#include <math.h>
#include <string.h>
#include "canfsctl/socket.h"
#include "canfsctl/top/reply.h"
#include "canfsctl/top/table.h"

static const struct canfs_column device_columns[] = {
	{ "disk", 0, 0, "device", NULL, canfs_format_tail, CANFS_TEXT },
	{ "type", 11, CANFS_WIDE, "type", NULL, canfs_format_text, CANFS_TEXT },
	{ "scheduler", 10, 0, "scheduler", NULL, canfs_format_text, CANFS_TEXT },
	{ "queued", 7, 0, "waiting", NULL, canfs_format_count, CANFS_NUMBER },
	{ "in kernel", 10, 0, "in_kernel", NULL, canfs_format_count, CANFS_NUMBER },
	{ "of", 4, CANFS_WIDE, "depth", NULL, canfs_format_count, CANFS_NUMBER },
	{ "wait ms", 8, 0, "demand", "msec", canfs_format_msec, CANFS_NUMBER },
	{ "ahead B/s", 10, 0, "rate", "fetched_bytes", canfs_format_short, CANFS_NUMBER },
	{ "used %", 8, 0, "rate", "used", canfs_format_percent, CANFS_NUMBER },
	{ "wasted %", 9, 0, "rate", "wasted", canfs_format_percent, CANFS_NUMBER },
};

static const struct canfs_table device_table = CANFS_TABLE(device_columns);

static const json_t *device_before(const json_t *prefetch, const char *name)
{
	const json_t *devices = in(prefetch, "devices");

	for (size_t i = 0; i < json_array_size(devices); i++) {
		if (strcmp(ctl_text(json_array_get(devices, i), "device"), name) == 0)
			return json_array_get(devices, i);
	}
	return NULL;
}

/* The growth of a counter. NAN: unknown, such as after a server restart. */
static double grown(const json_t *now, const json_t *before, const char *group, const char *name)
{
	double more = ctl_number(in(now, group), name) - ctl_number(in(before, group), name);

	return more >= 0 ? more : (double)NAN;
}

/* Not a number becomes null, which is shown as unknown. */
static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* Derives the mean between two times from two means since the start. */
static double mean_between(const json_t *now, const json_t *before)
{
	const json_t *demand[] = { in(before, "demand"), in(now, "demand") };
	double done[2], sum[2];

	for (int i = 0; i < 2; i++) {
		done[i] = ctl_number(demand[i], "done");
		sum[i] = done[i] * ctl_number(demand[i], "wait_msec_mean");
	}
	return done[1] > done[0] ? fmax(sum[1] - sum[0], 0) / (done[1] - done[0]) : (double)NAN;
}

static json_t *device_row(const json_t *now, const json_t *before, double sec)
{
	json_t *old = canfs_share(now), *row = json_copy(old);
	double fetched = grown(now, before, "table", "fetched_bytes");
	double used = grown(now, before, "table", "used_bytes");
	double wasted = grown(now, before, "table", "wasted_bytes");

	json_object_set_new(
		row, "demand", json_pack("{s:o}", "msec", real(mean_between(now, before))));
	json_object_set_new(row, "rate",
		json_pack("{s:o, s:o, s:o}", "fetched_bytes", real(fetched / sec), "used",
			real(used / (used + wasted)), "wasted", real(wasted / (used + wasted))));
	json_decref(old);
	return row;
}

void canfs_disks_put(
	struct canfs_page *page, int row, int shown, const struct canfs_server_answers *answers)
{
	const json_t *devices = in(answers->prefetch, "devices");
	double sec = ctl_number(answers->prefetch, "time") -
		     ctl_number(answers->prefetch_before, "time");
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(devices); i++) {
		const json_t *device = json_array_get(devices, i);

		json_array_append_new(rows,
			device_row(device,
				device_before(answers->prefetch_before, ctl_text(device, "device")),
				sec));
	}
	canfs_table_put(page, row, &device_table, rows, 0, shown, -1, -1);
	json_decref(rows);
}
