// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfsctl top on a terminal: asks the agent and keeps its last replies. */
#include "canfsctl/agent/agent.h"
#include "canfsctl/screen.h"
#include "canfsctl/top/agent.h"
#include "canfsctl/run/jobs.h"

#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common/clock.h"

#define TIMEOUT_SEC   2 /* keys are not read while waiting */
#define DECISIONS_MAX 256

struct agent_top {
	struct ctl_peer *peer;
	char host[256];
	bool is_silent;
	uint64_t answered_usec; /* of the last replies; before any, of the first request */
	json_t *status, *why, *jobs, *trends;
};

static void keep(json_t **kept, json_t *reply)
{
	json_decref(*kept);
	*kept = reply;
}

/* The agent does not know the jobs, so they are read even if the agent does not answer. */
static void ask_agent(void *data, const struct canfs_top_view *view, int columns)
{
	struct agent_top *top = data;
	json_t *status = NULL, *why = NULL;

	(void)view;
	(void)columns;
	if (ctl_dial(top->peer)) {
		status = ctl_ask(top->peer, json_pack("{s:s}", "command", "status"));
		why = ctl_ask(top->peer,
			json_pack("{s:s, s:i}", "command", "why", "last", DECISIONS_MAX));
	}
	ctl_hang_up(top->peer);
	top->is_silent = !status || !why;
	if (!top->is_silent || top->answered_usec == 0)
		top->answered_usec = canfs_now_usec();
	if (!top->is_silent) {
		keep(&top->status, json_incref(status));
		keep(&top->why, json_incref(why));
		top->trends = canfs_agent_trends(top->trends, status);
	}
	json_decref(status);
	json_decref(why);
	keep(&top->jobs, canfs_jobs_read(CANFS_JOBS_DIRECTORY, ""));
}

static void layout(void *data, struct canfs_top_view *view, struct canfs_page *page)
{
	struct agent_top *top = data;
	const struct canfs_agent_answers answers = { .host = top->host,
		.status = top->status,
		.why = top->why,
		.jobs = top->jobs,
		.trends = top->trends,
		.error = top->is_silent ? top->peer->error : NULL,
		.silent_sec = (double)(canfs_now_usec() - top->answered_usec) / 1e6,
		.now_sec = (double)time(NULL) };

	canfs_agent_layout(&answers, view, page);
}

bool ctl_agent_screen(struct ctl_peer *peer, double interval_sec, unsigned int count)
{
	static const struct ctl_program program = { ask_agent, layout };
	struct agent_top top = { .peer = peer };
	bool done;

	peer->timeout_sec = TIMEOUT_SEC;
	if (gethostname(top.host, sizeof(top.host) - 1) != 0)
		strcpy(top.host, "?");
	done = ctl_screen(&program, &top, interval_sec, count);
	peer->timeout_sec = 0;
	keep(&top.status, NULL);
	keep(&top.why, NULL);
	keep(&top.jobs, NULL);
	keep(&top.trends, NULL);
	return done;
}
