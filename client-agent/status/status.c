// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/status/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Finer differences between prices do not matter. */
static double rounded(double value)
{
	return round(value * 1e4) / 1e4;
}

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static const char *mode_name(enum canfs_mode mode)
{
	return mode == CANFS_ENFORCE ? "enforce" : "observe";
}

static json_t *show_version(const struct canfs_mount *mount)
{
	char text[16];

	if (mount->version == 4)
		snprintf(text, sizeof(text), "4.%d", mount->minor_version);
	else
		snprintf(text, sizeof(text), "%d", mount->version);
	return json_string(text);
}

/* The server's price; null if it asks nothing, or was not heard of for too long. */
static json_t *show_price(const struct canfs_bidder *bidder, uint64_t now_usec)
{
	const struct canfs_tag *tag = canfs_poller_price(&bidder->poller, now_usec);

	if (!tag)
		return json_null();
	return json_pack("{s:f, s:f, s:s, s:f, s:s}", "write", rounded(tag->write), "read_ahead",
		rounded(tag->readahead), "bottleneck", canfs_resource_name(tag->bottleneck),
		"age_sec",
		rounded((double)(now_usec - canfs_poller_price_usec(&bidder->poller, now_usec)) /
			1e6),
		"source", canfs_poller_source(&bidder->poller, now_usec));
}

/* This client's own network; null: not watched. */
static json_t *show_network(const struct canfs_bidder_network *network)
{
	if (!(network->bytes_per_sec > 0))
		return json_null();
	return json_pack("{s:o, s:f, s:f, s:f, s:f}", "interface",
		canfs_control_text(network->interface), "mbit_per_sec",
		network->bytes_per_sec * 8 / 1e6, "used_by_others",
		rounded(network->used_by_others), "write", rounded(network->write), "read_ahead",
		rounded(network->readahead));
}

/* null: not to be asked. */
static json_t *show_subscription(const struct canfs_subscription *subscription, uint64_t now_usec)
{
	const int error = subscription->network_error;

	if (!canfs_subscription_has_service(subscription))
		return json_null();
	return json_pack("{s:b, s:s, s:s?, s:o, s:o, s:o, s:o}", "current",
		canfs_subscription_is_current(subscription, now_usec), "status",
		canfs_price_status_name(subscription->status), "error",
		error ? strerrordesc_np(error) : NULL, "calls", integer(subscription->calls),
		"pushes", integer(subscription->pushes), "lost", integer(subscription->lost),
		"forged", integer(subscription->forged));
}

static json_t *show_poller(const struct canfs_poller *poller)
{
	const char *error = poller->failures ? canfs_fsstat_error(poller->fsstat) : "";

	return json_pack("{s:b, s:o, s:o, s:o, s:o, s:o}", "publishes", poller->publisher.believed,
		"prices_in_a_row", integer(poller->publisher.valid), "questions",
		integer(poller->questions), "answers", integer(poller->answers), "failures",
		integer(poller->unanswered), "error",
		*error ? canfs_control_text(error) : json_null());
}

static json_t *show_rpcs(const struct canfs_rates *rates)
{
	json_t *shown = json_object();

	for (enum canfs_rpc rpc = 0; rpc < CANFS_RPCS; rpc++)
		json_object_set_new(shown, canfs_rpc_name(rpc),
			json_pack("{s:f, s:f}", "per_sec", rounded(rates->rate[rpc].per_sec),
				"round_trip_ms", rounded(rates->rate[rpc].round_trip_msec)));
	return shown;
}

/* The present value of a knob; null if it cannot be read. */
static json_t *show_knob_now(
	const struct canfs_actors *actors, enum canfs_knob knob, struct canfs_bdi bdi)
{
	uint64_t value;

	if (canfs_knob_read(actors->root, knob, bdi, &value))
		return json_null();
	return integer(value);
}

/* The original is the present value, unless we have changed it. */
static json_t *show_read_ahead(const struct canfs_actors *actors, struct canfs_bdi bdi)
{
	const struct canfs_journal_entry *entry =
		canfs_journal_find(actors->journal, CANFS_KNOB_READ_AHEAD, bdi);
	json_t *now = show_knob_now(actors, CANFS_KNOB_READ_AHEAD, bdi);

	if (!entry || entry->yielded)
		return json_pack("{s:O, s:o}", "original", now, "now", now);
	return json_pack("{s:o, s:o}", "original", integer(entry->original), "now", now);
}

static json_t *show_accelerate_errors(const struct canfs_actors *actors, struct canfs_bdi bdi)
{
	struct canfs_accelerate_status status;

	canfs_accelerate_status(actors->accelerator, bdi, &status);
	return json_integer(status.errors);
}

static json_t *show_mount(
	const struct canfs_view *view, const struct canfs_bidder *bidder, uint64_t now_usec)
{
	const struct canfs_mount *mount = &bidder->mount;
	json_t *shown = json_pack("{s:o, s:s, s:o, s:o, s:o}", "mountpoint",
		canfs_control_text(mount->mountpoint), "mode", mode_name(bidder->terms.mode),
		"server", canfs_control_text(mount->source), "version", show_version(mount), "sec",
		mount->sec[0] ? canfs_control_text(mount->sec) : json_null());
	json_t *auction = json_pack("{s:o, s:o, s:{s:f, s:f}, s:{s:s, s:s}, s:f, s:o, s:o}",
		"price", show_price(bidder, now_usec), "network", show_network(&bidder->network),
		"own", "write", rounded(bidder->own_write), "read_ahead",
		rounded(bidder->own_readahead), "verdict", "write",
		canfs_verdict_name(bidder->write.verdict), "read_ahead",
		canfs_verdict_name(bidder->readahead.verdict), "confidence",
		rounded(bidder->confidence.average.value), "poller", show_poller(&bidder->poller),
		"service", show_subscription(&bidder->poller.subscription, now_usec));
	json_t *effects = json_pack("{s:o, s:b, s:f, s:f, s:f, s:o, s:o, s:o}", "held_bytes",
		integer(bidder->held.backlog_bytes), "low_priority", bidder->held.is_low_priority,
		"deferred_sec", rounded((double)bidder->deferred_usec / 1e6),
		"written_bytes_per_sec", round(bidder->seen.fill.value), "pace_bytes_per_sec",
		round(bidder->pace.rate_bytes_per_sec), "read_ahead_kib",
		show_read_ahead(view->actors, mount->bdi), "rpc", show_rpcs(&bidder->rates),
		"accelerate_errors", show_accelerate_errors(view->actors, mount->bdi));

	json_object_update_new(shown, auction);
	json_object_update_new(shown, effects);
	return shown;
}

/* A knob that we have turned, or that someone else has turned since. */
static json_t *show_knob(const struct canfs_actors *actors, const struct canfs_journal_entry *entry)
{
	const struct canfs_knob_info *info = canfs_knob_info(entry->knob);
	bool paired = info->pair != entry->knob;

	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:b}", "knob", info->name, "unit",
		info->unit, "mountpoint",
		entry->mountpoint ? canfs_control_text(entry->mountpoint) : json_null(), "original",
		integer(entry->original), "now", show_knob_now(actors, entry->knob, entry->bdi),
		"pair", paired ? json_string(canfs_knob_info(info->pair)->name) : json_null(),
		"pair_original", paired ? integer(entry->pair_original) : json_null(), "others",
		entry->yielded);
}

static json_t *show_knobs(const struct canfs_actors *actors)
{
	json_t *shown = json_array();

	for (size_t i = 0; i < canfs_journal_count(actors->journal); i++)
		json_array_append_new(
			shown, show_knob(actors, canfs_journal_at(actors->journal, i)));
	return shown;
}

static json_t *show_memory(const struct canfs_view *view)
{
	const struct canfs_meminfo *meminfo = &view->host.meminfo;

	return json_pack("{s:o, s:o, s:o, s:b, s:f}", "dirty_bytes", integer(meminfo->dirty_bytes),
		"writeback_bytes", integer(meminfo->writeback_bytes), "spare_bytes",
		integer(canfs_meminfo_spare_bytes(meminfo)), "guarded", view->host.guarded,
		"cache_worth", rounded(view->host.cache_worth));
}

json_t *canfs_status_json(const struct canfs_view *view, uint64_t now_usec)
{
	json_t *mounts = json_array();

	for (size_t i = 0; i < view->n; i++)
		json_array_append_new(mounts, show_mount(view, view->bidders[i], now_usec));
	return json_pack(
		"{s:s, s:i, s:o, s:o, s:s, s:b, s:o, s:{s:o, s:o}, s:{s:b, s:b, s:b}, s:o, s:o, "
		"s:o, s:o}",
		"version", CANFS_VERSION, "pid", (int)getpid(), "uptime_sec",
		integer((now_usec - view->started_usec) / 1000000), "ticks", integer(view->ticks),
		"mode",
		mode_name(canfs_config_enforces(view->config) ? CANFS_ENFORCE : CANFS_OBSERVE),
		"blind", view->blind, "memory", show_memory(view), "hold", "bound_bytes",
		integer(view->host.bound_bytes), "held_bytes", integer(view->host.backlog_bytes),
		"flushing_point", "raised",
		canfs_defer_active(view->actors->defer) && !view->actors->squeeze.active,
		"squeezed", view->actors->squeeze.active, "possible",
		canfs_defer_available(view->actors->defer), "knobs", show_knobs(view->actors),
		"mounts_left_out", integer(view->left_out), "mounts_left_alone",
		integer(view->left_alone), "mounts", mounts);
}
