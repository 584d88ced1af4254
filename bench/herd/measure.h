/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The quantities that the herd simulation measures:
 *
 *	backlog    at the server, mean and 99th percentile over time
 *	unused     share of the time in which the disk was idle although clients held, in whole chunks,
 *	           at least what the disk drains in a tenth of a second (a tick of the agent)
 *	blocked    seconds for which a writer was blocked, mean of the clients
 *	fairness   Jain's index (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984) of the share of its data that
 *	           each client has sent, over the clients that had at least a chunk to send; data written
 *	           in the last MEASURE_WAIT_SEC does not count as to be sent
 */
#ifndef CANFS_BENCH_HERD_MEASURE_H
#define CANFS_BENCH_HERD_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include "bench/herd/model.h"

#define MEASURE_WAIT_SEC 5

/* Sums over the shares of some clients. */
struct herd_shares {
	double sum, squares;
	unsigned int n;
};

void herd_shares_add(struct herd_shares *shares, double value);

/* Returns Jain's index, 1/n ... 1. Returns 1 if there is nothing to share. */
double herd_shares_jain(const struct herd_shares *shares);

struct measure {
	size_t steps, steps_max;
	double *backlog_bytes;              /* one per step */
	double *to_send_bytes, *sent_bytes; /* one per client */
	double blocked_sec, unused_sec, drained_bytes;
};

/* Returns 0 or -ENOMEM. */
int measure_begin(struct measure *measure, unsigned int clients, size_t steps);
void measure_end(struct measure *measure);

/*
 * Call start when the measurement begins, and step after each step, with the bytes that the disk
 * drained in it.
 */
void measure_start(struct measure *measure, const struct herd *herd);
void measure_step(struct measure *measure, const struct herd *herd, double drained_bytes);

/* Call this after the last step. Prints members of a JSON object. */
void measure_print(struct measure *measure, const struct herd *herd);

#endif
