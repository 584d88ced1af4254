/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The only table of nominal queue depths and k by disk type. */
#ifndef CANFS_SERVER_MONITORS_DISK_TYPES_H
#define CANFS_SERVER_MONITORS_DISK_TYPES_H

struct canfs_disk_type {
	const char *name;
	double reads;            /* may be queued before the disk counts as full */
	double writes;           /* same for writes */
	double k;                /* of the disk's price: pricing/market.h */
	double positioning_usec; /* of one request on an idle disk */
	double mb_per_sec;       /* sequential */
};

/*
 * Returns the type of a disk. path: its directory in /sys/devices, without the root prefix. Never
 * NULL. An unknown disk counts as rotational, as in the kernel.
 */
const struct canfs_disk_type *canfs_disk_type(const char *root, const char *path);

#endif
