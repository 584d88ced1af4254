// SPDX-License-Identifier: LGPL-3.0-or-later
#include "bench/herd/equals.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/herd/measure.h"

struct counts {
	double deferred_sec, served_bytes;
};

static void count(const struct herd *herd, struct counts *counts)
{
	for (unsigned int i = 0; i < herd->count; i++)
		counts[i] = (struct counts) { herd->clients[i].agent.deferred_sec,
			herd->clients[i].kernel.sent_bytes };
}

/* before: the counts when the measurement began; they were not 0. */
static void judge(const struct herd *herd, const struct counts *before, struct herd_equality *seen)
{
	struct herd_shares deferred = { 0 }, served = { 0 };

	*seen = (struct herd_equality) { .deferred_min_sec = INFINITY };
	for (unsigned int i = 0; i < herd->count; i++) {
		double sec = herd->clients[i].agent.deferred_sec - before[i].deferred_sec;

		herd_shares_add(&deferred, sec);
		herd_shares_add(
			&served, herd->clients[i].kernel.sent_bytes - before[i].served_bytes);
		seen->deferred_min_sec = fmin(seen->deferred_min_sec, sec);
		seen->deferred_max_sec = fmax(seen->deferred_max_sec, sec);
	}
	seen->deferred_sec = deferred.sum / herd->count;
	seen->deferred_fairness = herd_shares_jain(&deferred);
	seen->served_fairness = herd_shares_jain(&served);
}

int herd_among_equals(
	const struct herd_setup *setup, unsigned int seconds, struct herd_equality *seen)
{
	struct counts *before = calloc(setup->clients, sizeof(*before));
	double rate = herd_client_rate(setup);
	struct herd herd;
	int ret = herd_init(&herd, setup);

	if (!before)
		ret = -ENOMEM;
	if (ret)
		goto out;
	for (unsigned int i = 0; i < herd.count; i++)
		herd_client_init(&herd.clients[i], i, HERD_BURSTS, rate, setup);
	for (unsigned int i = 0; i < HERD_STEPS(HERD_WARM_UP_SEC); i++)
		herd_step(&herd);
	count(&herd, before);
	for (unsigned int i = 0; i < HERD_STEPS(seconds); i++)
		herd_step(&herd);
	judge(&herd, before, seen);
out:
	free(before);
	herd_fini(&herd);
	return ret;
}
