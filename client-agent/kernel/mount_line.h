/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Parses one line of /proc/self/mountinfo as an NFS mount (format: mounts.h). */
#ifndef CANFS_CLIENT_AGENT_KERNEL_MOUNT_LINE_H
#define CANFS_CLIENT_AGENT_KERNEL_MOUNT_LINE_H

#include "client-agent/kernel/mounts.h"

/*
 * end points to the line's newline. Returns 0, -ENOENT for another file system, or -EPROTO if the
 * line is unusable.
 *
 * On -EPROTO for an NFS mount, *why is the reason in words, and id (-1: not known), bdi and
 * mountpoint (perhaps truncated) are set. *why is NULL if the line does not have the format of
 * mountinfo.
 */
int canfs_mount_line_parse(
	const char *line, const char *end, struct canfs_mount *mount, const char **why);

#endif
