// SPDX-License-Identifier: LGPL-3.0-or-later
/* The commands of the agent's control socket: status and why. status.md is the manual. */
#include "client-agent/status/status.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Decisions of all rings together, if the request does not give a number. */
#define WHY_DEFAULT 32
#define WHY_MAX     1024

/* A decision and its mount; NULL for the agent as a whole. */
struct told {
	const struct canfs_decision *decision;
	const struct canfs_mount *mount;
};

static json_t *run_status(struct canfs_control_call *call)
{
	return canfs_status_json(call->subject, call->now.monotonic_usec);
}

static size_t collect(
	struct told *told, const struct canfs_decisions *decisions, const struct canfs_mount *mount)
{
	size_t n = canfs_decisions_count(decisions);

	for (size_t i = 0; i < n; i++)
		told[i] = (struct told) { canfs_decisions_at(decisions, i), mount };
	return n;
}

static int latest_first(const void *a, const void *b)
{
	uint64_t at = ((const struct told *)a)->decision->at_usec;
	uint64_t bt = ((const struct told *)b)->decision->at_usec;

	return at < bt ? 1 : at > bt ? -1 : 0;
}

static json_t *show_bid(double price)
{
	return isnan(price) ? json_null() : json_real(round(price * 1e4) / 1e4);
}

static json_t *show_decision(const struct told *told, struct canfs_control_time now)
{
	const struct canfs_decision *decision = told->decision;
	double ago_sec = (double)(now.monotonic_usec - decision->at_usec) / 1e6;

	return json_pack("{s:f, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "time",
		round((now.unix_sec - ago_sec) * 1e3) / 1e3, "mountpoint",
		told->mount ? canfs_control_text(told->mount->mountpoint) : json_null(), "what",
		decision->what, "from", decision->from, "to", canfs_control_text(decision->to),
		"server_price", show_bid(decision->bids.server_price), "own_price",
		show_bid(decision->bids.own_price), "network_price",
		show_bid(decision->bids.network_price), "reason",
		canfs_control_text(decision->reason));
}

/*
 * Collects the decisions of the mounts on this mount point (NULL: of all) and of the agent as a
 * whole.
 */
static size_t collect_all(
	struct told *told, const struct canfs_view *view, const char *mountpoint, bool *found)
{
	size_t n = collect(told, &view->actors->decisions, NULL);

	*found = !mountpoint;
	for (size_t i = 0; i < view->n; i++) {
		const struct canfs_bidder *bidder = view->bidders[i];

		if (mountpoint && strcmp(mountpoint, bidder->mount.mountpoint) != 0)
			continue;
		*found = true;
		n += collect(told + n, &bidder->decisions, &bidder->mount);
	}
	return n;
}

static json_t *run_why(struct canfs_control_call *call)
{
	const struct canfs_view *view = call->subject;
	const char *mountpoint;
	unsigned int last;
	struct told *told;
	json_t *shown;
	size_t n;
	bool found;

	if (!canfs_control_string(call, "mount", &mountpoint) ||
		!canfs_control_count(call, "last", WHY_MAX, WHY_DEFAULT, &last))
		return NULL;
	told = calloc((view->n + 1) * CANFS_DECISIONS_MAX, sizeof(*told));
	if (!told)
		return NULL;
	n = collect_all(told, view, mountpoint, &found);
	if (!found) {
		free(told);
		return canfs_control_refuse(call,
			"mount: '%.128s' is not managed; \"status\" lists the mount points",
			mountpoint);
	}
	qsort(told, n, sizeof(*told), latest_first);
	shown = json_array();
	for (size_t i = 0; i < n && i < last; i++)
		json_array_append_new(shown, show_decision(&told[i], call->now));
	free(told);
	return json_pack("{s:o}", "decisions", shown);
}

static const char *const no_members[] = { NULL };
static const char *const why_members[] = { "mount", "last", NULL };

const struct canfs_control_command canfs_status_commands[] = {
	{ "status", no_members, run_status },
	{ "why", why_members, run_why },
	{ NULL, NULL, NULL },
};
