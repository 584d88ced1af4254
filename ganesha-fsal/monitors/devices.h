/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The disks below a file system, and how many requests a disk of their type bears. */
#ifndef CANFS_GANESHA_FSAL_MONITORS_DEVICES_H
#define CANFS_GANESHA_FSAL_MONITORS_DEVICES_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

struct canfs_disk_path {
	char path[PATH_MAX]; /* its directory in /sys/devices, without the root prefix */
};

/*
 * From a file system's st_dev to its disks: a partition to its disk, md and dm to what they are
 * made of. Fills at most max; returns how many, or -ENODATA if there is no block device below
 * (tmpfs, overlay, btrfs, a network file system).
 */
int canfs_find_disks(const char *root, dev_t device, struct canfs_disk_path *disks, size_t max);

struct canfs_disk_bearing {
	double reads;
	double writes;
};

/* By the device's name and queue/rotational; unknown counts as rotational, as in the kernel. */
struct canfs_disk_bearing canfs_disk_bearing(const char *root, const char *path);

#endif
