/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The agent's loop: one thread, in which nothing blocks.
 *
 *	mounts changed? --> meminfo, mountstats --> each bidder: observe, interfaces, poller, bid --> act
 *	      ^                                                                                      |
 *	      `---- poll: 100 ms while data is held, else 0.2 to 1 s; pollers, signals <-------------'
 *
 * SIGTERM and SIGINT: release in stages, restore, exit. At a second signal the agent restores at
 * once and exits. SIGHUP: read the configuration again. If the new one is bad, log that and keep
 * the running one. After a suspend there is no price until a new one arrives. The service manager
 * is told about these states, and that the loop still runs.
 */
#ifndef CANFS_CLIENT_AGENT_LOOP_H
#define CANFS_CLIENT_AGENT_LOOP_H

#include "client-agent/config/config.h"

struct canfs_loop_options {
	const char *root;        /* "" in production */
	const char *config_file; /* for SIGHUP; NULL: none */
	int mode;                /* an enum canfs_mode that overrides the file's, or -1 */
};

/* Runs until SIGTERM or SIGINT. Returns 0 or -errno. Errors have been logged. */
int canfs_loop_run(struct canfs_agent_config *config, const struct canfs_loop_options *options);

#endif
