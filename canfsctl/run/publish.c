// SPDX-License-Identifier: LGPL-3.0-or-later
/* Publishes the job for canfsctl top. */
#include "canfsctl/run/govern.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "canfsctl/run/process_stat.h"

#define PUBLISH_USEC 1000000 /* unless the job is paused or continues earlier */

/* The command line as typed, cut to fit, or the attached job. */
static void describe(const struct ctl_governed *governed, char text[CANFS_JOB_TEXT_MAX])
{
	size_t length = 0;

	if (governed->attach) {
		snprintf(text, CANFS_JOB_TEXT_MAX, "--attach=%s", governed->attach);
		return;
	}
	for (char **word = governed->command; *word && length < CANFS_JOB_TEXT_MAX; word++)
		length += (size_t)snprintf(text + length, CANFS_JOB_TEXT_MAX - length, "%s%s",
			length > 0 ? " " : "", *word);
}

void ctl_run_publish_begin(struct ctl_run *run)
{
	struct canfs_governed_job *job = &run->published;

	*job = (struct canfs_governed_job) { .bid = run->terms.bid };
	if (canfs_process_stat("", getpid(), CANFS_PROCESS_STARTED, &job->started_ticks) < 0)
		return;
	job->pid = getpid();
	describe(run->governed, job->command);
}

static void fill_in_price(struct ctl_run *run, uint64_t now_usec)
{
	const struct canfs_job_server *server = NULL;
	struct canfs_governed_job *job = &run->published;

	job->price = canfs_job_prices_now(run->prices, now_usec, &server).price;
	if (!server)
		return;
	job->bottleneck = canfs_resource_name(server->poller.tag.bottleneck);
	job->source = canfs_poller_source(&server->poller, now_usec);
	snprintf(job->server, sizeof(job->server), "%.*s", CANFS_JOB_TEXT_MAX - 1, server->name);
}

static double paused_sec(const struct ctl_run *run, uint64_t now_usec)
{
	uint64_t paused_usec = run->paused_usec;

	if (run->is_stopped)
		paused_usec += now_usec - run->changed_usec;
	return (double)paused_usec / 1e6;
}

void ctl_run_publish(struct ctl_run *run, uint64_t now_usec)
{
	struct canfs_governed_job *job = &run->published;
	struct timespec now;

	if (job->pid == 0 || (run->published_usec != 0 && job->is_paused == run->is_stopped &&
				     now_usec - run->published_usec < PUBLISH_USEC))
		return;
	run->published_usec = now_usec;
	clock_gettime(CLOCK_REALTIME, &now);
	job->unix_sec = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	job->is_paused = run->is_stopped;
	job->reason = run->is_let_go ? "it is no longer paused"
				     : canfs_govern_reason_text(run->law.reason);
	job->sec = (double)(now_usec - run->began_usec) / 1e6;
	job->ran_sec = fmax(job->sec - paused_sec(run, now_usec), 0);
	job->pauses = run->pauses;
	fill_in_price(run, now_usec);
	if (canfs_job_publish(CANFS_JOBS_DIRECTORY, job) < 0)
		job->pid = 0;
}

void ctl_run_publish_end(struct ctl_run *run)
{
	if (run->published.pid != 0)
		canfs_job_withdraw(CANFS_JOBS_DIRECTORY, run->published.pid);
}
