/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Metrics of this machine's price servers (NFS-Ganesha's plugin, canfs-priced), from the replies of
 * their control sockets. So no server needs HTTP. The numbers of exports, clients (those with the
 * highest load) and disks of each server are bounded.
 */
#ifndef CANFS_CLIENT_AGENT_STATUS_SERVER_METRICS_H
#define CANFS_CLIENT_AGENT_STATUS_SERVER_METRICS_H

#include <stdio.h>
#include <jansson.h>

#define CANFS_SERVER_EXPORTS_MAX 100
#define CANFS_SERVER_CLIENTS_MAX 20
#define CANFS_SERVER_DISKS_MAX   20

/*
 * servers is a list of {"server": NAME, "up": true, COMMAND: its reply, ...}. server/control.md
 * describes the replies. Missing and null values are left out. servers may be NULL.
 */
void canfs_server_metrics_print(FILE *out, const json_t *servers);

#endif
