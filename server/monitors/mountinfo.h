/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which file system is a path on? /proc/self/mountinfo knows, without asking that file system. */
#ifndef CANFS_SERVER_MONITORS_MOUNTINFO_H
#define CANFS_SERVER_MONITORS_MOUNTINFO_H

#include <limits.h>
#include <sys/types.h>

struct canfs_mountinfo_entry {
	dev_t device; /* of its superblock; not st_dev of the files of btrfs */
	char type[32];
	char source[PATH_MAX];
	char upper[PATH_MAX]; /* upperdir= of an overlay; "" if it has none */
};

/*
 * The mount that an absolute path without symbolic links is on: the one with the longest mount
 * point above it, and of those with the same the last. text is NUL-terminated; lines that are not
 * what the kernel writes are left out. 0, or -ENODATA: there is none.
 */
int canfs_find_mount(const char *text, const char *path, struct canfs_mountinfo_entry *mount);

#endif
