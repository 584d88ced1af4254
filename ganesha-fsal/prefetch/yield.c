// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/prefetch/yield.h"

#include <errno.h>

#include "server/monitors/source.h"

/* Fields of `stat`, from 0 (Documentation/block/stat.rst) */
#define WRITES  4
#define FLUSHES 15

static void judge(struct canfs_yield *yield, const struct canfs_disk_use *now)
{
	const struct canfs_disk_use *last = &yield->last;
	double sec = yield->turn_sec;
	double writes = (double)canfs_growth(now->writes, last->writes) / sec;
	double reads = (double)canfs_growth(now->reads_usec, last->reads_usec) / 1e6 / sec;
	bool has_others = writes >= CANFS_YIELD_WRITES || reads >= CANFS_YIELD_READS;
	bool is_alone = now->plain * CANFS_YIELD_KERNEL_COMMANDS <= yield->takes && !has_others &&
			reads < CANFS_YIELD_READS_ALONE && now->fetches == last->fetches;

	yield->quiet_sec = has_others ? 0 : yield->quiet_sec + sec;
	yield->crowded = has_others || (yield->crowded && yield->quiet_sec < CANFS_YIELD_QUIET_SEC);
	yield->alone_sec = is_alone ? yield->alone_sec + sec : 0;
	yield->yields = yield->takes >= CANFS_YIELD_MANY &&
			(yield->crowded || yield->alone_sec >= CANFS_YIELD_QUIET_SEC);
}

bool canfs_yield_step(
	struct canfs_yield *yield, const struct canfs_disk_use *now, double elapsed_sec)
{
	if (yield->takes == 0 && now->in_driver >= CANFS_YIELD_MORE)
		yield->takes = CANFS_YIELD_SATA;
	yield->turn_sec += elapsed_sec;
	if (yield->primed && yield->turn_sec < CANFS_YIELD_TURN_SEC)
		return yield->yields;
	if (yield->primed)
		judge(yield, now);
	yield->last = *now;
	yield->turn_sec = 0;
	yield->primed = true;
	return yield->yields;
}

int canfs_parse_disk_use(const char *stat, const char *inflight, struct canfs_disk_use *use)
{
	struct canfs_disk_use found = *use;
	uint64_t field;
	int i;

	found.writes = found.in_driver = 0;
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
