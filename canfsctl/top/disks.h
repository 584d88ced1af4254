/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Of the page of a server: its disks, and what is read ahead. */
#ifndef CANFS_CANFSCTL_TOP_DISKS_H
#define CANFS_CANFSCTL_TOP_DISKS_H

#include "canfsctl/top/server.h"

/* The first of them, below a heading. */
void canfs_disks_put(
	struct canfs_page *page, int row, int shown, const struct canfs_server_answers *answers);

#endif
