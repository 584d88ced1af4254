/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Splits lines of /proc/PID/mountinfo (proc_pid_mountinfo(5)).
 *
 *	36 25 0:41 /root /mnt/data rw,relatime shared:9 - nfs  srv:/export rw,vers=3
 *	id    device     point     options                type source      own options
 *
 * Blanks in point and source are escaped (common/unescape.h).
 */
#ifndef CANFS_COMMON_MOUNTINFO_H
#define CANFS_COMMON_MOUNTINFO_H

#include "common/text.h"

struct canfs_mountinfo {
	struct canfs_span id;
	struct canfs_span device; /* of the superblock; st_dev of files differs on btrfs */
	struct canfs_span point;
	struct canfs_span options; /* of the mount */
	struct canfs_span type;
	struct canfs_span source;      /* may be empty */
	struct canfs_span own_options; /* of the file system; may be empty */
};

/* line ends before end. Returns 0, or -EPROTO if a field up to the type is missing. */
int canfs_mountinfo_split(const char *line, const char *end, struct canfs_mountinfo *mount);

/* Parses MAJOR:MINOR. Returns 0 or -EPROTO. */
int canfs_mountinfo_device(struct canfs_span device, unsigned int *major, unsigned int *minor);

/*
 * Finds a comma-separated option. If name ends in '=', *value is what follows it, and not empty;
 * otherwise the whole option equals name. value may be NULL.
 */
bool canfs_mountinfo_option(struct canfs_span options, const char *name, struct canfs_span *value);

#endif
