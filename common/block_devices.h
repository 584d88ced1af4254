/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Walks down from a block device to the disks below it. Reads only /sys.
 *
 *	/sys/dev/block/8:1   -> sda1 (a partition) -> sda
 *	/sys/dev/block/253:0 -> dm-0, slaves sdb1 and sdc -> sdb, sdc
 */
#ifndef CANFS_COMMON_BLOCK_DEVICES_H
#define CANFS_COMMON_BLOCK_DEVICES_H

#include <stdbool.h>

struct canfs_block_walk {
	/* Takes one disk: its directory below /sys/devices. The same disk may come again. */
	void (*take)(void *data, const char *dir);
	/* Returns true if a device that has others below it counts as the disk; NULL: none does. */
	bool (*stops)(const char *dir);
	void *data;
	unsigned int visits; /* so far, of at most 4096 devices; the rest is left out */
};

/* link leads to a device, such as /sys/dev/block/8:1. A device that is not there has no disks. */
void canfs_block_walk(struct canfs_block_walk *walk, const char *link);

/* The same for all links in a directory. Returns false if there are none. */
bool canfs_block_walk_all(struct canfs_block_walk *walk, const char *dir);

#endif
