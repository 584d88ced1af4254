/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The disks below a file system. */
#ifndef CANFS_SERVER_MONITORS_DEVICES_H
#define CANFS_SERVER_MONITORS_DEVICES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct canfs_disk_path {
	char path[PATH_MAX]; /* its directory in /sys/devices, without the root prefix */
};

/*
 * From a file system to its disks: from st_dev, a partition to its disk, md and dm to what they are made
 * of. An anonymous st_dev by the mount that path (absolute, without links; used only then) is on: btrfs to
 * all its devices, an overlay to the disks below its upper layer, where all is written. A loop
 * device is a disk of its own: requests that wait for what is below it wait in its queue, and the kernel
 * hands the rotational flag on to it.
 *
 * Reads /proc and /sys, and follows the links to a device node and to an upper layer; never those of path, which
 * may hang. Fills at most max; returns how many, or -ENODATA if there is no block device below (tmpfs, a network file system, FUSE),
 * or -ENOMEM.
 */
int canfs_find_disks(const char *root, dev_t device, const char *path,
	struct canfs_disk_path *disks, size_t max);

/* Has it no number of its own in /sys/dev/block, as btrfs and overlay have none? */
bool canfs_is_anonymous(dev_t device);

/*
 * path, below root, without links; as it is, if there is nothing like it. Waits for a file system on the way that
 * hangs.
 */
void canfs_resolve_path(const char *root, const char *path, char resolved[PATH_MAX]);

#endif
