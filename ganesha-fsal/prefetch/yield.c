// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/prefetch/yield.h"

#include <errno.h>

#include "ganesha-fsal/monitors/source.h"

/* Fields of `stat`, from 0 (Documentation/block/stat.rst) */
#define WRITES  4
#define FLUSHES 15

static bool has_others(
	const struct canfs_disk_use *last, const struct canfs_disk_use *now, double elapsed_sec)
{
	double writes = (double)canfs_growth(now->writes, last->writes) / elapsed_sec;
	double reads = (double)canfs_growth(now->reads_usec, last->reads_usec) / 1e6 / elapsed_sec;

	return writes >= CANFS_YIELD_WRITES || reads >= CANFS_YIELD_READS;
}

static void begin_turn(struct canfs_yield *yield, const struct canfs_disk_use *now)
{
	yield->last = *now;
	yield->turn_sec = 0;
	yield->primed = true;
}

bool canfs_yield_step(
	struct canfs_yield *yield, const struct canfs_disk_use *now, double elapsed_sec)
{
	yield->takes_many |= now->in_driver >= CANFS_YIELD_MANY;
	yield->turn_sec += elapsed_sec;
	if (!yield->primed) {
		begin_turn(yield, now);
	} else if (yield->turn_sec >= CANFS_YIELD_TURN_SEC) {
		if (has_others(&yield->last, now, yield->turn_sec))
			yield->quiet_sec = 0;
		else
			yield->quiet_sec += yield->turn_sec;
		yield->yields =
			yield->takes_many &&
			(yield->quiet_sec == 0 ||
				(yield->yields && yield->quiet_sec < CANFS_YIELD_QUIET_SEC));
		begin_turn(yield, now);
	}
	return yield->yields;
}

int canfs_parse_disk_use(const char *stat, const char *inflight, struct canfs_disk_use *use)
{
	struct canfs_disk_use found = { .reads_usec = use->reads_usec };
	uint64_t field;
	int i;

	for (i = 0; i <= FLUSHES && canfs_parse_number(&stat, &field); i++) {
		if (i == WRITES || i == FLUSHES)
			found.writes += field;
	}
	if (i <= WRITES)
		return -EPROTO;
	for (i = 0; i < 2; i++) {
		if (!canfs_parse_number(&inflight, &field))
			return -EPROTO;
		found.in_driver += field;
	}
	*use = found;
	return 0;
}
