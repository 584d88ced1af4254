// SPDX-License-Identifier: LGPL-3.0-or-later
#include "bench/herd/measure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double work_sec = 0.1; /* of the disk's drain; less does not count as work */

int measure_begin(struct measure *measure, unsigned int clients, size_t steps)
{
	*measure = (struct measure) {
		.steps_max = steps,
		.backlog_bytes = calloc(steps, sizeof(double)),
		.to_send_bytes = calloc(clients, sizeof(double)),
		.sent_bytes = calloc(clients, sizeof(double)),
	};
	if (measure->backlog_bytes && measure->to_send_bytes && measure->sent_bytes)
		return 0;
	measure_end(measure);
	return -ENOMEM;
}

void measure_end(struct measure *measure)
{
	free(measure->backlog_bytes);
	free(measure->to_send_bytes);
	free(measure->sent_bytes);
}

static double blocked(const struct herd *herd)
{
	double sum = 0;

	for (unsigned int i = 0; i < herd->count; i++)
		sum += herd->clients[i].writer.blocked_sec;
	return sum;
}

void measure_start(struct measure *measure, const struct herd *herd)
{
	for (unsigned int i = 0; i < herd->count; i++) {
		const struct herd_client *client = &herd->clients[i];

		measure->to_send_bytes[i] = herd_client_held(client) - client->writer.written_bytes;
		measure->sent_bytes[i] = -client->kernel.sent_bytes;
	}
	measure->blocked_sec = -blocked(herd);
}

void measure_step(struct measure *measure, const struct herd *herd, double drained_bytes)
{
	double capacity = HERD_DRAIN_BYTES_PER_SEC * HERD_STEP_SEC, work = 0;
	size_t last = measure->steps_max - (size_t)(MEASURE_WAIT_SEC / HERD_STEP_SEC);

	measure->backlog_bytes[measure->steps++] = herd->server.backlog_bytes;
	measure->drained_bytes += drained_bytes;
	for (unsigned int i = 0; i < herd->count; i++)
		work += herd_client_work(&herd->clients[i]);
	if (work >= HERD_DRAIN_BYTES_PER_SEC * work_sec)
		measure->unused_sec += HERD_STEP_SEC * (1 - drained_bytes / capacity);
	if (measure->steps != last)
		return;
	for (unsigned int i = 0; i < herd->count; i++)
		measure->to_send_bytes[i] += herd->clients[i].writer.written_bytes;
}

void herd_shares_add(struct herd_shares *shares, double value)
{
	shares->sum += value;
	shares->squares += value * value;
	shares->n++;
}

double herd_shares_jain(const struct herd_shares *shares)
{
	return shares->squares > 0 ? shares->sum * shares->sum / (shares->n * shares->squares) : 1;
}

static double fairness(const struct measure *measure, const struct herd *herd)
{
	struct herd_shares shares = { 0 };

	for (unsigned int i = 0; i < herd->count; i++) {
		double to_send = measure->to_send_bytes[i];
		double sent = measure->sent_bytes[i] + herd->clients[i].kernel.sent_bytes;

		if (to_send >= CANFS_PACE_CHUNK_BYTES)
			herd_shares_add(&shares, fmin(sent / to_send, 1));
	}
	return herd_shares_jain(&shares);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void measure_print(struct measure *measure, const struct herd *herd)
{
	size_t n = measure->steps;
	double sec = (double)n * HERD_STEP_SEC, sum = 0;

	qsort(measure->backlog_bytes, n, sizeof(double), ascending);
	for (size_t i = 0; i < n; i++)
		sum += measure->backlog_bytes[i];
	printf("\"backlog_mean_mb\": %.2f, \"backlog_p99_mb\": %.2f, \"unused_pct\": %.3f, ",
		sum / (double)n / 1e6, measure->backlog_bytes[n * 99 / 100] / 1e6,
		100 * measure->unused_sec / sec);
	printf("\"blocked_sec\": %.4f, \"fairness\": %.4f, \"throughput_mb_per_sec\": %.2f",
		(measure->blocked_sec + blocked(herd)) / herd->count, fairness(measure, herd),
		measure->drained_bytes / sec / 1e6);
}
