// SPDX-License-Identifier: LGPL-3.0-or-later
#include "bench/herd/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All clients belong to one export, of which only the address is used. */
static struct canfs_price_table *export_of(struct herd *herd)
{
	return (struct canfs_price_table *)&herd->server;
}

static int subscribe(struct herd *herd, uint32_t number)
{
	static const struct canfs_price_request request = { .lease_sec = UINT32_MAX,
		.threshold = CANFS_PUSH_THRESHOLD };
	struct canfs_endpoint endpoint = { .client.sin6_family = AF_INET6 };

	memcpy(&endpoint.client.sin6_addr.s6_addr[12], &number, sizeof(number));
	return canfs_subscribers_renew(herd->subscribers, &endpoint, export_of(herd), &request, 0,
		&herd->server.prices, herd->now_usec);
}

static int subscribe_all(struct herd *herd)
{
	int ret = herd->count > CANFS_SUBSCRIBERS_MAX ? -EUSERS : 0;

	herd->subscribers = canfs_subscribers_new(NULL);
	if (!herd->subscribers)
		ret = -ENOMEM;
	for (uint32_t i = 0; i < herd->count && ret == 0; i++)
		ret = subscribe(herd, i);
	return ret;
}

static void deliver(void *arg, const struct canfs_due *due)
{
	struct herd *herd = arg;
	uint32_t number;

	memcpy(&number, &due->endpoint.client.sin6_addr.s6_addr[12], sizeof(number));
	herd_client_hear(
		&herd->clients[number], due->push.prices.quote[CANFS_WRITE].price, herd->now_usec);
}

double herd_client_rate(const struct herd_setup *setup)
{
	return setup->load_pct / 100.0 * HERD_DRAIN_BYTES_PER_SEC / setup->clients;
}

int herd_init(struct herd *herd, const struct herd_setup *setup)
{
	*herd = (struct herd) {
		.clients = calloc(setup->clients, sizeof(*herd->clients)),
		.count = setup->clients,
		.now_usec = HERD_START_USEC,
	};
	if (!herd->clients)
		return -ENOMEM;
	herd_server_init(&herd->server, setup->price_age_msec * 1000ull);
	for (unsigned int i = 0; i < herd->count; i++)
		herd_client_init(
			&herd->clients[i], i, i % HERD_RHYTHMS, herd_client_rate(setup), setup);
	return setup->pushed ? subscribe_all(herd) : 0;
}

void herd_fini(struct herd *herd)
{
	free(herd->clients);
	canfs_subscribers_free(herd->subscribers);
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
	/* The disk serves all queued data alike. */
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
	double drained;

	herd->now_usec += HERD_STEP_USEC;
	for (unsigned int i = 0; i < herd->count; i++) {
		herd_client_write(&herd->clients[i], herd->now_usec, HERD_STEP_SEC);
		herd_client_tick(&herd->clients[i], herd->server.price, herd->now_usec);
	}
	drained = move_data(herd);
	if (herd->subscribers && herd->server.priced_usec == herd->now_usec)
		canfs_subscribers_push(herd->subscribers, export_of(herd), &herd->server.prices,
			false, herd->now_usec, deliver, herd);
	return drained;
}
