/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * canfsctl server top: a page made from a server's replies (server/control.md). From top to bottom:
 *
 *	head         host, socket, release, uptime
 *	export       the resources of one export, their prices, and their recent history
 *	clients      by how long they make others wait; whom the selected one makes wait most
 *	read-ahead   disks: queue, used and wasted read-ahead
 */
#ifndef CANFS_CANFSCTL_TOP_SERVER_H
#define CANFS_CANFSCTL_TOP_SERVER_H

#include <jansson.h>
#include "canfsctl/top/view.h"

/* Replies to the commands of these names. NULL: no reply yet. */
struct canfs_server_answers {
	const char *host, *socket;
	const json_t *prices, *history, *clients, *who, *counters;
	const json_t *prefetch, *prefetch_before; /* now and some time ago, for rates */
	const char *error;                        /* NULL: the server answers */
	double silent_sec;                        /* since the last answer */
};

/* Fills a new page. Sets the view's counts and clamps its choices. */
void canfs_server_layout(const struct canfs_server_answers *answers, struct canfs_top_view *view,
	struct canfs_page *page);

/* The path of the export that the view shows. NULL: none. */
const char *canfs_server_export(const json_t *prices, const struct canfs_top_view *view);

#endif
