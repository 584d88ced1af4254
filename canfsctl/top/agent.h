/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * canfsctl top: a page made from the agent's replies (client-agent/status.md). From top to bottom:
 *
 *	head              host, release, uptime; memory, held data
 *	mounts            a row for each mount: verdict, prices, held data
 *	selected mount    prices, their recent history and reasons; read-ahead, requests;
 *	                  its last decisions
 *	jobs              the jobs of canfsctl run
 */
#ifndef CANFS_CANFSCTL_TOP_AGENT_H
#define CANFS_CANFSCTL_TOP_AGENT_H

#include <jansson.h>
#include "canfsctl/top/view.h"

#define CANFS_AGENT_TRENDS 512 /* samples kept for each mount */

struct canfs_agent_answers {
	const char *host;
	const json_t *status, *why; /* NULL: no reply yet */
	const json_t *jobs;         /* from canfs_jobs_read() */
	const json_t *trends;       /* from canfs_agent_trends() */
	const char *error;          /* NULL: the agent answers */
	double silent_sec;          /* since the last answer */
	double now_sec;             /* UNIX time */
};

/* Fills a new page. Sets the view's counts and clamps its choices. */
void canfs_agent_layout(const struct canfs_agent_answers *answers, struct canfs_top_view *view,
	struct canfs_page *page);

/*
 * Appends a price sample of each present mount to the trends, since the agent keeps no history.
 * Consumes trends, which may be NULL, and returns the new trends.
 */
json_t *canfs_agent_trends(json_t *trends, const json_t *status);

#endif
