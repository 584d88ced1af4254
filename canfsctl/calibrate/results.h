/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What fio and iperf3 print as JSON, the parts of it that canfsctl calibrate uses. */
#ifndef CANFS_CANFSCTL_CALIBRATE_RESULTS_H
#define CANFS_CANFSCTL_CALIBRATE_RESULTS_H

#include "pricing/knee.h"

#define CANFS_RESULT_ERROR_MAX 256 /* of the error texts below */
#define CANFS_ADDRESS_MAX      64

enum canfs_direction { CANFS_READS, CANFS_WRITES };

/*
 * One fio job's throughput and mean latency. *point is set but for its depth, which the caller
 * knows. Returns 0; -EPROTO if it is not such a JSON text or lacks the numbers; -EIO if fio
 * reports that the job failed. error then says why.
 */
int canfs_fio_parse(const char *text, enum canfs_direction direction,
	struct canfs_load_point *point, char error[CANFS_RESULT_ERROR_MAX]);

struct canfs_iperf {
	double bits_per_sec;                   /* through the interface, headers included */
	char local_address[CANFS_ADDRESS_MAX]; /* whose interface that is */
};

/*
 * One TCP run. Returns 0; -EPROTO as above; -EREMOTEIO if iperf3 reports an error. *run is then
 * unchanged and error says why.
 */
int canfs_iperf_parse(
	const char *text, struct canfs_iperf *run, char error[CANFS_RESULT_ERROR_MAX]);

#endif
