// SPDX-License-Identifier: LGPL-3.0-or-later
/* Logs verdicts and changes of knobs with their reasons, and notes them for `canfsctl why`. */
#include "client-agent/actuators/act.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/log.h"
#include "common/clock.h"

#define MIB (1 << 20)

/* Prices that flip must not fill the log: least time between two messages about one bidder. */
static const uint64_t news_usec = 1000000;

/* "above", "below" or "equal to" the other price. */
static const char *relation(double price, double other)
{
	return price > other ? "above" : price < other ? "below" : "equal to";
}

/* Also logs this for a server that never had a price, but not before that is certain. */
static void report_no_price(struct canfs_bidder *bidder, uint64_t now_usec)
{
	const struct canfs_poller *poller = &bidder->poller;
	const char *why = "the server publishes none";

	if (poller->failures)
		why = canfs_fsstat_error(poller->fsstat);
	else if (!poller->answers || canfs_publisher_is_settling(&poller->publisher))
		return;
	if (!bidder->told.no_price) {
		canfs_log("%s: no price (%s): using the kernel's defaults",
			bidder->mount.mountpoint, *why ? why : "no answer");
		canfs_decisions_note(&bidder->decisions, now_usec, "write-back",
			canfs_verdict_name(bidder->told.write), canfs_verdict_name(CANFS_HOLD),
			canfs_no_bids, "no price (%s): using the kernel's defaults",
			*why ? why : "no answer");
	}
	bidder->told.no_price = true;
	bidder->told.write = bidder->told.readahead = CANFS_HOLD;
}

static void log_decision(
	const struct canfs_bidder *bidder, const struct canfs_decision *decision, const char *mode)
{
	canfs_log("%s: %s %s -> %s%s: %s", bidder->mount.mountpoint, decision->what, decision->from,
		decision->to, mode, decision->reason);
}

/* network is NaN if the client's network is not watched. */
static struct canfs_bids bids(
	const struct canfs_bidder *bidder, double server, double own, double network)
{
	return (struct canfs_bids) { .server_price = server,
		.own_price = own,
		.network_price = bidder->network.bytes_per_sec > 0 ? network : NAN };
}

/*
 * Names the source of the price: the server and its bottleneck, or this client's own network if
 * that is visibly more expensive.
 */
static const char *who_asks(double server, double network, const char *bottleneck, char buf[64])
{
	if (network - server >= 0.01)
		snprintf(buf, 64, "%s %.2f (server %.2f)", canfs_resource_name(CANFS_OWN_NETWORK),
			network, server);
	else if (bottleneck)
		snprintf(buf, 64, "server %.2f (%s)", server, bottleneck);
	else
		snprintf(buf, 64, "server %.2f", server);
	return buf;
}

/* Prints the server's bottleneck, and whether its price was pushed. */
static const char *source_of(
	const struct canfs_bidder *bidder, const struct canfs_tag *tag, char buf[32])
{
	snprintf(buf, 32, "%s%s", canfs_resource_name(tag->bottleneck),
		bidder->poller.source == CANFS_SOURCE_SERVICE ? ", pushed" : "");
	return buf;
}

static void report_write(struct canfs_bidder *bidder, const struct canfs_tag *tag,
	const struct canfs_host_state *host, const char *mode)
{
	const double network = bidder->network.write, own = bidder->own_write;
	char who[64], bottleneck[32];
	const struct canfs_decision *decision = canfs_decisions_note(&bidder->decisions,
		host->now_usec, "write-back", canfs_verdict_name(bidder->told.write),
		canfs_verdict_name(bidder->write.verdict), bids(bidder, tag->write, own, network),
		"%s %s own %.2f%s; %llu of %llu MiB held, cache worth %.2f",
		who_asks(tag->write, network, source_of(bidder, tag, bottleneck), who),
		relation(canfs_bidder_asked(bidder, tag).write, own), own,
		bidder->held.is_low_priority ? " of low priority" : "",
		(unsigned long long)host->backlog_bytes / MIB,
		(unsigned long long)host->bound_bytes / MIB, host->cache_worth);

	log_decision(bidder, decision, mode);
	bidder->told.write = bidder->write.verdict;
}

static void report_readahead(struct canfs_bidder *bidder, const struct canfs_tag *tag,
	const struct canfs_host_state *host, const char *mode)
{
	const double network = bidder->network.readahead, own = bidder->own_readahead;
	char who[64];
	const struct canfs_decision *decision = canfs_decisions_note(&bidder->decisions,
		host->now_usec, "read-ahead", canfs_verdict_name(bidder->told.readahead),
		canfs_verdict_name(bidder->readahead.verdict),
		bids(bidder, tag->readahead, own, network), "%s %s own %.2f; confidence %.2f",
		who_asks(tag->readahead, network, NULL, who),
		relation(canfs_bidder_asked(bidder, tag).readahead, own), own,
		bidder->confidence.average.value);

	log_decision(bidder, decision, mode);
	bidder->told.readahead = bidder->readahead.verdict;
}

void canfs_act_report(struct canfs_bidder *bidder, const struct canfs_tag *tag,
	const struct canfs_host_state *host)
{
	const char *mode = bidder->terms.mode == CANFS_ENFORCE ? "" : " (observing)";
	bool readahead_news = bidder->readahead.verdict != bidder->told.readahead &&
			      canfs_bidder_reads(bidder, host->now_usec);

	if (!tag) {
		report_no_price(bidder, host->now_usec);
		return;
	}
	bidder->told.no_price = false;
	if (host->now_usec < bidder->told.due_usec ||
		(bidder->write.verdict == bidder->told.write && !readahead_news))
		return;
	bidder->told.due_usec = host->now_usec + news_usec;
	if (bidder->write.verdict != bidder->told.write)
		report_write(bidder, tag, host, mode);
	if (readahead_news)
		report_readahead(bidder, tag, host, mode);
}

void canfs_act_log_changes(struct canfs_decisions *decisions, const char *who, const char *why,
	struct canfs_changes *changes)
{
	char text[160], from[24], to[24];

	for (size_t i = 0; i < changes->n; i++) {
		const struct canfs_change *change = &changes->change[i];

		canfs_change_text(change, text, sizeof(text));
		canfs_log("%s: %s", who, text);
		snprintf(from, sizeof(from), "%" PRIu64, change->old_value);
		snprintf(to, sizeof(to), "%" PRIu64,
			change->error ? change->old_value : change->new_value);
		canfs_decisions_note(decisions, canfs_now_usec(),
			canfs_knob_info(change->knob)->name, from, to, canfs_no_bids, "%s%s%s", why,
			change->error ? ": " : "", canfs_tuner_strerror(change->error));
	}
	if (changes->dropped)
		canfs_log("%s: %u more changes are not listed", who, changes->dropped);
	changes->n = changes->dropped = 0;
}
