/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The status as metrics for Prometheus: text format 0.0.4, names that start with canfs_. Each
 * series is one row of a table. A mount is a label, so there are at most rows times mounts series.
 * There are at most CANFS_DEFER_BDIS_MAX mounts.
 */
#ifndef CANFS_CLIENT_AGENT_STATUS_METRICS_H
#define CANFS_CLIENT_AGENT_STATUS_METRICS_H

#include <jansson.h>

#define CANFS_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/*
 * status is the result of canfs_status_json(). servers is a list as in server_metrics.h; NULL:
 * none. Null values are left out. Returns the text, which the caller must free(), or NULL if there
 * is no memory.
 */
char *canfs_metrics_text(const json_t *status, const json_t *servers);

#endif
