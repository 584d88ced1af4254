/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The agent's loop: one thread, nothing in it blocks.
 *
 *	mounts changed? --> meminfo, mountstats --> each bidder: observe, interfaces, poller, bid --> act
 *	      ^                                                                                      |
 *	      `---- poll: 100 ms while data moves or is held, else 1 s; pollers, signals <-----------'
 *
 * SIGTERM, SIGINT: release in stages, restore, end; a second one: restore at once, end. SIGHUP: read the
 * configuration again; a bad one is named and the running one stays. After a suspend there is no price
 * until a new one has come. The service manager is told of all this, and that the loop goes round.
 */
#ifndef CANFS_CLIENT_AGENT_LOOP_H
#define CANFS_CLIENT_AGENT_LOOP_H

#include "client-agent/config/config.h"

struct canfs_loop_options {
	const char *root;        /* "" in production */
	const char *config_file; /* for SIGHUP; NULL: none */
	int mode;                /* an enum canfs_mode that overrides the file's, or -1 */
};

/* Runs until SIGTERM or SIGINT. 0 or -errno; what went wrong has been logged. */
int canfs_loop_run(struct canfs_agent_config *config, const struct canfs_loop_options *options);

#endif
