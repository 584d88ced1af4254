// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/auction/poller.h"

#include <errno.h>
#include <stdlib.h>

const struct canfs_poller_terms canfs_poller_defaults = {
	.idle_usec = 10000000,
	.move_usec = 1000000,
	.hold_usec = 250000,
	.min_usec = 100000,
	.answer_usec = 2000000,
	.lost_usec = 30000000,
	.pushed_usec = 30000000,
	.service_port = 0,
};

/* Without a price service, FSSTAT remains. */
static void subscribe(struct canfs_poller *poller, const struct canfs_fsstat_target *target)
{
	(void)canfs_subscription_open(&poller->subscription, &target->address,
		target->path ? poller->terms.service_port : 0, target->version == 4 ? 4 : 3,
		target->path, poller->terms.others, poller->seed);
	poller->subscription.bind = canfs_bind_reserved;
}

int canfs_poller_init(struct canfs_poller *poller, const struct canfs_fsstat_target *target,
	const struct canfs_poller_terms *terms, unsigned int seed)
{
	*poller = (struct canfs_poller) { .terms = *terms, .phase = 1, .seed = seed };
	subscribe(poller, target);
	return canfs_fsstat_new(&poller->fsstat, target);
}

void canfs_poller_configure(struct canfs_poller *poller, const struct canfs_fsstat_target *target,
	const struct canfs_poller_terms *terms)
{
	bool same = poller->terms.service_port == terms->service_port;

	poller->terms = *terms;
	if (same)
		return;
	canfs_subscription_close(&poller->subscription);
	subscribe(poller, target);
}

void canfs_poller_fini(struct canfs_poller *poller)
{
	canfs_subscription_close(&poller->subscription);
	canfs_fsstat_free(poller->fsstat);
	poller->fsstat = NULL;
}

static uint64_t wait_usec(
	const struct canfs_poller_terms *terms, bool moving, enum canfs_stake stake)
{
	const uint64_t usec[][2] = {
		[CANFS_STAKE_NONE] = { terms->idle_usec, terms->move_usec },
		[CANFS_STAKE_SMALL] = { terms->move_usec, terms->move_usec },
		[CANFS_STAKE_LARGE] = { terms->hold_usec, terms->min_usec },
	};

	return usec[stake][moving];
}

uint64_t canfs_poller_due_usec(
	const struct canfs_poller *poller, uint64_t rpcs, enum canfs_stake stake)
{
	const struct canfs_poller_terms *terms = &poller->terms;
	bool moving = rpcs - poller->asked_rpcs >= CANFS_POLLER_RPCS;
	bool settling = canfs_publisher_is_settling(&poller->publisher);
	double wait = (double)terms->idle_usec;

	if (!poller->questions)
		return 0;
	if (poller->failures) { /* 1, 2, 4 ... times hold_usec */
		unsigned int doublings = poller->failures < 16 ? poller->failures - 1 : 15;
		double back_off = (double)terms->hold_usec * (double)(1u << doublings);

		wait = back_off < wait ? back_off : wait;
	} else if (settling) {
		wait = (double)terms->min_usec;
	} else if (poller->publisher.believed) {
		wait = (double)wait_usec(terms, moving, stake);
	}
	return poller->asked_usec + (uint64_t)(wait * poller->phase);
}

static int ask(struct canfs_poller *poller, uint64_t now_usec, uint64_t rpcs)
{
	poller->asked_usec = now_usec;
	poller->asked_rpcs = rpcs;
	poller->phase = 0.8 + 0.4 * rand_r(&poller->seed) / RAND_MAX;
	poller->questions++;
	return canfs_fsstat_start(poller->fsstat, now_usec + poller->terms.answer_usec);
}

/* Returns true for the answer to a question that was in flight during a suspend. */
static bool is_from_before_a_suspend(const struct canfs_poller *poller)
{
	return poller->stale && !poller->asked_usec;
}

bool canfs_poller_is_pushed(const struct canfs_poller *poller, uint64_t now_usec)
{
	return poller->source == CANFS_SOURCE_SERVICE &&
	       canfs_subscription_is_current(&poller->subscription, now_usec);
}

static void take_price(struct canfs_poller *poller, enum canfs_price_source source,
	const struct canfs_tag *tag, double others, uint64_t now_usec)
{
	poller->others = others;
	poller->source = source;
	poller->tag = *tag;
	poller->tag_usec = now_usec;
	poller->stale = false;
}

/* A service that has no more prices for us says so. A silent service may come back. */
static bool take_pushed(struct canfs_poller *poller, uint64_t now_usec)
{
	const struct canfs_subscription *subscription = &poller->subscription;
	const struct canfs_quote *quote = subscription->prices.quote;
	/* Some servers know a client only after it has asked by NFS. */
	bool is_known = poller->answers > 0 || poller->unanswered > 0;
	bool is_new = is_known && canfs_subscription_tick(&poller->subscription, now_usec);
	struct canfs_tag tag = { .write = quote[CANFS_WRITE].price,
		.readahead = quote[CANFS_READAHEAD].price,
		.bottleneck = quote[CANFS_WRITE].bottleneck };

	if (is_new)
		take_price(
			poller, CANFS_SOURCE_SERVICE, &tag, subscription->prices.others, now_usec);
	else if (poller->source == CANFS_SOURCE_SERVICE &&
		 subscription->status != CANFS_STATUS_OK &&
		 subscription->status != CANFS_STATUS_COOKIE)
		poller->source = CANFS_SOURCE_NONE;
	return is_new;
}

static bool is_due(
	const struct canfs_poller *poller, uint64_t now_usec, uint64_t rpcs, enum canfs_stake stake)
{
	if (canfs_poller_is_pushed(poller, now_usec) && poller->questions &&
		now_usec < poller->asked_usec + poller->terms.pushed_usec)
		return false;
	return now_usec >= canfs_poller_due_usec(poller, rpcs, stake);
}

/* Asks FSSTAT if a question is due, and takes the answer. */
static bool poll_fsstat(
	struct canfs_poller *poller, uint64_t now_usec, uint64_t rpcs, enum canfs_stake stake)
{
	struct canfs_space space;
	struct canfs_tag tag;
	bool valid;
	int ret = 0;

	if (canfs_fsstat_deadline_usec(poller->fsstat) == UINT64_MAX) {
		if (!is_due(poller, now_usec, rpcs, stake))
			return false;
		ret = ask(poller, now_usec, rpcs);
	}
	if (!ret)
		ret = canfs_fsstat_step(poller->fsstat, now_usec, &space);
	if (ret == -EINPROGRESS)
		return false;
	if (ret < 0) {
		poller->failures++;
		poller->unanswered++;
		return false;
	}
	poller->failures = 0;
	poller->answers++;
	valid = canfs_tag_decode(&space, &tag) == 0;
	canfs_publisher_note(&poller->publisher, valid ? &space : NULL);
	if (!valid || is_from_before_a_suspend(poller) || canfs_poller_is_pushed(poller, now_usec))
		return false;
	/*
	 * The last pushed price holds until FSSTAT's prices are believed. Otherwise there would be
	 * no price meanwhile.
	 */
	if (poller->source == CANFS_SOURCE_SERVICE && !poller->publisher.believed)
		return false;
	take_price(poller, CANFS_SOURCE_FSSTAT, &tag, -1, now_usec);
	return poller->publisher.believed;
}

bool canfs_poller_tick(
	struct canfs_poller *poller, uint64_t now_usec, uint64_t rpcs, enum canfs_stake stake)
{
	bool pushed = take_pushed(poller, now_usec);
	bool answered = poll_fsstat(poller, now_usec, rpcs, stake);

	return pushed || answered;
}

void canfs_poller_forget_price(struct canfs_poller *poller)
{
	poller->stale = true;
	poller->failures = 0;
	poller->asked_usec = 0;
	canfs_subscription_forget(&poller->subscription);
}

const struct canfs_tag *canfs_poller_price(const struct canfs_poller *poller, uint64_t now_usec)
{
	bool believed = poller->source == CANFS_SOURCE_SERVICE || poller->publisher.believed;

	if (!believed || poller->stale || now_usec - poller->tag_usec > poller->terms.lost_usec)
		return NULL;
	return &poller->tag;
}

uint64_t canfs_poller_price_usec(const struct canfs_poller *poller, uint64_t now_usec)
{
	return canfs_poller_is_pushed(poller, now_usec) ? now_usec : poller->tag_usec;
}

bool canfs_poller_is_current(const struct canfs_poller *poller, uint64_t now_usec)
{
	return now_usec - canfs_poller_price_usec(poller, now_usec) <= 2 * poller->terms.hold_usec;
}

const char *canfs_poller_source(const struct canfs_poller *poller, uint64_t now_usec)
{
	if (!canfs_poller_price(poller, now_usec))
		return NULL;
	return poller->source == CANFS_SOURCE_SERVICE ? "service" : "fsstat";
}
