/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A job while it is governed, from its start to its end: by one thread in one poll(2), which waits for the servers' answers,
 * signals, the job's end, and for when the law is due.
 */
#ifndef CANFS_CANFSCTL_RUN_GOVERN_H
#define CANFS_CANFSCTL_RUN_GOVERN_H

#include <signal.h>

#include "canfsctl/run/run.h"
#include "canfsctl/run/jobs.h"
#include "canfsctl/run/process.h"
#include "canfsctl/run/watchdog.h"

struct ctl_run {
	const struct ctl_governed *governed; /* set by the caller, as are these: */
	bool verbose;
	struct canfs_govern_terms terms;
	struct canfs_job_prices *prices;
	struct canfs_stopper stopper;
	struct canfs_process process; /* of a command */

	struct canfs_govern_law law;
	enum canfs_job_prices_state state; /* as of the last line about it */
	bool has_told;
	enum canfs_price_source source[CANFS_JOB_SERVERS_MAX]; /* likewise */
	struct canfs_watchdog watchdog;
	sigset_t before; /* the signal mask that we were started with */
	int signal_fd;
	int ended_by;    /* a signal to us ended an attachment; 0: none */
	bool is_stopped; /* what the stopper was told last */
	bool is_let_go;  /* it is to end, or there is no watchdog: not paused any more */
	bool has_left;   /* a process has left the job; reported already */
	uint64_t began_usec, changed_usec, paused_usec, longest_usec;
	unsigned int pauses;
	uint64_t suspended_usec;             /* the machine, since it booted */
	struct canfs_governed_job published; /* its process ID is 0: it is not */
	uint64_t published_usec;
};

/* Before the job is started: no signal may be lost. 0 or -errno. */
int ctl_run_catch_signals(struct ctl_run *run);

/* With what stops the job set: from here on a pause ends whatever happens to us. 0 or -errno. */
int ctl_run_begin(struct ctl_run *run);

/* Until the job ends, or a signal ends the attachment to it. */
void ctl_run_govern(struct ctl_run *run);

/* After ctl_run_begin(), in any case. The job goes on, if it is still there. */
void ctl_run_finish(struct ctl_run *run);

/*
 * As ctl_warn(), while a job is governed: a reader that does not read must not hold up one that is paused. What cannot be
 * written at once is lost.
 */
void ctl_run_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What is said of it, most only if that is asked for: how its prices come, how it is paused, that it has been or goes on, the sum. */
void ctl_run_tell_prices(struct ctl_run *run, uint64_t now_usec);
void ctl_run_tell_how(const struct ctl_run *run);
void ctl_run_tell_left(const struct ctl_run *run, pid_t pid);
void ctl_run_tell_change(const struct ctl_run *run, uint64_t now_usec);
void ctl_run_tell_sum(const struct ctl_run *run, uint64_t now_usec);

/* For canfsctl top (jobs.h), in ctl_run_begin(), with each round, and at the end. Where we may not, nothing is published. */
void ctl_run_publish_begin(struct ctl_run *run);
void ctl_run_publish(struct ctl_run *run, uint64_t now_usec);
void ctl_run_publish_end(struct ctl_run *run);

#endif
