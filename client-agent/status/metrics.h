/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The status as Prometheus reads it: text format 0.0.4, names from canfs_. One row of a table a
 * series; a mount is a label, so that there are no more series than rows times mounts (which are
 * CANFS_DEFER_BDIS_MAX at most).
 */
#ifndef CANFS_CLIENT_AGENT_STATUS_METRICS_H
#define CANFS_CLIENT_AGENT_STATUS_METRICS_H

#include <jansson.h>

#define CANFS_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/*
 * Of what canfs_status_json() gives, and of servers as server_metrics.h has them (NULL: none); a value that is null is left out.
 * Free it. NULL: no memory.
 */
char *canfs_metrics_text(const json_t *status, const json_t *servers);

#endif
