// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/actuators/readahead.h"

unsigned int canfs_readahead_clamp(
	unsigned int want_kib, unsigned int min_kib, unsigned int max_kib)
{
	/* The kernel rounds down to whole pages of 4 KiB. That must not violate a bound. */
	if (min_kib < CANFS_READAHEAD_LOWEST_KIB)
		min_kib = CANFS_READAHEAD_LOWEST_KIB;
	min_kib = (min_kib + 3) & ~3u;
	if (max_kib < min_kib)
		max_kib = min_kib;
	if (want_kib < min_kib)
		want_kib = min_kib;
	if (want_kib > max_kib)
		want_kib = max_kib;
	return want_kib & ~3u;
}

int canfs_readahead_set(struct canfs_tuner *tuner, const struct canfs_mount *mount,
	unsigned int want_kib, unsigned int min_kib, unsigned int max_kib,
	struct canfs_changes *changes)
{
	unsigned int value = canfs_readahead_clamp(want_kib, min_kib, max_kib);
	bool at_bound = value == canfs_readahead_clamp(0, min_kib, max_kib) ||
			value == canfs_readahead_clamp(max_kib, min_kib, max_kib);
	uint64_t now;

	if (!at_bound && canfs_knob_read(canfs_tuner_root(tuner), CANFS_KNOB_READ_AHEAD, mount->bdi,
				 &now) == 0) {
		uint64_t difference = now > value ? now - value : value - now;
		if (difference < now / 4)
			return 0;
	}
	return canfs_knob_set(tuner, CANFS_KNOB_READ_AHEAD, mount, value, changes);
}

int canfs_readahead_restore(
	struct canfs_tuner *tuner, struct canfs_bdi bdi, struct canfs_changes *changes)
{
	return canfs_knob_restore(tuner, CANFS_KNOB_READ_AHEAD, bdi, changes);
}
