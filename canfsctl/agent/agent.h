/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What canfsctl status, top and why print about the agent's replies (client-agent/status.md) and
 * about jobs.
 */
#ifndef CANFS_CANFSCTL_AGENT_AGENT_H
#define CANFS_CANFSCTL_AGENT_AGENT_H

#include <stdbool.h>
#include <stdio.h>
#include <jansson.h>
#include "canfsctl/socket.h"

/*
 * Print for a human reader, within 80 columns except for paths and reasons. Members that a reply
 * lacks are blank.
 */
void ctl_show_top(FILE *out, const json_t *status);
void ctl_show_status(FILE *out, const json_t *status);
void ctl_show_why(FILE *out, const json_t *why);

/* Prints the jobs of canfs_jobs_read(), if there are any. */
void ctl_show_jobs(FILE *out, const json_t *jobs);

/*
 * Runs canfsctl top on the terminal until q is pressed, or for count updates (0: no limit). Returns
 * false if no terminal can show it.
 */
bool ctl_agent_screen(struct ctl_peer *peer, double interval_sec, unsigned int count);

#endif
