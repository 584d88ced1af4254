// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/subscription.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/path.h"
#include "common/random.h"

/* Doubled with each unsuccessful call. */
static const uint64_t retry_usec = 1000000;
#define DOUBLINGS_MAX 6

/* Datagrams handled in one tick. A flood must not keep the agent from its work. */
#define DATAGRAMS_MAX 16

/* Cookie replies accepted in a row. A server that always sends a cookie never accepts one. */
#define COOKIES_MAX 3

/* A reply to one of this many last calls is late, not forged. */
#define CALLS_ON_THEIR_WAY 8

static void disconnect(struct canfs_subscription *subscription)
{
	if (subscription->fd >= 0)
		close(subscription->fd);
	subscription->fd = -1;
}

/* Without a network, no socket is opened and no answer comes. */
static void reconnect(struct canfs_subscription *subscription)
{
	const struct sockaddr_storage *server = &subscription->server;
	const socklen_t len = server->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							    : sizeof(struct sockaddr_in);

	disconnect(subscription);
	subscription->fd = socket(server->ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (subscription->fd < 0)
		return;
	if (subscription->bind)
		subscription->bind(subscription->fd, NULL);
	if (connect(subscription->fd, (const struct sockaddr *)server, len) < 0)
		disconnect(subscription);
}

/*
 * Draws a new token. The server then counts from 1 again, even if it still has the old
 * subscription.
 */
static void begin_anew(struct canfs_subscription *subscription)
{
	canfs_random(subscription->request.token, sizeof(subscription->request.token));
	subscription->number = 0;
	subscription->lease_end_usec = 0;
}

int canfs_subscription_open(struct canfs_subscription *subscription,
	const struct sockaddr_storage *server, uint16_t port, int nfs_version,
	const char *export_name, bool wants_others, unsigned int seed)
{
	struct canfs_price_request *request = &subscription->request;

	*subscription = (struct canfs_subscription) { .fd = -1, .seed = seed };
	if (port == 0)
		return 0;
	if (strlen(export_name) > CANFS_EXPORT_NAME_MAX)
		return -ENAMETOOLONG;
	strcpy(request->export_name, export_name);
	canfs_path_clean(request->export_name);
	request->nfs_version = (uint32_t)nfs_version;
	request->lease_sec = CANFS_PRICE_LEASE_SEC;
	request->threshold = CANFS_PUSH_THRESHOLD;
	request->others = wants_others;
	begin_anew(subscription);
	canfs_random(&subscription->xid, sizeof(subscription->xid));
	subscription->server = *server;
	if (server->ss_family == AF_INET6)
		((struct sockaddr_in6 *)&subscription->server)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)&subscription->server)->sin_port = htons(port);
	return 0;
}

static void call(struct canfs_subscription *subscription, uint64_t now_usec)
{
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	size_t bytes = canfs_price_encode_call(
		datagram, ++subscription->xid, CANFS_PRICE_SUBSCRIBE, &subscription->request);

	/* A network error shows up as a missing answer. */
	(void)send(subscription->fd, datagram, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	subscription->calls++;
	subscription->called_usec = now_usec;
}

void canfs_subscription_close(struct canfs_subscription *subscription)
{
	if (subscription->fd >= 0 && subscription->lease_end_usec != 0) {
		subscription->request.lease_sec = 0;
		call(subscription, 0);
	}
	disconnect(subscription);
	*subscription = (struct canfs_subscription) { .fd = -1 };
}

/*
 * Scales by a random factor in [0.8, 1.2], so that clients that started together do not stay in
 * step.
 */
static uint64_t spread(struct canfs_subscription *subscription, uint64_t usec)
{
	return usec * 4 / 5 +
	       usec * 2 / 5 * ((uint64_t)rand_r(&subscription->seed) >> 8) / (RAND_MAX >> 8);
}

static void ask(struct canfs_subscription *subscription, uint64_t now_usec)
{
	unsigned int doublings =
		subscription->unanswered < DOUBLINGS_MAX ? subscription->unanswered : DOUBLINGS_MAX;

	if (!canfs_subscription_is_current(subscription, now_usec))
		reconnect(subscription);
	call(subscription, now_usec);
	subscription->unanswered++;
	subscription->ask_usec = now_usec + spread(subscription, retry_usec << doublings);
}

static void take_prices(struct canfs_subscription *subscription, const struct canfs_prices *prices,
	uint64_t now_usec)
{
	subscription->prices = *prices;
	subscription->answered_usec = now_usec;
}

static void take_lease(
	struct canfs_subscription *subscription, uint32_t lease_sec, uint64_t now_usec)
{
	uint64_t lease_usec = (uint64_t)lease_sec * 1000000;

	if (lease_sec > CANFS_PRICE_LEASE_SEC)
		lease_usec = CANFS_PRICE_LEASE_SEC * UINT64_C(1000000);
	subscription->lease_end_usec = now_usec + lease_usec;
	subscription->ask_usec = now_usec + spread(subscription, lease_usec / 2);
}

static bool take_result(struct canfs_subscription *subscription,
	const struct canfs_price_datagram *datagram, uint64_t now_usec)
{
	const struct canfs_price_result *result = &datagram->result;

	uint32_t behind = subscription->xid - datagram->xid;

	if (behind != 0 || subscription->unanswered == 0) {
		if (behind < CALLS_ON_THEIR_WAY)
			subscription->late++;
		else
			subscription->forged++;
		return false;
	}
	subscription->status = result->status;
	if (result->status == CANFS_STATUS_COOKIE && subscription->cookies < COOKIES_MAX) {
		subscription->cookies++;
		memcpy(subscription->request.cookie, result->cookie, sizeof(result->cookie));
		call(subscription, now_usec);
		return false;
	}
	subscription->cookies = 0;
	if (result->status == CANFS_STATUS_OK && result->lease_sec > 0) {
		subscription->unanswered = 0;
		take_lease(subscription, result->lease_sec, now_usec);
		if (subscription->answered_usec > subscription->called_usec)
			return false; /* a push overtook this reply */
		take_prices(subscription, &result->prices, now_usec);
		return true;
	}
	begin_anew(subscription); /* ask again as if there had been no answer */
	return false;
}

static bool take_push(struct canfs_subscription *subscription, const struct canfs_price_push *push,
	uint64_t now_usec)
{
	bool is_ours = memcmp(push->token, subscription->request.token, sizeof(push->token)) == 0;

	/* A server that refused a renewal still pushes until the previous lease ends. */
	if (subscription->lease_end_usec == 0 ||
		(is_ours && push->number <= subscription->number)) {
		subscription->late++;
		return false;
	}
	if (!is_ours) {
		subscription->forged++;
		return false;
	}
	subscription->lost += push->number - subscription->number - 1;
	subscription->number = push->number;
	subscription->pushes++;
	take_prices(subscription, &push->prices, now_usec);
	return true;
}

/* Handles one datagram. Returns false if there is none. */
static bool receive(struct canfs_subscription *subscription, uint64_t now_usec, bool *is_new)
{
	uint8_t bytes[CANFS_DATAGRAM_MAX];
	struct canfs_price_datagram datagram;
	ssize_t got;

	if (subscription->fd < 0)
		return false;
	got = recv(subscription->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (got < 0 && errno != EAGAIN)
		subscription->network_error = errno;
	/* ECONNREFUSED is easy to forge, so it ends nothing. Only silence does. */
	if (got < 0 && errno == ECONNREFUSED)
		return true;
	if (got < 0)
		return false;
	subscription->network_error = 0;
	if (canfs_price_decode_datagram(bytes, (size_t)got, &datagram) != 0)
		subscription->malformed++;
	else if (datagram.kind == CANFS_PRICE_IS_PUSH)
		*is_new |= take_push(subscription, &datagram.push, now_usec);
	else
		*is_new |= take_result(subscription, &datagram, now_usec);
	return true;
}

/* The server may have restarted and lost the subscription. */
static bool is_silent(const struct canfs_subscription *subscription, uint64_t now_usec)
{
	return subscription->lease_end_usec != 0 && subscription->unanswered == 0 &&
	       now_usec - subscription->answered_usec >= CANFS_PUSH_LOST_USEC;
}

bool canfs_subscription_tick(struct canfs_subscription *subscription, uint64_t now_usec)
{
	bool is_new = false;

	if (!canfs_subscription_has_service(subscription))
		return false;
	for (int i = 0; i < DATAGRAMS_MAX && receive(subscription, now_usec, &is_new); i++)
		continue;
	if (is_silent(subscription, now_usec)) {
		begin_anew(subscription);
		subscription->ask_usec = now_usec;
	}
	if (now_usec >= subscription->ask_usec)
		ask(subscription, now_usec);
	return is_new;
}

bool canfs_subscription_is_current(const struct canfs_subscription *subscription, uint64_t now_usec)
{
	return now_usec < subscription->lease_end_usec &&
	       now_usec - subscription->answered_usec < CANFS_PUSH_LOST_USEC;
}

void canfs_subscription_forget(struct canfs_subscription *subscription)
{
	begin_anew(subscription);
	subscription->ask_usec = 0;
	subscription->unanswered = 0;
}
