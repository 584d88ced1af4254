/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "client-agent/feed.h"

#include <errno.h>
#include <stdlib.h>

const struct canfs_feed_terms canfs_feed_defaults = {
	.idle_usec = 10000000,
	.move_usec = 1000000,
	.hold_usec = 250000,
	.min_usec = 100000,
	.answer_usec = 2000000,
	.lost_usec = 30000000,
};

int canfs_feed_init(struct canfs_feed *feed, const struct canfs_fsstat_target *target,
	const struct canfs_feed_terms *terms, unsigned int seed)
{
	*feed = (struct canfs_feed) { .terms = *terms, .phase = 1, .seed = seed };
	return canfs_fsstat_new(&feed->fsstat, target);
}

void canfs_feed_fini(struct canfs_feed *feed)
{
	canfs_fsstat_free(feed->fsstat);
	feed->fsstat = NULL;
}

static uint64_t wait_usec(const struct canfs_feed_terms *terms, bool moving, bool holding)
{
	if (holding)
		return moving ? terms->min_usec : terms->hold_usec;
	return moving ? terms->move_usec : terms->idle_usec;
}

uint64_t canfs_feed_due_usec(const struct canfs_feed *feed, uint64_t rpcs, bool holding)
{
	const struct canfs_feed_terms *terms = &feed->terms;
	bool moving = rpcs - feed->asked_rpcs >= CANFS_FEED_RPCS;
	bool settling = feed->publisher.valid && !feed->publisher.believed;
	double wait = (double)terms->idle_usec;

	if (!feed->questions)
		return 0;
	if (feed->failures) { /* 1, 2, 4 ... times hold_usec */
		unsigned int doublings = feed->failures < 16 ? feed->failures - 1 : 15;
		double back_off = (double)terms->hold_usec * (double)(1u << doublings);

		wait = back_off < wait ? back_off : wait;
	} else if (settling) {
		wait = (double)terms->min_usec;
	} else if (feed->publisher.believed) {
		wait = (double)wait_usec(terms, moving, holding);
	}
	return feed->asked_usec + (uint64_t)(wait * feed->phase);
}

static int ask(struct canfs_feed *feed, uint64_t now_usec, uint64_t rpcs)
{
	feed->asked_usec = now_usec;
	feed->asked_rpcs = rpcs;
	feed->phase = 0.8 + 0.4 * rand_r(&feed->seed) / RAND_MAX;
	feed->questions++;
	return canfs_fsstat_start(feed->fsstat, now_usec + feed->terms.answer_usec);
}

/* The answer to a question that was on its way when the machine was suspended. */
static bool is_from_before_a_suspend(const struct canfs_feed *feed)
{
	return feed->stale && !feed->asked_usec;
}

bool canfs_feed_tick(struct canfs_feed *feed, uint64_t now_usec, uint64_t rpcs, bool holding)
{
	struct canfs_space space;
	struct canfs_tag tag;
	bool valid;
	int ret = 0;

	if (canfs_fsstat_deadline_usec(feed->fsstat) == UINT64_MAX) {
		if (now_usec < canfs_feed_due_usec(feed, rpcs, holding))
			return false;
		ret = ask(feed, now_usec, rpcs);
	}
	if (!ret)
		ret = canfs_fsstat_step(feed->fsstat, now_usec, &space);
	if (ret == -EINPROGRESS)
		return false;
	if (ret < 0) {
		feed->failures++;
		feed->unanswered++;
		return false;
	}
	feed->failures = 0;
	feed->answers++;
	valid = canfs_tag_decode(&space, &tag) == 0;
	canfs_publisher_note(&feed->publisher, valid);
	if (!valid || is_from_before_a_suspend(feed))
		return false;
	feed->tag = tag;
	feed->tag_usec = now_usec;
	feed->stale = false;
	return feed->publisher.believed;
}

void canfs_feed_forget_price(struct canfs_feed *feed)
{
	feed->stale = true;
	feed->failures = 0;
	feed->asked_usec = 0;
}

const struct canfs_tag *canfs_feed_price(const struct canfs_feed *feed, uint64_t now_usec)
{
	if (!feed->publisher.believed || feed->stale ||
		now_usec - feed->tag_usec > feed->terms.lost_usec)
		return NULL;
	return &feed->tag;
}
