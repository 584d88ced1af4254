/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The disks on the server's page, and what is read ahead from them. */
#ifndef CANFS_CANFSCTL_TOP_DISKS_H
#define CANFS_CANFSCTL_TOP_DISKS_H

#include "canfsctl/top/server.h"

/* Draws a heading and the first `shown` disks. */
void canfs_disks_put(
	struct canfs_page *page, int row, int shown, const struct canfs_server_answers *answers);

#endif
