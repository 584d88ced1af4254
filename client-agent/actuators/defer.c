// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/actuators/defer.h"
#include "client-agent/auction/arithmetic.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define MIB        (UINT64_C(1) << 20)
#define STEP_BYTES (4 * MIB) /* the background moves back in multiples of this */
/*
 * Stock limits follow MemAvailable. Rounding up to a multiple of this, or of less on small
 * machines, keeps our limits from changing all the time.
 */
#define STOCK_UNIT_BYTES (32 * MIB)
#define STOCK_UNITS      32
#define BOUND_STEPS      64 /* the same for a bound */
/*
 * Never hold more than this. The kernel sends data older than 30 s, and no link carries this much
 * in that time.
 */
#define BOUND_MAX_BYTES (UINT64_C(1) << 40)
#define STEP_MSEC       100
#define LOWEST_PCT_EACH 1
/*
 * Not all memory that the kernel counts as available may become dirty. The kernel stops writers at
 * 1.28 times the bound. The rest must cover what programs need in the meantime.
 */
#define AVAILABLE_PCT 55
/*
 * Page cache in use may not become dirty either, except for what the kernel would allow to be dirty
 * anyway (its flushing point).
 */
#define AVAILABLE_MIN_PCT 10
/*
 * The kernel's limits are squeezed to this part. Less would leave a server's disk idle between two
 * COMMITs.
 */
#define SQUEEZE            8
#define SQUEEZED_MIN_BYTES (16 * MIB)
/*
 * Squeezed limits change by at least this part of themselves. Each change may cost two of
 * changes_per_min, and is logged.
 */
#define SQUEEZE_STEP 16
/*
 * Squeezed limits below this share of their target rise again, as memory is available again. Nobody
 * else would raise them during the squeeze.
 */
#define SQUEEZED_LOW_PCT 75

struct canfs_defer {
	struct canfs_tuner *tuner;
	bool refused;             /* permanently: read-only, or someone else's */
	unsigned int granted_pct; /* known limit of the sum of all shares */
};

static const struct canfs_bdi whole_system = { 0, 0 };

int canfs_defer_new(struct canfs_defer **defer, struct canfs_tuner *tuner)
{
	*defer = calloc(1, sizeof(**defer));
	if (!*defer)
		return -ENOMEM;
	(*defer)->tuner = tuner;
	return 0;
}

void canfs_defer_free(struct canfs_defer *defer)
{
	free(defer);
}

uint64_t canfs_defer_bound_bytes(
	const struct canfs_meminfo *meminfo, uint64_t used_bytes, unsigned int hold_pct)
{
	uint64_t step = meminfo->total_bytes / BOUND_STEPS + 1;
	uint64_t unused = canfs_growth(meminfo->available_bytes, used_bytes);
	uint64_t available = canfs_larger(unused / 100 * AVAILABLE_PCT,
				     meminfo->available_bytes / 100 * AVAILABLE_MIN_PCT) /
			     step * step;

	return canfs_smaller(canfs_smaller(meminfo->total_bytes / 100 * hold_pct, available),
		       BOUND_MAX_BYTES) +
	       1;
}

uint64_t canfs_defer_background_bytes(uint64_t bound_bytes)
{
	return bound_bytes / CANFS_DEFER_SHARE_PCT * 100;
}

/*
 * Returns the kernel's value for the original of a *_bytes knob: the original itself, or its ratio
 * of the memory that may be dirty. MemAvailable stands for that memory.
 */
static int stock_bytes(const struct canfs_defer *defer, enum canfs_knob knob,
	const struct canfs_meminfo *meminfo, uint64_t *bytes)
{
	const char *root = canfs_tuner_root(defer->tuner);
	const struct canfs_journal_entry *entry =
		canfs_journal_find(canfs_tuner_journal(defer->tuner), knob, whole_system);
	uint64_t original, ratio;
	int ret = 0;

	if (entry) {
		original = entry->original;
		ratio = entry->pair_original;
	} else {
		ret = canfs_knob_read(root, knob, whole_system, &original);
		if (!ret)
			ret = canfs_knob_read(
				root, canfs_knob_info(knob)->pair, whole_system, &ratio);
	}
	if (!ret)
		*bytes = canfs_smaller(original ? original : meminfo->available_bytes / 100 * ratio,
			canfs_knob_info(knob)->highest);
	return ret;
}

struct limits {
	uint64_t background_bytes;
	uint64_t limit_bytes;
	unsigned int share_pct; /* of the background that is the bound */
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint64_t stock_unit_bytes(const struct canfs_meminfo *meminfo)
{
	return canfs_smaller(
		STOCK_UNIT_BYTES, canfs_larger(meminfo->total_bytes / STOCK_UNITS, MIB));
}

/* Keeps any computed value within the knob's bounds. */
static uint64_t within_bounds(enum canfs_knob knob, uint64_t bytes)
{
	const struct canfs_knob_info *info = canfs_knob_info(knob);

	return canfs_smaller(canfs_larger(bytes, info->lowest), info->highest);
}

/*
 * Computes the limits for a bound. They are never below the stock limits, because other file
 * systems use the limits, too. If the stock limits make the background larger than the bound needs,
 * the share is smaller. The background is not below what is dirty now, as far as our previous
 * background allowed that.
 */
static int plan(const struct canfs_defer *defer, uint64_t bound_bytes,
	const struct canfs_meminfo *meminfo, struct limits *limits)
{
	const char *root = canfs_tuner_root(defer->tuner);
	uint64_t stock_background, stock_limit, now = 0;
	uint64_t dirty = meminfo->dirty_bytes + meminfo->writeback_bytes;
	int ret = stock_bytes(defer, CANFS_KNOB_BACKGROUND_BYTES, meminfo, &stock_background);

	if (!ret)
		ret = stock_bytes(defer, CANFS_KNOB_DIRTY_BYTES, meminfo, &stock_limit);
	if (!ret && canfs_knob_is_ours(defer->tuner, CANFS_KNOB_BACKGROUND_BYTES, whole_system))
		ret = canfs_knob_read(root, CANFS_KNOB_BACKGROUND_BYTES, whole_system, &now);
	if (ret)
		return ret;
	uint64_t unit = stock_unit_bytes(meminfo);
	uint64_t background = canfs_larger(
		canfs_defer_background_bytes(bound_bytes), round_up(stock_background, unit));
	background = round_up(canfs_larger(background, canfs_smaller(dirty, now)), MIB);
	background = within_bounds(CANFS_KNOB_BACKGROUND_BYTES, background);
	limits->background_bytes = background;
	limits->limit_bytes = within_bounds(CANFS_KNOB_DIRTY_BYTES,
		canfs_larger(background / 100 * 115, round_up(stock_limit, unit)));
	uint64_t share = bound_bytes / (background / 100);
	limits->share_pct =
		share < CANFS_DEFER_SHARE_PCT ? (unsigned int)share : CANFS_DEFER_SHARE_PCT;
	return 0;
}

/*
 * Sets the two global limits. The order keeps background < limit at all times: a rising limit is
 * set before the background, a falling one after.
 */
static int set_limits(
	struct canfs_defer *defer, const struct limits *limits, struct canfs_changes *changes)
{
	struct canfs_tuner *tuner = defer->tuner;
	uint64_t now;
	int ret = canfs_knob_read(
		canfs_tuner_root(tuner), CANFS_KNOB_DIRTY_BYTES, whole_system, &now);

	if (ret)
		return ret;
	bool raise = now == 0 || limits->limit_bytes >= now;
	if (raise)
		ret = canfs_knob_set(
			tuner, CANFS_KNOB_DIRTY_BYTES, NULL, limits->limit_bytes, changes);
	if (!ret)
		ret = canfs_knob_set(tuner, CANFS_KNOB_BACKGROUND_BYTES, NULL,
			limits->background_bytes, changes);
	if (!ret && !raise)
		ret = canfs_knob_set(
			tuner, CANFS_KNOB_DIRTY_BYTES, NULL, limits->limit_bytes, changes);
	return ret;
}

/*
 * Others may have set min_ratio, too, and the kernel refuses a sum of 100. In that case, try
 * smaller shares. Only the last try is reported.
 */
static int set_share(struct canfs_defer *defer, const struct canfs_mount *mount,
	unsigned int share_pct, bool *refused, struct canfs_changes *changes)
{
	struct canfs_changes tries = { 0 };
	int ret;

	do {
		tries.n = 0;
		ret = canfs_knob_set(defer->tuner, CANFS_KNOB_MIN_RATIO, mount, share_pct, &tries);
		*refused |= ret == -EINVAL;
		share_pct /= 2;
	} while (ret == -EINVAL && share_pct >= LOWEST_PCT_EACH);
	if (tries.n && changes) {
		if (changes->n < CANFS_CHANGES_MAX)
			changes->change[changes->n++] = tries.change[0];
		else
			changes->dropped++;
	}
	return ret;
}

/* Restores the shares of BDIs that are no longer deferred, to make room in the sum. */
static void drop_other_shares(struct canfs_defer *defer, const struct canfs_mount *const mounts[],
	size_t n, struct canfs_changes *changes)
{
	struct canfs_journal *journal = canfs_tuner_journal(defer->tuner);

	for (size_t i = canfs_journal_count(journal); i-- > 0;) {
		const struct canfs_journal_entry *entry = canfs_journal_at(journal, i);
		bool wanted = entry->knob != CANFS_KNOB_MIN_RATIO;
		for (size_t k = 0; !wanted && k < n; k++)
			wanted = canfs_bdi_equal(entry->bdi, mounts[k]->bdi);
		if (!wanted)
			canfs_knob_restore(defer->tuner, CANFS_KNOB_MIN_RATIO, entry->bdi, changes);
	}
}

/* Each of n BDIs gets the same, so that the sum is at most share_pct, or n if that is more. */
static unsigned int part_of(unsigned int share_pct, unsigned int n)
{
	return share_pct / n > LOWEST_PCT_EACH ? share_pct / n : LOWEST_PCT_EACH;
}

static unsigned int sum_of_shares(
	const struct canfs_defer *defer, const struct canfs_mount *const mounts[], size_t n)
{
	uint64_t sum = 0, share;

	for (size_t i = 0; i < n; i++) {
		if (!canfs_knob_read(canfs_tuner_root(defer->tuner), CANFS_KNOB_MIN_RATIO,
			    mounts[i]->bdi, &share))
			sum += share;
	}
	return sum < CANFS_DEFER_SHARE_PCT ? (unsigned int)sum : CANFS_DEFER_SHARE_PCT;
}

/* Lowers shares first, then raises others, so that the sum stays below 100 at all times. */
static int set_shares(struct canfs_defer *defer, const struct canfs_mount *const mounts[], size_t n,
	unsigned int share_pct, struct canfs_changes *changes)
{
	const char *root = canfs_tuner_root(defer->tuner);
	unsigned int each;
	bool refused = false;
	int first = 0;

	if (share_pct > defer->granted_pct)
		share_pct = defer->granted_pct;
	each = part_of(share_pct, (unsigned int)n);
	drop_other_shares(defer, mounts, n, changes);
	for (int raise = 0; raise <= 1; raise++) {
		for (size_t i = 0; i < n; i++) {
			uint64_t now = 0;
			int ret = canfs_knob_read(root, CANFS_KNOB_MIN_RATIO, mounts[i]->bdi, &now);
			if (!ret && (now < each) == raise)
				ret = set_share(defer, mounts[i], each, &refused, changes);
			/* A BDI that is gone or is someone else's must not stop the rest. */
			if (ret && ret != -EPERM && ret != -ENOENT && !first)
				first = ret;
		}
	}
	if (refused) /* otherwise each call would fail again and use up the changes of the minute */
		defer->granted_pct = sum_of_shares(defer, mounts, n);
	return first;
}

int canfs_defer_apply(struct canfs_defer *defer, uint64_t bound_bytes,
	const struct canfs_mount *const mounts[], size_t n, const struct canfs_meminfo *meminfo,
	struct canfs_changes *changes)
{
	struct limits limits;

	if (n == 0 || n > CANFS_DEFER_BDIS_MAX)
		return -EINVAL;
	if (!canfs_defer_active(defer))
		defer->granted_pct = CANFS_DEFER_SHARE_PCT;
	int ret = plan(defer, bound_bytes, meminfo, &limits);
	if (!ret)
		ret = set_limits(defer, &limits, changes);
	if (!ret)
		ret = set_shares(defer, mounts, n, limits.share_pct, changes);
	if (ret == -EROFS || ret == -EACCES || ret == -EPERM)
		defer->refused = true;
	return ret;
}

/* A limit within one step of the target counts as squeezed. */
static int is_squeezed(uint64_t limit, uint64_t least)
{
	return limit - limit / SQUEEZE_STEP < least ? 0 : -EAGAIN;
}

int canfs_defer_squeeze(struct canfs_defer *defer, uint64_t to_bytes,
	const struct canfs_meminfo *meminfo, struct canfs_changes *changes)
{
	const char *root = canfs_tuner_root(defer->tuner);
	uint64_t dirty = round_up(meminfo->dirty_bytes + meminfo->writeback_bytes, STEP_BYTES);
	uint64_t stock, stock_background, now, least, next, background;
	int ret = stock_bytes(defer, CANFS_KNOB_DIRTY_BYTES, meminfo, &stock);

	if (!ret)
		ret = stock_bytes(defer, CANFS_KNOB_BACKGROUND_BYTES, meminfo, &stock_background);
	if (!ret)
		ret = canfs_knob_read(root, CANFS_KNOB_DIRTY_BYTES, whole_system, &now);
	if (ret)
		return ret;
	now = now ? now : stock;
	least = to_bytes ? canfs_smaller(to_bytes, stock)
			 : canfs_larger(round_up(stock / SQUEEZE, STEP_BYTES), SQUEEZED_MIN_BYTES);
	least = within_bounds(CANFS_KNOB_DIRTY_BYTES, least);
	next = canfs_larger(least, canfs_smaller(now, dirty));
	/* An administrator's original below the target stays as it is. */
	if (next > now - now / SQUEEZE_STEP &&
		(now >= least / 100 * SQUEEZED_LOW_PCT || now >= stock))
		return is_squeezed(now, least);
	background = within_bounds(
		CANFS_KNOB_BACKGROUND_BYTES, canfs_smaller(next / 2, stock_background));
	ret = set_limits(defer, &(struct limits) { background, next, 0 },
		next == least ? changes : NULL /* too many to report */);
	if (ret == -EROFS || ret == -EACCES || ret == -EPERM)
		defer->refused = true;
	return ret ? ret : is_squeezed(next, least);
}

bool canfs_defer_available(const struct canfs_defer *defer)
{
	return !defer->refused;
}

bool canfs_defer_active(const struct canfs_defer *defer)
{
	struct canfs_journal *journal = canfs_tuner_journal(defer->tuner);

	for (size_t i = 0; i < canfs_journal_count(journal); i++) {
		const struct canfs_journal_entry *entry = canfs_journal_at(journal, i);
		if (canfs_knob_info(entry->knob)->holds_writes && entry->written && !entry->yielded)
			return true;
	}
	return false;
}

/*
 * Lowers the background one step. Returns 0 once it is restored, or -EAGAIN while more is dirty
 * than the stock background. Intermediate steps are too many to report.
 */
static int lower_background(struct canfs_defer *defer, uint64_t dirty, uint64_t stock,
	uint64_t drain_bytes, struct canfs_changes *changes)
{
	struct canfs_tuner *tuner = defer->tuner;
	uint64_t least = within_bounds(CANFS_KNOB_BACKGROUND_BYTES, stock);
	uint64_t now, next = canfs_growth(dirty, drain_bytes);

	if (!canfs_knob_is_ours(tuner, CANFS_KNOB_BACKGROUND_BYTES, whole_system) || next <= least)
		return canfs_knob_restore(
			tuner, CANFS_KNOB_BACKGROUND_BYTES, whole_system, changes);
	next = round_up(next, STEP_BYTES);
	int ret = canfs_knob_read(
		canfs_tuner_root(tuner), CANFS_KNOB_BACKGROUND_BYTES, whole_system, &now);
	/* Lower the background whatever keeps memory dirty (a local writer, a dead server). */
	if (!ret && next >= now)
		next = now > STEP_BYTES ? now - STEP_BYTES : 0;
	if (!ret && next <= least)
		return canfs_knob_restore(
			tuner, CANFS_KNOB_BACKGROUND_BYTES, whole_system, changes);
	if (!ret)
		ret = canfs_knob_set(tuner, CANFS_KNOB_BACKGROUND_BYTES, NULL, next, NULL);
	return ret ? ret : -EAGAIN;
}

/*
 * Lowers the limit as slowly. Writers are throttled to a little less than what drains, but never
 * stopped.
 */
static int lower_limit(struct canfs_defer *defer, uint64_t stock, struct canfs_changes *changes)
{
	struct canfs_tuner *tuner = defer->tuner;
	uint64_t least = within_bounds(CANFS_KNOB_DIRTY_BYTES, stock);
	uint64_t now;
	int ret = canfs_knob_read(
		canfs_tuner_root(tuner), CANFS_KNOB_DIRTY_BYTES, whole_system, &now);

	if (!ret && now <= least + STEP_BYTES)
		return canfs_knob_restore(tuner, CANFS_KNOB_DIRTY_BYTES, whole_system, changes);
	if (!ret)
		ret = canfs_knob_set(tuner, CANFS_KNOB_DIRTY_BYTES, NULL, now - STEP_BYTES, NULL);
	return ret ? ret : -EAGAIN;
}

int canfs_defer_restore_step(struct canfs_defer *defer, const struct canfs_meminfo *meminfo,
	uint64_t drain_bytes, struct canfs_changes *changes)
{
	struct canfs_tuner *tuner = defer->tuner;
	uint64_t dirty = meminfo->dirty_bytes + meminfo->writeback_bytes;
	uint64_t background, limit;

	if (!canfs_defer_active(defer))
		return canfs_defer_restore_force(defer, changes); /* only yielded knobs are left */
	int ret = stock_bytes(defer, CANFS_KNOB_BACKGROUND_BYTES, meminfo, &background);
	if (!ret)
		ret = stock_bytes(defer, CANFS_KNOB_DIRTY_BYTES, meminfo, &limit);
	if (ret)
		return ret;
	ret = lower_background(defer, dirty, background, drain_bytes, changes);
	if (ret == -EAGAIN)
		return ret;
	/*
	 * The kernel throttles writers above the middle of background and limit. Restore the limit
	 * at once only if all dirty data fits below the middle.
	 */
	if (canfs_knob_is_ours(tuner, CANFS_KNOB_DIRTY_BYTES, whole_system) &&
		dirty > background / 2 + limit / 2)
		ret = lower_limit(defer, limit, changes);
	else
		ret = canfs_knob_restore(tuner, CANFS_KNOB_DIRTY_BYTES, whole_system, changes);
	if (ret == -EAGAIN)
		return ret;
	/*
	 * Restores the shares of BDIs. Also restores knobs that could not be lowered in stages
	 * because the journal cannot be written.
	 */
	return canfs_tuner_restore_all(tuner, true, changes);
}

int canfs_defer_restore_force(struct canfs_defer *defer, struct canfs_changes *changes)
{
	return canfs_tuner_restore_all(defer->tuner, true, changes);
}

int canfs_defer_restore_wait(struct canfs_defer *defer, unsigned int wait_msec,
	uint64_t drain_bytes, void (*drain)(void *data, uint64_t bytes), void *data,
	struct canfs_changes *changes)
{
	static const struct timespec pause = { .tv_nsec = STEP_MSEC * 1000000L };
	struct canfs_meminfo meminfo;

	for (unsigned int waited = 0; waited < wait_msec; waited += STEP_MSEC) {
		int ret = canfs_meminfo_read(canfs_tuner_root(defer->tuner), &meminfo);
		if (!ret)
			ret = canfs_defer_restore_step(defer, &meminfo, drain_bytes, changes);
		if (ret != -EAGAIN)
			break;
		if (drain)
			drain(data, drain_bytes);
		nanosleep(&pause, NULL);
	}
	return canfs_defer_restore_force(defer, changes);
}
