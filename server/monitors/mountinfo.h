/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Finds the file system of a path from /proc/self/mountinfo, without accessing that file system. */
#ifndef CANFS_SERVER_MONITORS_MOUNTINFO_H
#define CANFS_SERVER_MONITORS_MOUNTINFO_H

#include <limits.h>
#include <sys/types.h>

struct canfs_mountinfo_entry {
	dev_t device; /* of the superblock; differs from st_dev of files on btrfs */
	char type[32];
	char source[PATH_MAX];
	char upper[PATH_MAX]; /* upperdir= of an overlay; "" if none */
};

/*
 * Finds the mount that path is on: the mount with the longest mount point above path, and the last
 * mount if several have the same mount point. path is absolute and without symbolic links. text is
 * NUL-terminated; lines not in the kernel's format are skipped. Returns 0, or -ENODATA if there is
 * none.
 */
int canfs_find_mount(const char *text, const char *path, struct canfs_mountinfo_entry *mount);

#endif
