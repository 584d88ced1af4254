// SPDX-License-Identifier: LGPL-3.0-or-later
/* Moves read_ahead_kb towards the verdict of the auction, and back. */
#include "client-agent/actuators/act.h"

#include <errno.h>
#include <string.h>

#include "common/log.h"

/*
 * Least time between two changes. A change reaches only files opened later, so its effect takes a
 * while.
 */
static const uint64_t readahead_step_usec = 1000000;

/* Bounds. More than the most is worth nothing on any link or disk that was measured. */
static const unsigned int min_kib = CANFS_READAHEAD_LOWEST_KIB, max_kib = 1024;

/* The read_ahead_kb of a new mount is left to nfs-utils' udev rule for this long. */
static const uint64_t udev_grace_sec = 5;

static void warn_readahead(struct canfs_actors *actors, int error)
{
	if (!actors->warned.readahead)
		canfs_log("read-ahead: cannot be changed here (%s)", canfs_tuner_strerror(error));
	actors->warned.readahead = true;
}

int canfs_act_let_go(struct canfs_actors *actors, struct canfs_bidder *bidder)
{
	struct canfs_changes changes = { 0 };
	int ret;

	/* A knob that someone else has changed stays recorded as such. */
	if (!canfs_knob_is_ours(actors->tuner, CANFS_KNOB_READ_AHEAD, bidder->mount.bdi))
		return 0;
	ret = canfs_readahead_restore(actors->tuner, bidder->mount.bdi, &changes);
	canfs_act_log_changes(&bidder->decisions, bidder->mount.mountpoint,
		"restoring the original value", &changes);
	return ret == -EPERM ? 0 : ret;
}

/* Returns the highest value allowed now: what the link needs, or what is useful to the disk. */
static unsigned int top_kib(const struct canfs_bidder *bidder)
{
	unsigned int top = canfs_read_window_kib(bidder->seen.round_trip_usec);

	if (bidder->beyond.verdict != CANFS_DEFER && top < CANFS_READ_WINDOW_MOST_KIB)
		top = CANFS_READ_WINDOW_MOST_KIB;
	return top < max_kib ? top : max_kib;
}

/* Returns half of the present value, at most max_kib and at least least_kib. */
static uint64_t half_kib(uint64_t now_kib, unsigned int least_kib)
{
	uint64_t half = now_kib / 2 < max_kib ? now_kib / 2 : max_kib;

	return half > least_kib ? half : least_kib;
}

/*
 * Returns the next value in the direction of the verdict, or 0 to stay. An administrator's value
 * beyond a bound moves towards the bounds only if that is the direction of the verdict.
 */
static unsigned int readahead_step(const struct canfs_bidder *bidder, uint64_t now_kib)
{
	bool accelerates = bidder->readahead.verdict == CANFS_ACCELERATE;
	unsigned int top = accelerates ? top_kib(bidder) : min_kib, want_kib;

	if (accelerates && now_kib < top) {
		want_kib = canfs_readahead_clamp((unsigned int)now_kib * 2, min_kib, top);
		return want_kib > now_kib ? want_kib : 0;
	}
	if (accelerates && bidder->beyond.verdict != CANFS_DEFER)
		return 0;
	want_kib = canfs_readahead_clamp((unsigned int)half_kib(now_kib, top), min_kib, max_kib);
	return want_kib < now_kib ? want_kib : 0;
}

void canfs_act_readahead(
	struct canfs_actors *actors, struct canfs_bidder *bidder, uint64_t now_usec)
{
	const struct canfs_terms *terms = &bidder->terms;
	struct canfs_changes changes = { 0 };
	uint64_t now_kib;
	unsigned int want_kib;
	int ret;

	if (now_usec < bidder->act.readahead_due_usec)
		return;
	if (terms->mode != CANFS_ENFORCE || !terms->readahead ||
		bidder->readahead.verdict == CANFS_HOLD) {
		if (canfs_act_let_go(actors, bidder))
			bidder->act.readahead_due_usec = now_usec + CANFS_ACT_REST_USEC;
		return;
	}
	if (bidder->seen.stats.age_sec < udev_grace_sec || !canfs_bidder_reads(bidder, now_usec) ||
		canfs_knob_read(actors->root, CANFS_KNOB_READ_AHEAD, bidder->mount.bdi, &now_kib))
		return;
	bidder->act.readahead_due_usec = now_usec + readahead_step_usec;
	want_kib = readahead_step(bidder, now_kib);
	if (!want_kib)
		return;
	ret = canfs_readahead_set(
		actors->tuner, &bidder->mount, want_kib, min_kib, max_kib, &changes);
	if (ret)
		bidder->act.readahead_due_usec =
			now_usec + (ret == -EDQUOT ? CANFS_ACT_QUOTA_USEC : CANFS_ACT_REST_USEC);
	if (ret == -EROFS || ret == -EACCES)
		warn_readahead(actors, ret);
	else
		canfs_act_log_changes(&bidder->decisions, bidder->mount.mountpoint,
			want_kib > now_kib ? "read-ahead is worth more than it costs"
					   : "read-ahead costs more than it is worth",
			&changes);
}
