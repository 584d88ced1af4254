/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Prints measurements as options of the CANFS { } block, as a table, or as JSON. */
#ifndef CANFS_CANFSCTL_CALIBRATE_PROFILE_H
#define CANFS_CANFSCTL_CALIBRATE_PROFILE_H

#include <stdio.h>
#include <jansson.h>

#include "canfsctl/calibrate/measure.h"

struct canfs_calibration {
	const char *host; /* NULL: the link was not measured */
	struct canfs_link_result link;
	const char *directory; /* NULL: the disk was not measured */
	struct canfs_disk_result disk;
};

/* Option values in the ranges of ganesha-canfs-config(8). 0: use the default. */
struct canfs_profile {
	unsigned int link_mbit_per_sec; /* of the slower direction, which fills up first */
	unsigned int disk_read_queue;
	unsigned int disk_write_queue;
};

struct canfs_profile canfs_profile_of(const struct canfs_calibration *calibration);

/* Prints a configuration fragment for Ganesha's %include. */
void canfs_profile_print(FILE *out, const struct canfs_calibration *calibration);

void canfs_calibration_print(FILE *out, const struct canfs_calibration *calibration);

/* NULL: no memory. */
json_t *canfs_calibration_json(const struct canfs_calibration *calibration);

#endif
