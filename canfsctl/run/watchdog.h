/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A process that lets a job go on if the one that governs it cannot: because it was killed, even by SIGKILL, or stopped,
 * or hangs.
 *
 *	governor --- runs, paused, suspended, stopped, end --> watchdog
 *	            connection is cut        the job goes on, if it was paused or suspended
 *	            paused for too long      the job goes on
 *	            stopped, and goes on     the governor is continued
 *	            end                      nothing is left to do
 *
 * What somebody else has stopped stays so.
 *
 * It is in a session of its own and blocks all signals, so that what ends a terminal or a process group leaves it alone.
 */
#ifndef CANFS_CANFSCTL_RUN_WATCHDOG_H
#define CANFS_CANFSCTL_RUN_WATCHDOG_H

#include <stdint.h>
#include "canfsctl/run/stopper.h"

enum canfs_watched {
	CANFS_JOB_RUNS = 'R',
	CANFS_JOB_PAUSED = 'P',    /* not for longer than the limit */
	CANFS_JOB_SUSPENDED = 'S', /* as long as the governor is: Ctrl-Z */
	CANFS_JOB_STOPPED = 'T', /* by somebody else; the governor stops until the job continues */
};

struct canfs_watchdog {
	int fd;
	pid_t pid;
};

/* limit_usec: for a pause. The stopper is copied. 0 or -errno. */
int canfs_watchdog_start(
	struct canfs_watchdog *watchdog, const struct canfs_stopper *stopper, uint64_t limit_usec);

/* Before a job is paused or suspended, and after it goes on. 0, or -EPIPE: there is no watchdog any more. */
int canfs_watchdog_tell(const struct canfs_watchdog *watchdog, enum canfs_watched job);

/* As if we were gone: the job goes on as above, and its control group is removed once it is empty. */
void canfs_watchdog_leave(struct canfs_watchdog *watchdog);

/* The job has ended, or is left alone. */
void canfs_watchdog_end(struct canfs_watchdog *watchdog);

#endif
