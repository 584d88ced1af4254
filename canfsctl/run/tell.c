// SPDX-License-Identifier: LGPL-3.0-or-later
/* Messages of canfsctl run about the governed job. */
#include "canfsctl/run/govern.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/file.h"

#define LINE_BYTES 1024 /* longer lines are cut; POLLOUT of a pipe means room for as much */

void ctl_run_say(const char *format, ...)
{
	struct pollfd polled = { STDERR_FILENO, POLLOUT, 0 };
	char line[LINE_BYTES];
	va_list args;

	if (poll(&polled, 1, 0) != 1 || !(polled.revents & POLLOUT))
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	ctl_warn("%s", line);
}

static const char *const source_texts[] = {
	[CANFS_SOURCE_FSSTAT] = "are polled ten times a second",
	[CANFS_SOURCE_SERVICE] = "are pushed by its price service",
};

static void tell_no_price(const struct ctl_run *run)
{
	const char *why = "";
	const struct canfs_job_server *server = canfs_job_prices_silent(run->prices, &why);

	if (server)
		ctl_run_say(
			"%s does not answer: %s; the job will not be paused", server->name, why);
	else
		ctl_run_say("%s publishes no prices; the job will not be paused",
			run->prices->server[0].name);
}

/* Reports once that there are no prices, and later changes only with --verbose. */
static void tell_state(struct ctl_run *run, uint64_t now_usec)
{
	enum canfs_job_prices_state state = canfs_job_prices_state(run->prices, now_usec);

	if (state == run->state || state == CANFS_JOB_PRICES_ASKED)
		return;
	run->state = state;
	if (state != CANFS_JOB_PRICES_IN_FORCE && (!run->has_told || run->verbose))
		tell_no_price(run);
	run->has_told = run->has_told || state != CANFS_JOB_PRICES_IN_FORCE;
}

/* Reports changes of how prices arrive. */
static void tell_sources(struct ctl_run *run, uint64_t now_usec)
{
	for (size_t i = 0; i < run->prices->n; i++) {
		const struct canfs_job_server *server = &run->prices->server[i];
		enum canfs_price_source source = canfs_job_prices_source(server, now_usec);

		if (source == run->source[i] || source == CANFS_SOURCE_NONE)
			continue;
		run->source[i] = source;
		if (run->verbose)
			ctl_run_say("%s: its prices %s", server->name, source_texts[source]);
	}
}

void ctl_run_tell_prices(struct ctl_run *run, uint64_t now_usec)
{
	tell_state(run, now_usec);
	tell_sources(run, now_usec);
}

void ctl_run_tell_how(const struct ctl_run *run)
{
	const struct canfs_stopper *stopper = &run->stopper;

	if (run->verbose && stopper->how == CANFS_STOP_CGROUP)
		ctl_run_say("method of pausing: control group %s", stopper->freezer.path);
	else if (run->verbose)
		ctl_run_say("method of pausing: SIGSTOP and SIGCONT");
}

/* Reports a process that is not paused with the job. */
void ctl_run_tell_left(const struct ctl_run *run, pid_t pid)
{
	char file[32], name[64];
	ssize_t length;

	snprintf(file, sizeof(file), "/proc/%d/comm", (int)pid);
	length = canfs_read_file("", file, name, sizeof(name));
	ctl_run_say("run: process %d (%.*s) has left its %s: it is not paused", (int)pid,
		length > 0 ? (int)length - 1 : 0, name,
		run->stopper.how == CANFS_STOP_CGROUP ? "control group" : "process group");
}

void ctl_run_tell_change(const struct ctl_run *run, uint64_t now_usec)
{
	const struct canfs_job_server *server = NULL;
	struct canfs_govern_price price = canfs_job_prices_now(run->prices, now_usec, &server);
	double sec = (double)(now_usec - run->changed_usec) / 1e6;

	if (!run->verbose)
		return;
	if (run->is_stopped && server)
		ctl_run_say("paused after %.1f s: %sthe price is %.2f (%s)", sec,
			run->law.reason == CANFS_GOVERN_OTHERS ? "other clients are active, and "
							       : "",
			price.price, canfs_resource_name(server->poller.tag.bottleneck));
	else if (!run->is_stopped && run->law.is_paused) /* by a signal or the job's end */
		ctl_run_say("resumed after %.1f s", sec);
	else if (!run->is_stopped)
		ctl_run_say(
			"resumed after %.1f s: %s", sec, canfs_govern_reason_text(run->law.reason));
}

void ctl_run_tell_sum(const struct ctl_run *run, uint64_t now_usec)
{
	double sec = (double)(now_usec - run->began_usec) / 1e6;

	if (run->verbose)
		ctl_run_say("ran for %.1f s of %.1f s; %u pause%s, the longest %.1f s",
			sec - (double)run->paused_usec / 1e6, sec, run->pauses,
			run->pauses == 1 ? "" : "s", (double)run->longest_usec / 1e6);
}
