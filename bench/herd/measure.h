/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the herd simulation measures:
 *
 *	backlog    at the server, mean and 99th percentile over time
 *	unused     share of the time in which the disk had nothing to do although clients held, in whole chunks,
 *	           at least what it drains in a tenth of a second (a tick of the agent)
 *	blocked    seconds for which a writer could not go on, mean of the clients
 *	fairness   Jain's index (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984) of the share of its data that
 *	           each client got rid of, of those that had a chunk to send at all; what was written in the last
 *	           WAIT_SEC is not asked for
 */
#ifndef CANFS_BENCH_HERD_MEASURE_H
#define CANFS_BENCH_HERD_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include "bench/herd/model.h"

#define MEASURE_WAIT_SEC 5

/* What each of some clients got. */
struct herd_shares {
	double sum, squares;
	unsigned int n;
};

void herd_shares_add(struct herd_shares *shares, double value);

/* Jain's index, 1/n ... 1; 1 if there is nothing to share. */
double herd_shares_jain(const struct herd_shares *shares);

struct measure {
	size_t steps, steps_max;
	double *backlog_bytes;              /* one a step */
	double *to_send_bytes, *sent_bytes; /* one a client */
	double blocked_sec, unused_sec, drained_bytes;
};

/* 0 or -ENOMEM. */
int measure_begin(struct measure *measure, unsigned int clients, size_t steps);
void measure_end(struct measure *measure);

/* From here on; then after each of the steps, with what the disk drained in it. */
void measure_start(struct measure *measure, const struct herd *herd);
void measure_step(struct measure *measure, const struct herd *herd, double drained_bytes);

/* After the last one: members of a JSON object. */
void measure_print(struct measure *measure, const struct herd *herd);

#endif
