/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The first two rows of a page: its subject, and whether the daemon answers. */
#ifndef CANFS_CANFSCTL_TOP_HEAD_H
#define CANFS_CANFSCTL_TOP_HEAD_H

#include <jansson.h>
#include "canfsctl/top/view.h"

/* Draws one row. time: of the last answer, UNIX time. version may be NULL, uptime_sec NAN. */
void canfs_head_put(struct canfs_page *page, const struct canfs_top_view *view, const char *what,
	const char *version, double uptime_sec, double time);

/* Draws one row: the daemon does not answer. */
void canfs_head_put_error(
	struct canfs_page *page, int row, const char *error, double silent_sec, double time);

#endif
