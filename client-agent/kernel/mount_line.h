/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One line of /proc/self/mountinfo as an NFS mount: mounts.h shows it. */
#ifndef CANFS_CLIENT_AGENT_KERNEL_MOUNT_LINE_H
#define CANFS_CLIENT_AGENT_KERNEL_MOUNT_LINE_H

#include "client-agent/kernel/mounts.h"

/*
 * *end is the line's newline. 0; -ENOENT: another file system's. -EPROTO: it cannot be used, and *why says why in words if it
 * is an NFS mount's; its id (-1: not known), bdi and mountpoint (perhaps cut) are set then, and why is NULL if it is no
 * line of mountinfo.
 */
int canfs_mount_line_parse(
	const char *line, const char *end, struct canfs_mount *mount, const char **why);

#endif
