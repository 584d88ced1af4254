/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the price servers of this machine (NFS-Ganesha's plugin, canfs-priced) say over their control sockets, as metrics: so there is no HTTP
 * in a server. There are at most so many exports, clients (those of the highest load) and disks of each.
 */
#ifndef CANFS_CLIENT_AGENT_STATUS_SERVER_METRICS_H
#define CANFS_CLIENT_AGENT_STATUS_SERVER_METRICS_H

#include <stdio.h>
#include <jansson.h>

#define CANFS_SERVER_EXPORTS_MAX 100
#define CANFS_SERVER_CLIENTS_MAX 20
#define CANFS_SERVER_DISKS_MAX   20

/*
 * servers: a list of {"server": NAME, "up": true, COMMAND: its reply, ...}; see server/control.md for the replies. What is missing or
 * null is left out. NULL: none.
 */
void canfs_server_metrics_print(FILE *out, const json_t *servers);

#endif
