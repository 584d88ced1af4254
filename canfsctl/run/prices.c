// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/run/prices.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client-agent/auction/arithmetic.h"
#include "client-agent/auction/bidder.h"
#include "common/clock.h"

/* Between two rounds through the endpoints of a server that answers on none of them. */
#define REST_USEC 1000000

/*
 * Ask as often as the server recomputes, so that pauses are short. A server that takes seconds to
 * answer is overloaded and to be spared, so wait for its answer. If there is no price for longer,
 * the job runs.
 */
static const struct canfs_poller_terms terms = {
	.idle_usec = 5000000,
	.move_usec = 100000,
	.hold_usec = 100000,
	.min_usec = 100000,
	.answer_usec = 5000000,
	.lost_usec = 10000000,
	.pushed_usec = 30000000,
	.others = true,
};

static int begin(const struct canfs_job_prices *prices, struct canfs_job_server *server)
{
	unsigned int seed = (unsigned int)(canfs_now_usec() ^ (uint64_t)getpid() << 16);
	struct canfs_poller_terms own_terms = terms;

	own_terms.service_port = prices->service_port;
	return canfs_poller_init(&server->poller, &server->endpoint[server->at], &own_terms, seed);
}

static struct canfs_job_server *new_server(struct canfs_job_prices *prices, const char *name)
{
	struct canfs_job_server *server = &prices->server[prices->n];

	if (prices->n == CANFS_JOB_SERVERS_MAX)
		return NULL;
	*server = (struct canfs_job_server) { .endpoints = 1 };
	snprintf(server->name, sizeof(server->name), "%s", name);
	return server;
}

/*
 * A price belongs to one export, named as in the mount table. All mounts of a super block share it.
 */
static bool has(const struct canfs_job_prices *prices, const struct canfs_mount *mount)
{
	for (size_t i = 0; i < prices->n; i++) {
		const struct canfs_job_server *server = &prices->server[i];

		if (strcmp(server->name, mount->source) == 0 ||
			(mount->bdi.minor && canfs_bdi_equal(server->bdi, mount->bdi)))
			return true;
	}
	return false;
}

int canfs_job_prices_add_mount(struct canfs_job_prices *prices, const struct canfs_mount *mount)
{
	struct canfs_job_server *server;
	int ret;

	if (has(prices, mount))
		return 0;
	server = new_server(prices, mount->source);
	if (!server)
		return -ENOSPC;
	server->bdi = mount->bdi;
	ret = canfs_bidder_target(mount, server->handle, &server->endpoint[0]);
	if (ret == 0)
		ret = begin(prices, server);
	if (ret == 0)
		prices->n++;
	return ret;
}

int canfs_job_prices_add_endpoints(struct canfs_job_prices *prices, const char *name,
	const struct canfs_fsstat_target *endpoints, size_t n)
{
	struct canfs_job_server *server = new_server(prices, name);
	int ret;

	if (!server)
		return -ENOSPC;
	server->endpoints = n < CANFS_JOB_ENDPOINTS_MAX ? n : CANFS_JOB_ENDPOINTS_MAX;
	memcpy(server->endpoint, endpoints, server->endpoints * sizeof(*endpoints));
	ret = begin(prices, server);
	if (ret == 0)
		prices->n++;
	return ret;
}

void canfs_job_prices_fini(struct canfs_job_prices *prices)
{
	while (prices->n > 0)
		canfs_poller_fini(&prices->server[--prices->n].poller);
}

/* Moves on to the next endpoint, unless this one has ever answered. */
static void try_next_endpoint(
	const struct canfs_job_prices *prices, struct canfs_job_server *server, uint64_t now_usec)
{
	const struct canfs_poller *poller = &server->poller;

	if (poller->answers > 0 || server->endpoints == 1)
		return;
	server->failed++;
	server->at = (server->at + 1) % server->endpoints;
	if (server->at == 0)
		server->rest_usec = now_usec + REST_USEC;
	canfs_poller_fini(&server->poller);
	/* Fails only for lack of memory, although a poller of the same size was just freed. */
	if (begin(prices, server) < 0)
		server->rest_usec = UINT64_MAX;
}

static void tick(
	const struct canfs_job_prices *prices, struct canfs_job_server *server, uint64_t now_usec)
{
	uint64_t unanswered = server->poller.unanswered;

	if (now_usec < server->rest_usec)
		return;
	canfs_poller_tick(&server->poller, now_usec, 0, CANFS_STAKE_LARGE);
	if (server->poller.failures == 0 && server->poller.answers > 0)
		server->failed = 0;
	if (server->poller.unanswered == unanswered)
		return;
	snprintf(server->why, sizeof(server->why), "%s", canfs_fsstat_error(server->poller.fsstat));
	try_next_endpoint(prices, server, now_usec);
}

void canfs_job_prices_tick(struct canfs_job_prices *prices, uint64_t now_usec)
{
	for (size_t i = 0; i < prices->n; i++)
		tick(prices, &prices->server[i], now_usec);
}

void canfs_job_prices_forget(struct canfs_job_prices *prices)
{
	for (size_t i = 0; i < prices->n; i++)
		canfs_poller_forget_price(&prices->server[i].poller);
}

/*
 * A request in flight is due at its deadline. Otherwise the next request is due, but none while
 * prices are pushed.
 */
static uint64_t question_due_usec(const struct canfs_job_server *server, uint64_t now_usec)
{
	const struct canfs_poller *poller = &server->poller;
	uint64_t due_usec = canfs_fsstat_deadline_usec(poller->fsstat);

	if (due_usec != UINT64_MAX || canfs_poller_is_pushed(poller, now_usec))
		return due_usec;
	due_usec = canfs_poller_due_usec(poller, 0, CANFS_STAKE_LARGE);
	return due_usec > server->rest_usec ? due_usec : server->rest_usec;
}

/*
 * When to ask the service, first or again, or to consider it lost if it stays silent. NFS is asked
 * first.
 */
static uint64_t service_due_usec(const struct canfs_poller *poller, uint64_t now_usec)
{
	const struct canfs_subscription *subscription = &poller->subscription;

	if (!canfs_subscription_has_service(subscription) ||
		(poller->answers == 0 && poller->unanswered == 0))
		return UINT64_MAX;
	if (!canfs_poller_is_pushed(poller, now_usec))
		return subscription->ask_usec;
	return canfs_smaller(subscription->ask_usec,
		canfs_smaller(subscription->answered_usec + CANFS_PUSH_LOST_USEC,
			subscription->lease_end_usec));
}

size_t canfs_job_prices_poll(const struct canfs_job_prices *prices,
	struct pollfd polled[CANFS_JOB_POLLED_MAX], uint64_t now_usec, uint64_t *due_usec)
{
	for (size_t i = 0; i < prices->n; i++) {
		const struct canfs_job_server *server = &prices->server[i];
		struct pollfd *fsstat = &polled[2 * i], *service = &polled[2 * i + 1];

		*fsstat = *service = (struct pollfd) { -1, 0, 0 };
		if (server->rest_usec == UINT64_MAX)
			continue;
		fsstat->fd = canfs_fsstat_fd(server->poller.fsstat);
		fsstat->events = canfs_fsstat_events(server->poller.fsstat);
		service->fd = server->poller.subscription.fd;
		service->events = POLLIN;
		*due_usec = canfs_smaller(*due_usec, question_due_usec(server, now_usec));
		*due_usec = canfs_smaller(*due_usec, service_due_usec(&server->poller, now_usec));
	}
	return 2 * prices->n;
}

struct canfs_govern_price canfs_job_prices_now(const struct canfs_job_prices *prices,
	uint64_t now_usec, const struct canfs_job_server **server)
{
	struct canfs_govern_price highest = { .price = NAN, .others = -1 };

	for (size_t i = 0; i < prices->n; i++) {
		const struct canfs_poller *poller = &prices->server[i].poller;
		const struct canfs_tag *tag = NULL;
		double price;

		if (prices->server[i].rest_usec != UINT64_MAX)
			tag = canfs_poller_price(poller, now_usec);
		price = tag ? fmax(tag->write, tag->readahead) : NAN;
		if (!tag || price <= highest.price)
			continue;
		highest = (struct canfs_govern_price) {
			.price = price, .usec = poller->tag_usec, .others = poller->others
		};
		if (server)
			*server = &prices->server[i];
	}
	return highest;
}

enum canfs_price_source canfs_job_prices_source(
	const struct canfs_job_server *server, uint64_t now_usec)
{
	if (server->rest_usec == UINT64_MAX || !canfs_poller_price(&server->poller, now_usec))
		return CANFS_SOURCE_NONE;
	return server->poller.source;
}

/* A server whose endpoint has ever answered keeps that endpoint. */
static bool is_silent(const struct canfs_job_server *server)
{
	const struct canfs_poller *poller = &server->poller;

	return server->rest_usec == UINT64_MAX || server->failed >= server->endpoints ||
	       (poller->failures > 0 && (server->endpoints == 1 || poller->answers > 0));
}

/* Has the price service not had time to answer yet? The second request follows after a second. */
static bool may_be_pushed(const struct canfs_subscription *subscription)
{
	return canfs_subscription_has_service(subscription) && subscription->answered_usec == 0 &&
	       subscription->unanswered < 2 &&
	       (subscription->status == CANFS_STATUS_OK ||
		       subscription->status == CANFS_STATUS_COOKIE);
}

/* Has the server answered, but without a price? */
static bool has_none(const struct canfs_job_server *server)
{
	const struct canfs_poller *poller = &server->poller;

	return poller->answers > 0 && !poller->publisher.believed &&
	       !canfs_publisher_is_settling(&poller->publisher) &&
	       !may_be_pushed(&poller->subscription);
}

enum canfs_job_prices_state canfs_job_prices_state(
	const struct canfs_job_prices *prices, uint64_t now_usec)
{
	enum canfs_job_prices_state state = CANFS_JOB_PRICES_NONE;

	if (!isnan(canfs_job_prices_now(prices, now_usec, NULL).price))
		return CANFS_JOB_PRICES_IN_FORCE;
	for (size_t i = 0; i < prices->n; i++) {
		if (is_silent(&prices->server[i]))
			state = CANFS_JOB_PRICES_SILENT;
		else if (!has_none(&prices->server[i]))
			return CANFS_JOB_PRICES_ASKED;
	}
	return state;
}

const struct canfs_job_server *canfs_job_prices_silent(
	const struct canfs_job_prices *prices, const char **why)
{
	for (size_t i = 0; i < prices->n; i++) {
		const struct canfs_job_server *server = &prices->server[i];

		if (is_silent(server)) {
			*why = server->why;
			return server;
		}
	}
	return NULL;
}
