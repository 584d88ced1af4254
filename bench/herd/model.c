// SPDX-License-Identifier: LGPL-3.0-or-later
#include "bench/herd/model.h"

#include <errno.h>
#include <stdlib.h>

int herd_init(struct herd *herd, const struct herd_setup *setup)
{
	uint64_t price_age_usec = setup->price_age_msec * 1000ull;
	double rate = setup->load_pct / 100.0 * HERD_DRAIN_BYTES_PER_SEC / setup->clients;

	*herd = (struct herd) {
		.clients = calloc(setup->clients, sizeof(*herd->clients)),
		.count = setup->clients,
		.now_usec = HERD_START_USEC,
	};
	if (!herd->clients)
		return -ENOMEM;
	herd_server_init(&herd->server, price_age_usec);
	for (unsigned int i = 0; i < herd->count; i++)
		herd_client_init(
			&herd->clients[i], i, rate, setup->law, price_age_usec, setup->seed);
	return 0;
}

void herd_fini(struct herd *herd)
{
	free(herd->clients);
}

static double move_data(struct herd *herd)
{
	struct herd_client *end = herd->clients + herd->count, *client;
	double offered = 0, taken, share, drained, queued, clean;

	for (client = herd->clients; client < end; client++)
		offered += herd_client_offers(client, HERD_STEP_SEC);
	taken = herd_server_accepts(&herd->server, offered, HERD_STEP_SEC);
	share = offered > 0 ? taken / offered : 0;
	drained = herd_server_step(&herd->server, taken, herd->now_usec, HERD_STEP_SEC);
	/* The disk serves all that is queued alike. */
	queued = herd->server.backlog_bytes + drained;
	clean = queued > 0 ? drained / queued : 0;
	for (client = herd->clients; client < end; client++) {
		struct herd_kernel *kernel = &client->kernel;
		double bytes = herd_client_offers(client, HERD_STEP_SEC) * share;

		kernel->leaving_bytes -= bytes;
		kernel->sent_bytes += bytes;
		kernel->uncommitted_bytes = (kernel->uncommitted_bytes + bytes) * (1 - clean);
		if (kernel->uncommitted_bytes < 1)
			kernel->uncommitted_bytes = 0;
	}
	return drained;
}

double herd_step(struct herd *herd)
{
	herd->now_usec += HERD_STEP_USEC;
	for (unsigned int i = 0; i < herd->count; i++) {
		herd_client_write(&herd->clients[i], herd->now_usec, HERD_STEP_SEC);
		herd_client_tick(&herd->clients[i], herd->server.price, herd->now_usec);
	}
	return move_data(herd);
}
