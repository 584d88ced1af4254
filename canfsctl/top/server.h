/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * canfsctl server top: a page of a server's replies (server/control.md).
 *
 *	what is it            host, socket, release, uptime
 *	how is it             resources of one export, their prices, and their last seconds
 *	who makes it so       clients, by the waiting that they impose on others; the marked one's pairs
 *	what reads ahead      disks: queue, used and wasted
 */
#ifndef CANFS_CANFSCTL_TOP_SERVER_H
#define CANFS_CANFSCTL_TOP_SERVER_H

#include <jansson.h>
#include "canfsctl/top/view.h"

/* The replies to the commands of these names. NULL: there is none. */
struct canfs_server_answers {
	const char *host, *socket;
	const json_t *prices, *history, *clients, *who, *counters;
	const json_t *prefetch, *prefetch_before; /* now, and some time before: for rates */
	const char *error;                        /* NULL: it answers */
	double silent_sec;                        /* for how long it has not */
};

/* Fills a fresh page, and bounds what the view has chosen. */
void canfs_server_layout(const struct canfs_server_answers *answers, struct canfs_top_view *view,
	struct canfs_page *page);

/* The path of the export that the view shows; NULL: there is none. */
const char *canfs_server_export(const json_t *prices, const struct canfs_top_view *view);

#endif
