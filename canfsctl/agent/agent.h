/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What canfsctl status, top and why print: of a reply of the agent (client-agent/status.md), and of jobs. */
#ifndef CANFS_CANFSCTL_AGENT_AGENT_H
#define CANFS_CANFSCTL_AGENT_AGENT_H

#include <stdbool.h>
#include <stdio.h>
#include <jansson.h>
#include "canfsctl/socket.h"

/* Text for a reader, within 80 columns but for paths and reasons. What a reply lacks is left blank. */
void ctl_show_top(FILE *out, const json_t *status);
void ctl_show_status(FILE *out, const json_t *status);
void ctl_show_why(FILE *out, const json_t *why);

/* What canfs_jobs_read() has found, below that; nothing if there are none. */
void ctl_show_jobs(FILE *out, const json_t *jobs);

/* canfsctl top on the terminal, until q is pressed or after count pictures (0: any number). False: there is none that can do it. */
bool ctl_agent_screen(struct ctl_peer *peer, double interval_sec, unsigned int count);

#endif
