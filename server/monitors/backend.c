// SPDX-License-Identifier: LGPL-3.0-or-later
/* Back end: response times of the export's operations over their uncongested best. */
#include "common/clock.h"
#include "pricing/slowdown.h"
#include "server/monitors/monitors.h"
#include "server/monitors/peers.h"
#include "server/monitors/responses.h"
#include "server/monitors/source.h"

#include <errno.h>
#include <stdlib.h>

struct counted {
	uint64_t count[CANFS_OTHERS_OCTAVES], usec[CANFS_OTHERS_OCTAVES];
};

struct backend {
	struct canfs_responses *responses;
	struct canfs_peers *peers;
	struct canfs_slowdown slowdown;
	struct counted last[CANFS_RESPONSE_CLASSES];
	struct canfs_disk_count queue; /* all classes together, counted like a disk queue */
	double credit_msec;
	bool primed;
};

int canfs_backend_open(void **state, const struct canfs_monitor_setup *setup)
{
	struct backend *backend;

	if (!setup->responses)
		return -ENODATA;
	backend = calloc(1, sizeof(*backend));
	if (!backend)
		return -ENOMEM;
	if (canfs_peers_open(&backend->peers, setup) != 0) {
		free(backend);
		return -ENOMEM;
	}
	backend->responses = setup->responses;
	canfs_slowdown_init(&backend->slowdown);
	*state = backend;
	return 0;
}

void canfs_backend_close(void *state)
{
	struct backend *backend = state;

	canfs_peers_close(backend->peers);
	free(backend);
}

double canfs_backend_nominal(const void *state)
{
	return canfs_slowdown_depth(&((const struct backend *)state)->slowdown);
}

double canfs_backend_floor(void *state)
{
	return canfs_peers_utilization(((struct backend *)state)->peers, canfs_now_usec());
}

void canfs_backend_rename(void *state, const char *name)
{
	canfs_peers_rename(((struct backend *)state)->peers, name);
}

static double grow(uint64_t *last, _Atomic uint64_t *counter)
{
	uint64_t before = *last;

	*last = atomic_load_explicit(counter, memory_order_relaxed);
	return (double)canfs_growth(*last, before);
}

/* Sums since the last call. Returns the total time, in ms. */
static double take_sums(struct backend *backend, struct canfs_response_sum *sums)
{
	double msec = 0;

	for (int response_class = 0; response_class < CANFS_RESPONSE_CLASSES; response_class++) {
		struct canfs_response_counts *counts = &backend->responses->counts[response_class];
		struct counted *last = &backend->last[response_class];

		for (int octave = 0; octave < CANFS_OTHERS_OCTAVES; octave++) {
			sums[response_class].count[octave] =
				grow(&last->count[octave], &counts->count[octave]);
			sums[response_class].sec[octave] =
				grow(&last->usec[octave], &counts->usec[octave]) / 1e6;
			msec += sums[response_class].sec[octave] * 1e3;
		}
	}
	return msec;
}

int canfs_backend_sample(void *state, double elapsed_sec, double *utilization)
{
	struct backend *backend = state;
	struct canfs_response_sum sums[CANFS_RESPONSE_CLASSES];
	struct canfs_disk_count before = backend->queue, *now = &backend->queue;
	uint64_t operations =
		atomic_load_explicit(&backend->responses->operations, memory_order_relaxed);
	double queued;

	now->done = operations >> CANFS_RESPONSES_SHIFT;
	now->inflight = operations & CANFS_RESPONSES_IN_FLIGHT;
	now->wait_msec += (uint64_t)(take_sums(backend, sums) + 0.5);
	if (!backend->primed) {
		backend->primed = true;
		return -EAGAIN;
	}
	queued = canfs_disk_queue(&before, now, elapsed_sec * 1e3, &backend->credit_msec);
	*utilization = canfs_slowdown_step(&backend->slowdown, sums, queued, elapsed_sec);
	return 0;
}
