/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The nominal queue depth of a disk, and its k, by its type: the one table of that. */
#ifndef CANFS_SERVER_MONITORS_DISK_TYPES_H
#define CANFS_SERVER_MONITORS_DISK_TYPES_H

struct canfs_disk_type {
	const char *name;
	double reads;            /* that may be queued before the disk counts as full */
	double writes;           /* likewise */
	double k;                /* of its price: pricing/market.h */
	double positioning_usec; /* of a request by itself, with nothing else to do */
	double mb_per_sec;       /* in sequence */
};

/*
 * By the directory of the disk in /sys/devices (without the root prefix). Never NULL; one of which
 * nothing is known counts as rotational, as in the kernel.
 */
const struct canfs_disk_type *canfs_disk_type(const char *root, const char *path);

#endif
