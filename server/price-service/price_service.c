// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/price-service/price_service.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/address.h"
#include "common/clock.h"
#include "common/thread.h"
#include "server/price-service/cookie.h"
#include "server/price-service/outbox.h"
#include "server/price-service/udp.h"
#include "server/price-service/subscribers.h"

/*
 * Subscribers get pushes after each step of the market, and at least once per TURN_USEC, because
 * the next step may be seconds away. A turn handles at most whole_budget, so that a flood cannot
 * use a whole processor. Further datagrams wait in the socket buffer. The kernel drops them if it
 * is full.
 */
#define TURN_USEC 150000 /* longer than the default interval */

/*
 * Budget of a turn. Anybody can send calls without a valid cookie, so these do not use the budget
 * of calls with one.
 */
struct budget {
	unsigned int datagrams; /* received */
	unsigned int calls;     /* with a valid cookie */
};
static const struct budget whole_budget = { .datagrams = 2048, .calls = 512 };

#define AT_ONCE_MAX 64

#define EXPIRE_USEC 1000000

/*
 * Size of each socket buffer: enough for pushes to some thousand subscribers, and to some dozen
 * dead ones whose addresses the kernel still tries to resolve.
 */
#define BUFFER_BYTES (1 << 20)

struct canfs_price_service {
	struct canfs_price_service_config config;
	struct canfs_cookies cookies;
	struct canfs_udp socket;
	int wake; /* eventfd: the market has made a step, or the thread must stop */
	_Atomic bool stops;
	pthread_t thread;
	uint64_t told_usec;          /* last turn; used by the thread only */
	uint64_t expired_usec;       /* last check of the leases; used by the thread only */
	struct canfs_outbox *outbox; /* used by the thread only */
	struct budget left;          /* in this turn; used by the thread only */
	unsigned int changes;        /* version of the classes in use; used by the thread only */

	pthread_mutex_t mutex; /* protects the members below */
	struct canfs_subscribers *subscribers;
	struct canfs_price_service_counters counters; /* without of_table */
};

/* A call and the answer to it. */
struct answer {
	struct canfs_price_service *service;
	const struct canfs_price_call *call;
	const struct canfs_endpoint *endpoint;
	uint64_t now_usec;
	bool is_ignored; /* no reply now: the client will ask again */
	struct canfs_price_result result;
};

/* Percent; 0: the client has no class. */
static int premium_of(const struct answer *answer)
{
	struct canfs_shared_classes *classes = answer->service->config.classes;

	return classes ? canfs_shared_classes_premium(
				 classes, (const struct sockaddr *)&answer->endpoint->client)
		       : 0;
}

static void subscribe(struct answer *answer, struct canfs_price_table *prices, int premium_pct)
{
	struct canfs_price_request request = answer->call->request;
	struct canfs_subscribers *subscribers = answer->service->subscribers;
	struct canfs_price_result *result = &answer->result;

	if (request.lease_sec > CANFS_PRICE_LEASE_SEC)
		request.lease_sec = CANFS_PRICE_LEASE_SEC;
	if (request.lease_sec == 0)
		canfs_subscribers_end(subscribers, &answer->endpoint->client, prices);
	else if (canfs_subscribers_renew(subscribers, answer->endpoint, prices, &request,
			 premium_pct, &result->prices, answer->now_usec) != 0)
		result->status = CANFS_STATUS_FULL;
	result->lease_sec = request.lease_sec;
}

static void use_export(struct canfs_price_table *prices, void *arg)
{
	struct answer *answer = arg;
	struct canfs_price_result *result = &answer->result;
	int premium_pct;

	pthread_mutex_lock(&answer->service->mutex);
	result->status = CANFS_STATUS_NONE;
	if (canfs_price_table_quotes(prices, answer->now_usec, &result->prices)) {
		result->status = CANFS_STATUS_OK;
		premium_pct = premium_of(answer);
		canfs_premium_to_prices(
			canfs_premium_now(premium_pct, canfs_price_table_drains(prices)),
			&result->prices);
		result->prices.others = canfs_subscribers_others(answer->service->subscribers,
			answer->endpoint, answer->call->request.others);
		if (answer->call->procedure == CANFS_PRICE_SUBSCRIBE)
			subscribe(answer, prices, premium_pct);
	}
	pthread_mutex_unlock(&answer->service->mutex);
}

/*
 * The client's address may be forged. The client gets no reply unless more than half of the send
 * buffer is free: datagrams to dead addresses would use space that pushes need. A real client asks
 * again.
 */
static void give_cookie(struct answer *answer)
{
	struct canfs_price_service *service = answer->service;

	answer->is_ignored = !canfs_udp_has_room(&service->socket);
	if (answer->is_ignored)
		return;
	answer->result.status = CANFS_STATUS_COOKIE;
	canfs_cookie_make(&service->cookies, &answer->endpoint->client, answer->now_usec,
		answer->result.cookie);
}

static void answer_call(struct answer *answer)
{
	const struct canfs_price_call *call = answer->call;
	struct canfs_price_service *service = answer->service;
	const struct sockaddr_in6 *client = &answer->endpoint->client;
	struct sockaddr_storage plain = canfs_plain_address(client);

	/*
	 * Check the cookie before any lookup, so that a call from a forged address costs only a
	 * hash.
	 */
	if (call->refused != 0 || call->procedure == CANFS_PRICE_NULL ||
		!canfs_cookie_is_good(
			&service->cookies, client, answer->now_usec, call->request.cookie)) {
		give_cookie(answer);
		return;
	}
	service->left.calls--;
	answer->result.status = CANFS_STATUS_ACCESS;
	answer->is_ignored =
		service->config.with_export(service->config.host, call->request.export_name,
			call->request.nfs_version, &plain, use_export, answer) == -EAGAIN;
}

static void count_call(struct answer *answer)
{
	struct canfs_price_service_counters *counters = &answer->service->counters;
	bool asks = answer->call->refused == 0 && answer->call->procedure != CANFS_PRICE_NULL;

	pthread_mutex_lock(&answer->service->mutex);
	counters->calls++;
	counters->malformed += answer->call->refused != 0;
	if (answer->is_ignored)
		asks = false;
	counters->denied += asks && answer->result.status == CANFS_STATUS_ACCESS;
	pthread_mutex_unlock(&answer->service->mutex);
}

static void count_one(struct canfs_price_service *service, uint64_t *counter)
{
	pthread_mutex_lock(&service->mutex);
	++*counter;
	pthread_mutex_unlock(&service->mutex);
}

static void reply_to(struct canfs_price_service *service, struct canfs_endpoint *endpoint,
	const struct canfs_price_call *call, size_t call_bytes)
{
	struct answer answer = {
		.service = service, .call = call, .endpoint = endpoint, .now_usec = canfs_now_usec()
	};
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	struct canfs_message message;
	size_t bytes;

	answer_call(&answer);
	bytes = canfs_price_encode_reply(datagram, call, &answer.result);
	canfs_message_address(&service->socket, &message, endpoint, datagram, bytes);
	/*
	 * No valid call is shorter than its reply. Dropping longer replies prevents amplification.
	 */
	if (!answer.is_ignored && bytes <= call_bytes &&
		canfs_udp_send(&service->socket, &message) < 0)
		count_one(service, &service->counters.unsent);
	count_call(&answer);
}

/* False: no datagram is left. */
static bool take_call(struct canfs_price_service *service)
{
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	struct canfs_endpoint endpoint = { 0 };
	struct canfs_price_call call;
	struct canfs_message message;
	ssize_t got;

	canfs_message_address(&service->socket, &message, &endpoint, datagram, sizeof(datagram));
	got = recvmsg(service->socket.fd, &message.head, MSG_DONTWAIT);
	/* recvmsg() also reports network errors of earlier datagrams. */
	if (got < 0)
		return errno != EAGAIN;
	endpoint = canfs_message_sender(&message);
	if ((message.head.msg_flags & MSG_TRUNC) ||
		canfs_price_decode_call(datagram, (size_t)got, &call) != 0)
		count_one(service, &service->counters.malformed);
	else
		reply_to(service, &endpoint, &call, (size_t)got);
	return true;
}

/*
 * Without fresh prices nothing is pushed, and subscribers get prices elsewhere. Call it with the
 * mutex held.
 */
static void collect_pushes(struct canfs_price_service *service, uint64_t now_usec)
{
	struct canfs_price_table *export = NULL;
	struct canfs_prices prices;

	while ((export = canfs_subscribers_next_export(service->subscribers, export))) {
		if (canfs_price_table_quotes(export, now_usec, &prices))
			canfs_subscribers_push(service->subscribers, export, &prices,
				canfs_price_table_drains(export), now_usec, canfs_outbox_add,
				service->outbox);
	}
}

static void take_back(void *arg, const struct canfs_due *due)
{
	struct canfs_price_service *service = arg;

	pthread_mutex_lock(&service->mutex);
	canfs_subscribers_unsent(service->subscribers, due);
	service->counters.unsent++;
	pthread_mutex_unlock(&service->mutex);
}

/* Only received calls wait while this blocks. */
static void send_pushes(struct canfs_price_service *service)
{
	size_t sent = canfs_outbox_send(service->outbox, &service->socket, take_back, service);

	pthread_mutex_lock(&service->mutex);
	service->counters.pushes += sent;
	pthread_mutex_unlock(&service->mutex);
}

static void suspect(void *arg, const struct in6_addr *unreachable)
{
	struct canfs_price_service *service = arg;

	pthread_mutex_lock(&service->mutex);
	canfs_subscribers_unreachable(service->subscribers, unreachable);
	pthread_mutex_unlock(&service->mutex);
}

/* Marks the hosts that the network cannot reach. */
static void take_errors(struct canfs_price_service *service)
{
	struct in6_addr unreachable;

	for (unsigned int i = 0;
		i < CANFS_SUBSCRIBERS_MAX && canfs_udp_take_error(&service->socket, &unreachable);
		i++)
		suspect(service, &unreachable);
}

/* If the buffer is still half full, pushes of earlier turns may be waiting for ARP. */
static void find_unreachable(struct canfs_price_service *service)
{
	FILE *arp = canfs_udp_has_room(&service->socket) ? NULL : fopen("/proc/net/arp", "re");

	if (!arp)
		return;
	canfs_unanswered_arp(arp, suspect, service);
	fclose(arp);
}

/*
 * Reads the version before the classes. If the classes change in between, a later turn classifies
 * again. Call it with the mutex held.
 */
static void classify(struct canfs_price_service *service)
{
	struct canfs_shared_classes *shared = service->config.classes;
	unsigned int changes = shared ? canfs_shared_classes_changes(shared) : 0;
	struct canfs_classes classes;

	if (changes == service->changes)
		return;
	service->changes = changes;
	canfs_shared_classes_copy(shared, &classes);
	canfs_subscribers_classify(service->subscribers, &classes);
}

static void tell_subscribers(struct canfs_price_service *service)
{
	uint64_t now_usec = canfs_now_usec();

	find_unreachable(service);
	pthread_mutex_lock(&service->mutex);
	classify(service);
	if (service->config.clients)
		canfs_clients_measure(service->config.clients, now_usec);
	if (now_usec - service->expired_usec >= EXPIRE_USEC) {
		canfs_subscribers_expire(service->subscribers, now_usec);
		service->expired_usec = now_usec;
	}
	collect_pushes(service, now_usec);
	pthread_mutex_unlock(&service->mutex);
	send_pushes(service);
	service->told_usec = now_usec;
}

enum { WAKE, SOCKET, POLLED };

static bool may_take(const struct canfs_price_service *service)
{
	return service->left.datagrams > 0 && service->left.calls > 0;
}

/* Handles received datagrams until the turn's budget is used up. */
static void take_calls(struct canfs_price_service *service)
{
	take_errors(service);
	/* Only a few at a time, because the market may have made a step meanwhile. */
	for (int i = 0; i < AT_ONCE_MAX && may_take(service) && take_call(service); i++)
		service->left.datagrams--;
}

static void *run(void *arg)
{
	struct canfs_price_service *service = arg;
	struct pollfd polled[POLLED] = { [WAKE] = { .fd = service->wake, .events = POLLIN },
		[SOCKET] = { .fd = service->socket.fd, .events = POLLIN } };
	eventfd_t times;

	if (service->config.thread_begins)
		service->config.thread_begins();
	while (!atomic_load(&service->stops)) {
		polled[SOCKET].fd = may_take(service) ? service->socket.fd : -1;
		if (poll(polled, POLLED, TURN_USEC / 1000) < 0)
			continue;
		if ((polled[WAKE].revents != 0 && eventfd_read(service->wake, &times) == 0) ||
			canfs_now_usec() - service->told_usec >= TURN_USEC) {
			tell_subscribers(service);
			service->left = whole_budget;
		}
		if (polled[SOCKET].revents != 0)
			take_calls(service);
	}
	return NULL;
}

static void free_service(struct canfs_price_service *service)
{
	if (service->socket.fd >= 0)
		close(service->socket.fd);
	if (service->wake >= 0)
		close(service->wake);
	canfs_outbox_free(service->outbox);
	canfs_subscribers_free(service->subscribers);
	pthread_mutex_destroy(&service->mutex);
	free(service);
}

int canfs_price_service_start(
	struct canfs_price_service **service, const struct canfs_price_service_config *config)
{
	struct canfs_price_service *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return -ENOMEM;
	new->config = *config;
	new->socket.fd = -1;
	pthread_mutex_init(&new->mutex, NULL);
	new->left = whole_budget;
	new->subscribers = canfs_subscribers_new(config->clients);
	new->outbox = canfs_outbox_new();
	new->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = new->wake < 0 ? -errno : new->subscribers &&new->outbox ? 0 : -ENOMEM;
	if (ret == 0)
		ret = canfs_cookies_init(&new->cookies);
	if (ret == 0)
		ret = canfs_udp_open(&new->socket, config->port, BUFFER_BYTES);
	if (ret == 0)
		ret = canfs_thread_start(&new->thread, 0, run, new);
	if (ret != 0) {
		free_service(new);
		return ret;
	}
	*service = new;
	return 0;
}

void canfs_price_service_stop(struct canfs_price_service *service)
{
	if (!service)
		return;
	atomic_store(&service->stops, true);
	eventfd_write(service->wake, 1);
	pthread_join(service->thread, NULL);
	free_service(service);
}

uint16_t canfs_price_service_port(const struct canfs_price_service *service)
{
	return canfs_udp_port(&service->socket);
}

void canfs_price_service_posted(void *service)
{
	eventfd_write(((struct canfs_price_service *)service)->wake, 1);
}

void canfs_price_service_forget(
	struct canfs_price_service *service, struct canfs_price_table *prices)
{
	pthread_mutex_lock(&service->mutex);
	canfs_subscribers_forget(service->subscribers, prices);
	pthread_mutex_unlock(&service->mutex);
}

void canfs_price_service_count(
	struct canfs_price_service *service, struct canfs_price_service_counters *counters)
{
	pthread_mutex_lock(&service->mutex);
	*counters = service->counters;
	counters->of_table = canfs_subscribers_count(service->subscribers);
	pthread_mutex_unlock(&service->mutex);
}
