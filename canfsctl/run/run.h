/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What run.c is typed with, and whose prices follow from it. */
#ifndef CANFS_CANFSCTL_RUN_RUN_H
#define CANFS_CANFSCTL_RUN_RUN_H

#include "canfsctl/export.h"
#include "canfsctl/run/prices.h"
#include "canfsctl/run/stopper.h"

/* What is governed, and by whose prices. */
struct ctl_governed {
	char **command;           /* ended by NULL; NULL: attach is set */
	const char *attach;       /* to what runs already; NULL: a command is started */
	const char *server;       /* a mount point; NULL: none is named */
	struct ctl_export export; /* its text is NULL: none is named */
};

/*
 * What to ask: what is named; else the mounts that the command's arguments are on, or the working directory, or what an
 * attached job has open. CTL_OK, and perhaps none, which has been said: then a command runs all the same, and there is nothing
 * to do about what runs already; or another exit status after a warning.
 */
int ctl_run_servers(const struct ctl_governed *governed, const struct canfs_stopper *stopper,
	struct canfs_job_prices *prices);

#endif
