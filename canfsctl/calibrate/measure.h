/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The measurements of canfsctl calibrate. */
#ifndef CANFS_CANFSCTL_CALIBRATE_MEASURE_H
#define CANFS_CANFSCTL_CALIBRATE_MEASURE_H

#include <net/if.h>
#include <stdint.h>

#include "canfsctl/calibrate/results.h"

#define CANFS_MEASURE_ERROR_MAX 512
#define CANFS_DEPTHS            9 /* 1, 2, 4 ... 256: the nominal depth of NVMe is 128 */

/* Called before each step. all is an upper bound, since a disk's curve may end early. */
typedef void canfs_progress(const char *step, unsigned int done, unsigned int all);

/* Limits of a measurement; ranges in canfsctl(1). */
struct canfs_measure_setup {
	unsigned int seconds; /* for each step */
	unsigned int size_mib;
	unsigned int port; /* of iperf3 */
	canfs_progress *progress;
};

struct canfs_disk_curve {
	struct canfs_load_point points[CANFS_DEPTHS];
	size_t count;
	struct canfs_knee knee;
};

struct canfs_disk_result {
	struct canfs_disk_curve curves[2]; /* indexed by enum canfs_direction */
};

struct canfs_link_result {
	double sent_bits_per_sec;
	double received_bits_per_sec;
	char interface[IF_NAMESIZE]; /* "" if not found, as in a container */
};

/*
 * The functions below return 0, or -errno with a message in error.
 *
 * Measures a disk: random direct 4 KiB reads, then writes, in an unlinked file in directory. No
 * file is left behind if we are killed. Fails if the file would take more than half of the free
 * space, or if the page cache would hide the disk.
 */
int canfs_measure_disk(const char *directory, const struct canfs_measure_setup *setup,
	struct canfs_disk_result *result, char error[CANFS_MEASURE_ERROR_MAX]);

/* Measures TCP to and from the iperf3 server at host, for setup->seconds each. */
int canfs_measure_link(const char *host, const struct canfs_measure_setup *setup,
	struct canfs_link_result *result, char error[CANFS_MEASURE_ERROR_MAX]);

#endif
