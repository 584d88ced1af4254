/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A process that continues the job if its governor cannot, because the governor hangs, is stopped,
 * or was killed, even by SIGKILL.
 *
 *	governor --- runs, paused, suspended, stopped, end --> watchdog
 *	            connection closes        continue the job if it was paused or suspended
 *	            paused for too long      continue the job
 *	            stopped, then continued  continue the governor
 *	            end                      exit
 *
 * A job that somebody else stopped stays stopped.
 *
 * The watchdog has its own session and blocks all signals, so that neither a hangup of the terminal
 * nor a signal to a process group ends it.
 */
#ifndef CANFS_CANFSCTL_RUN_WATCHDOG_H
#define CANFS_CANFSCTL_RUN_WATCHDOG_H

#include <stdint.h>
#include "canfsctl/run/stopper.h"

enum canfs_watched {
	CANFS_JOB_RUNS = 'R',
	CANFS_JOB_PAUSED = 'P',    /* for no longer than the limit */
	CANFS_JOB_SUSPENDED = 'S', /* as long as the governor is (Ctrl-Z) */
	CANFS_JOB_STOPPED = 'T', /* by somebody else; the governor stops until the job continues */
};

struct canfs_watchdog {
	int fd;
	pid_t pid;
};

/* limit_usec: longest pause. Copies the stopper. Returns 0 or -errno. */
int canfs_watchdog_start(
	struct canfs_watchdog *watchdog, const struct canfs_stopper *stopper, uint64_t limit_usec);

/*
 * Call before the job is paused or suspended, and after it continues. Returns 0, or -EPIPE if the
 * watchdog is dead.
 */
int canfs_watchdog_tell(const struct canfs_watchdog *watchdog, enum canfs_watched job);

/*
 * Acts as if we had exited: the watchdog continues the job as above, and removes its control group
 * once it is empty.
 */
void canfs_watchdog_leave(struct canfs_watchdog *watchdog);

/* Call when the job has ended or is no longer governed. Waits for the watchdog to exit. */
void canfs_watchdog_end(struct canfs_watchdog *watchdog);

#endif
