// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfs-micro of the price service: what a turn of it costs, without the datagrams. */
#include "bench/micro/fixture.h"

#include <netinet/in.h>
#include <string.h>
#include "server/price-service/subscribers.h"

#define SUBSCRIBERS CANFS_SUBSCRIBERS_MAX

/* Exports are known by their addresses only. */
static char exports[SUBSCRIBERS];

static struct canfs_price_table *export_at(uint32_t number)
{
	return (struct canfs_price_table *)&exports[number];
}

static void send_push(void *arg, const struct canfs_due *due)
{
	struct fixture *f = arg;

	f->sink = due->push.number;
}

static struct canfs_prices prices_of(double write)
{
	return (struct canfs_prices) { .others = -1,
		.quote = { [CANFS_WRITE] = { write, CANFS_DISK },
			[CANFS_READAHEAD] = { write, CANFS_DISK } } };
}

/* As canfs_price_service tells all of them; time stands still, so that silence makes nobody due. */
static void tell(struct fixture *f, struct canfs_subscribers *subscribers, double write)
{
	struct canfs_prices prices = prices_of(write);
	struct canfs_price_table *export = NULL;

	while ((export = canfs_subscribers_next_export(subscribers, export)))
		canfs_subscribers_push(
			subscribers, export, &prices, false, f->now_usec, send_push, f);
}

void subscribers_quiet(struct fixture *f)
{
	tell(f, f->subscribers, 0);
}

void subscribers_told(struct fixture *f)
{
	tell(f, f->subscribers, (double)(++f->turn % 2));
}

void subscribers_apart(struct fixture *f)
{
	tell(f, f->subscribers_apart, 0);
}

static struct canfs_subscribers *make(struct fixture *f, uint32_t export_count)
{
	static const struct canfs_price_request request = {
		.nfs_version = 3, .lease_sec = UINT32_MAX, .threshold = 0.01
	};
	struct canfs_subscribers *new = canfs_subscribers_new(NULL);
	struct canfs_prices prices = prices_of(0);
	int ret = new ? 0 : -1;

	for (uint32_t i = 0; i < SUBSCRIBERS && ret == 0; i++) {
		struct canfs_endpoint endpoint = { .client.sin6_family = AF_INET6 };

		memcpy(&endpoint.client.sin6_addr.s6_addr[12], &i, sizeof(i));
		ret = canfs_subscribers_renew(new, &endpoint, export_at(i % export_count), &request,
			0, &prices, f->now_usec);
	}
	return ret == 0 ? new : NULL;
}

int make_subscribers(struct fixture *f)
{
	f->subscribers = make(f, 1);
	f->subscribers_apart = make(f, SUBSCRIBERS);
	return f->subscribers && f->subscribers_apart ? 0 : -1;
}

void free_subscribers(struct fixture *f)
{
	canfs_subscribers_free(f->subscribers);
	canfs_subscribers_free(f->subscribers_apart);
}
