/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The disks below a file system. */
#ifndef CANFS_GANESHA_FSAL_MONITORS_DEVICES_H
#define CANFS_GANESHA_FSAL_MONITORS_DEVICES_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

struct canfs_disk_path {
	char path[PATH_MAX]; /* its directory in /sys/devices, without the root prefix */
};

/*
 * From a file system to its disks: from st_dev, a partition to its disk, md and dm to what they are made
 * of. An anonymous st_dev by the mount that path (absolute; looked at only then) is on: btrfs to
 * all its devices, an overlay to the disks below its upper layer, where all is written. A loop
 * device is a disk of its own: requests that wait for what is below it wait in its queue, and the kernel
 * hands the rotational flag on to it.
 *
 * Reads /proc and /sys, and resolves links on the way to path and upper layer. Fills at most max;
 * returns how many, or -ENODATA if there is no block device below (tmpfs, a network file system, FUSE),
 * or -ENOMEM.
 */
int canfs_find_disks(const char *root, dev_t device, const char *path,
	struct canfs_disk_path *disks, size_t max);

#endif
