// SPDX-License-Identifier: LGPL-3.0-or-later
#include <math.h>

#include "bench/disk/tags.h"

/*
 * Twice the time of 32 commands in order of arrival. With little more than once that time, the
 * oldest command would always be too old. Then the drive would serve in order, and be too slow to
 * ever leave that state.
 */
#define AGE_MAX_USEC 700e3

static double completion(
	const struct canfs_drive *d, const struct canfs_command *c, double now_usec)
{
	if (c->kind == CANFS_COMMAND_READ)
		return canfs_drive_read_estimate(d, c->offset, c->bytes, now_usec);
	return canfs_drive_write_estimate(d, c->offset, c->bytes, now_usec);
}

struct canfs_command **canfs_tags_pick(struct canfs_drive *d, struct canfs_command **waiting)
{
	struct canfs_command **best = waiting, **link = waiting;
	double start = fmax((*waiting)->arrival_usec, d->bus_free_usec);
	double first = INFINITY;

	if (start - (*waiting)->arrival_usec > AGE_MAX_USEC)
		return waiting;
	canfs_drive_catch_up(d, start);
	for (int i = 0; i < CANFS_DISK_TAGS && *link; i++, link = &(*link)->next) {
		double done;

		if ((*link)->kind == CANFS_COMMAND_FLUSH || (*link)->arrival_usec > start)
			break;
		done = completion(d, *link, start);
		if (done < first) {
			first = done;
			best = link;
		}
	}
	return best;
}
