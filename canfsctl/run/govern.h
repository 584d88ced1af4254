/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Governs a job from start to end. A single thread runs one poll(2) loop, which wakes up for
 * servers' answers, signals, the job's end, and when the law's next step is due.
 */
#ifndef CANFS_CANFSCTL_RUN_GOVERN_H
#define CANFS_CANFSCTL_RUN_GOVERN_H

#include <signal.h>

#include "canfsctl/run/run.h"
#include "canfsctl/run/jobs.h"
#include "canfsctl/run/process.h"
#include "canfsctl/run/watchdog.h"

struct ctl_run {
	const struct ctl_governed *
		governed; /* the caller sets the members from here to `prices` and, for an attached job, `stopper` */
	bool verbose;
	struct canfs_govern_terms terms;
	struct canfs_job_prices *prices;
	struct canfs_stopper stopper;
	struct canfs_process process; /* of the command */

	struct canfs_govern_law law;
	enum canfs_job_prices_state state; /* when it was last reported */
	bool has_told;
	enum canfs_price_source source[CANFS_JOB_SERVERS_MAX]; /* likewise */
	struct canfs_watchdog watchdog;
	sigset_t before; /* signal mask at our start */
	int signal_fd;
	int ended_by;    /* signal that ended an attachment; 0: none */
	bool is_stopped; /* by the stopper */
	bool is_let_go;  /* do not pause: the job is ending or the watchdog is dead */
	bool has_left;   /* reported that a process has left the job */
	uint64_t began_usec, changed_usec, paused_usec, longest_usec;
	unsigned int pauses;
	uint64_t suspended_usec;             /* time that the machine was suspended since boot */
	struct canfs_governed_job published; /* its pid is 0: not published */
	uint64_t published_usec;
};

/* Call before the job starts, so that no signal is lost. Returns 0 or -errno. */
int ctl_run_catch_signals(struct ctl_run *run);

/*
 * Needs run->stopper. Starts the watchdog, so that from here on every pause ends even if we are
 * killed. Returns 0 or -errno.
 */
int ctl_run_begin(struct ctl_run *run);

/* Runs until the job ends, or until a signal ends the attachment to it. */
void ctl_run_govern(struct ctl_run *run);

/* Call after ctl_run_begin() succeeded. Continues the job if it is still paused. */
void ctl_run_finish(struct ctl_run *run);

/*
 * Like ctl_warn(), but never blocks: a reader that does not read standard error must not prolong a
 * pause. A line that cannot be written at once is lost.
 */
void ctl_run_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Messages on standard error, most of them only with --verbose. They report how prices arrive, how
 * the job is paused, a process that has left the job, each pause and its end, and the totals.
 */
void ctl_run_tell_prices(struct ctl_run *run, uint64_t now_usec);
void ctl_run_tell_how(const struct ctl_run *run);
void ctl_run_tell_left(const struct ctl_run *run, pid_t pid);
void ctl_run_tell_change(const struct ctl_run *run, uint64_t now_usec);
void ctl_run_tell_sum(const struct ctl_run *run, uint64_t now_usec);

/*
 * Publish the job for canfsctl top (jobs.h): from ctl_run_begin(), in each round, and at the end.
 * Without permission nothing is published.
 */
void ctl_run_publish_begin(struct ctl_run *run);
void ctl_run_publish(struct ctl_run *run, uint64_t now_usec);
void ctl_run_publish_end(struct ctl_run *run);

#endif
