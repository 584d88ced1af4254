/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The measurements of canfsctl calibrate. */
#ifndef CANFS_CANFSCTL_CALIBRATE_MEASURE_H
#define CANFS_CANFSCTL_CALIBRATE_MEASURE_H

#include <net/if.h>
#include <stdint.h>

#include "canfsctl/calibrate/results.h"

#define CANFS_MEASURE_ERROR_MAX 512
#define CANFS_DEPTHS            9 /* 1, 2, 4 ... 256: the nominal depth of NVMe is 128 */

/* Told before each step; done of all (an upper bound: a disk's curve may end early). */
typedef void canfs_progress(const char *step, unsigned int done, unsigned int all);

/* By what bounds one measurement is run; ranges in canfsctl(1). */
struct canfs_measure_setup {
	unsigned int seconds; /* of each step */
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
	struct canfs_disk_curve curves[2]; /* by enum canfs_direction */
};

struct canfs_link_result {
	double sent_bits_per_sec;
	double received_bits_per_sec;
	char interface[IF_NAMESIZE]; /* "" if it has none: a container's, say */
};

struct canfs_memory_result {
	uint64_t total_bytes;
	uint64_t dirty_limit_bytes; /* where the server's price of memory is 1 */
};

/*
 * All return 0 or -errno, with error saying in words what is wrong.
 *
 * disk: random direct 4 KiB reads, then writes, in a file in directory that has no name from its
 * first moment on, so that nothing is left behind whatever ends us. It is refused if the file
 * would take more than half of what is free, and where the page cache would hide the disk.
 */
int canfs_measure_disk(const char *directory, const struct canfs_measure_setup *setup,
	struct canfs_disk_result *result, char error[CANFS_MEASURE_ERROR_MAX]);

/* link: TCP to the iperf3 server at host and from it, setup->seconds each. */
int canfs_measure_link(const char *host, const struct canfs_measure_setup *setup,
	struct canfs_link_result *result, char error[CANFS_MEASURE_ERROR_MAX]);

/* memory: what the kernel says; root as in procfs.h. */
int canfs_measure_memory(
	const char *root, struct canfs_memory_result *result, char error[CANFS_MEASURE_ERROR_MAX]);

#endif
