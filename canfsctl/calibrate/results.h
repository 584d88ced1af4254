/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Parses those parts of fio's and iperf3's JSON output that canfsctl calibrate uses. */
#ifndef CANFS_CANFSCTL_CALIBRATE_RESULTS_H
#define CANFS_CANFSCTL_CALIBRATE_RESULTS_H

#include "pricing/knee.h"

#define CANFS_RESULT_ERROR_MAX 256 /* size of the error texts below */
#define CANFS_ADDRESS_MAX      64

enum canfs_direction { CANFS_READS, CANFS_WRITES };

/*
 * Reads throughput and mean latency of one fio job. Sets *point except its depth, which the caller
 * knows. Returns 0, -EPROTO if the text is not such JSON or lacks the numbers, or -EIO if fio
 * reports that the job failed. On failure sets error.
 */
int canfs_fio_parse(const char *text, enum canfs_direction direction,
	struct canfs_load_point *point, char error[CANFS_RESULT_ERROR_MAX]);

struct canfs_iperf {
	double bits_per_sec;                   /* on the interface, with headers */
	char local_address[CANFS_ADDRESS_MAX]; /* address of that interface */
};

/*
 * Reads one TCP run. Returns 0, -EPROTO as above, or -EREMOTEIO if iperf3 reports an error. On
 * failure sets error and leaves *run unchanged.
 */
int canfs_iperf_parse(
	const char *text, struct canfs_iperf *run, char error[CANFS_RESULT_ERROR_MAX]);

#endif
