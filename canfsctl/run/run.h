/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command line of canfsctl run, and the servers whose prices it needs. */
#ifndef CANFS_CANFSCTL_RUN_RUN_H
#define CANFS_CANFSCTL_RUN_RUN_H

#include "canfsctl/export.h"
#include "canfsctl/run/prices.h"
#include "canfsctl/run/stopper.h"

/* The governed job, and where its prices come from. */
struct ctl_governed {
	char **command;           /* ended by NULL; NULL: attach is set */
	const char *attach;       /* a running job; NULL: start a command */
	const char *server;       /* a mount point; NULL: not given */
	struct ctl_export export; /* its text is NULL: not given */
};

/*
 * Adds the servers named on the command line, or else those of the mounts that the job uses. A
 * command uses the mounts of its arguments, or else of the working directory. An attached job uses
 * the mounts of its open files and working directories. Returns CTL_OK or another exit status,
 * after a warning. If it finds no server, it warns and returns CTL_OK; the caller then runs the
 * command ungoverned, or fails if it was to attach.
 */
int ctl_run_servers(const struct ctl_governed *governed, const struct canfs_stopper *stopper,
	struct canfs_job_prices *prices);

#endif
