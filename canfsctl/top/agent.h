/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * canfsctl top: a page of the agent's replies (client-agent/status.md).
 *
 *	what is it            host, release, uptime; memory, what is held
 *	what does it do       a row for each mount: verdict, prices, what is held
 *	of the marked mount   prices with their last seconds, and why so; read-ahead, requests; its last decisions
 *	who else steps aside  the jobs of canfsctl run
 */
#ifndef CANFS_CANFSCTL_TOP_AGENT_H
#define CANFS_CANFSCTL_TOP_AGENT_H

#include <jansson.h>
#include "canfsctl/top/view.h"

#define CANFS_AGENT_TRENDS 512 /* samples of each mount that are kept */

struct canfs_agent_answers {
	const char *host;
	const json_t *status, *why; /* NULL: there is none */
	const json_t *jobs;         /* of canfs_jobs_read() */
	const json_t *trends;       /* of canfs_agent_trends() */
	const char *error;          /* NULL: it answers */
	double silent_sec;          /* for how long it has not */
	double now_sec;             /* UNIX */
};

/* Fills a fresh page, and bounds what the view has chosen. */
void canfs_agent_layout(const struct canfs_agent_answers *answers, struct canfs_top_view *view,
	struct canfs_page *page);

/*
 * The agent remembers no prices; who watches it does: trends (NULL: none yet), which it takes, and a further sample
 * of each mount that there is now.
 */
json_t *canfs_agent_trends(json_t *trends, const json_t *status);

#endif
