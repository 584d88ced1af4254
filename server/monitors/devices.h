/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Finds the disks below a file system. */
#ifndef CANFS_SERVER_MONITORS_DEVICES_H
#define CANFS_SERVER_MONITORS_DEVICES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct canfs_disk_path {
	char path[PATH_MAX]; /* the disk's directory in /sys/devices, without the root prefix */
};

/*
 * Finds the disks below a file system, starting from its st_dev. A partition leads to its disk, md
 * and dm to their members. For an anonymous st_dev, the mount that path is on decides: btrfs leads
 * to all its devices, an overlay to the disks below its upper layer, which takes all writes. path
 * is absolute and without links, and is used only for an anonymous st_dev. A loop device counts as
 * a disk: requests that wait for the file below it wait in the loop device's queue, and the kernel
 * copies the rotational flag to it.
 *
 * Reads /proc and /sys, and follows the links to a device node and to an upper layer. Never follows
 * links in path, because these may hang. Fills at most max entries and returns their number.
 * Returns -ENODATA if there is no block device below (tmpfs, a network file system, FUSE), -ENOMEM,
 * or another -errno if root cannot be resolved.
 */
int canfs_find_disks(const char *root, dev_t device, const char *path,
	struct canfs_disk_path *disks, size_t max);

/* True if the device has no entry in /sys/dev/block, as for btrfs and overlay. */
bool canfs_is_anonymous(dev_t device);

/*
 * Resolves the links in path, below root. Copies path unchanged if it does not exist. Hangs if a
 * file system on the way hangs.
 */
void canfs_resolve_path(const char *root, const char *path, char resolved[PATH_MAX]);

#endif
