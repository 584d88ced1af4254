// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/price-service/price_service.h"

#include <errno.h>
#include <poll.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/address.h"
#include "common/clock.h"
#include "common/thread.h"
#include "server/price-service/cookie.h"
#include "server/price-service/subscribers.h"

/*
 * Subscribers are told after each step of the market, and at least so often, as a step may be seconds away. In between no
 * more calls are taken than that: a flood of them must not take a whole processor. The rest waits in the socket, and is
 * lost when that is full.
 */
#define TURN_USEC 150000 /* longer than the usual interval */
#define CALLS_MAX 512

#define BATCH_MAX 64

#define EXPIRE_USEC 1000000

/* So long pushes wait for room in the socket, which a slow link may have filled. */
#define SEND_MSEC 20
/* Of the socket's: a push to each of some thousand subscribers. */
#define SEND_BYTES (1 << 20)

struct batch {
	size_t count;
	struct canfs_endpoint endpoint[BATCH_MAX];
	uint8_t datagram[BATCH_MAX][CANFS_DATAGRAM_MAX];
	size_t bytes[BATCH_MAX];
};

struct canfs_price_service {
	struct canfs_price_service_config config;
	struct canfs_cookies cookies;
	int socket;
	bool has_ipv6; /* the socket; else this host speaks IPv4 only */
	int wake;      /* eventfd: the market has computed, or stop */
	_Atomic bool stops;
	pthread_t thread;
	uint64_t told_usec;    /* when subscribers were last, if any; the thread's */
	uint64_t expired_usec; /* when leases were looked at last; likewise */
	uint32_t xid;          /* of pushes; likewise */
	struct batch batch;    /* likewise */
	unsigned int changes;  /* of the classes that subscribers have; likewise */

	pthread_mutex_t mutex; /* of what follows */
	struct canfs_subscribers *subscribers;
	struct canfs_price_service_counters counters; /* but for of_table */
};

/* A message to or from one endpoint, with the local address beside it. */
struct message {
	struct msghdr head;
	struct iovec iov;
	struct sockaddr_in ipv4; /* instead of the endpoint's, where there is no IPv6 */
	alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

static struct in_addr unmapped(const struct in6_addr *address)
{
	struct in_addr ipv4;

	memcpy(&ipv4, &address->s6_addr[12], sizeof(ipv4));
	return ipv4;
}

/* Where the host has no IPv6: the same, as its kernel takes it. */
static void address_ipv4(struct message *message, const struct canfs_endpoint *endpoint)
{
	struct in_pktinfo local = { .ipi_spec_dst = unmapped(&endpoint->local.ipi6_addr) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message->head);

	message->ipv4 = (struct sockaddr_in) { .sin_family = AF_INET,
		.sin_port = endpoint->client.sin6_port,
		.sin_addr = unmapped(&endpoint->client.sin6_addr) };
	message->head.msg_name = &message->ipv4;
	message->head.msg_namelen = sizeof(message->ipv4);
	*cmsg = (struct cmsghdr) { .cmsg_len = CMSG_LEN(sizeof(local)),
		.cmsg_level = IPPROTO_IP,
		.cmsg_type = IP_PKTINFO };
	memcpy(CMSG_DATA(cmsg), &local, sizeof(local));
	message->head.msg_controllen = CMSG_SPACE(sizeof(local));
}

static void address_message(const struct canfs_price_service *service, struct message *message,
	struct canfs_endpoint *endpoint, void *datagram, size_t bytes)
{
	struct cmsghdr *cmsg;

	memset(message, 0, sizeof(*message));
	message->iov = (struct iovec) { .iov_base = datagram, .iov_len = bytes };
	message->head = (struct msghdr) { .msg_name = &endpoint->client,
		.msg_namelen = sizeof(endpoint->client),
		.msg_iov = &message->iov,
		.msg_iovlen = 1,
		.msg_control = message->control,
		.msg_controllen = sizeof(message->control) };
	cmsg = CMSG_FIRSTHDR(&message->head);
	*cmsg = (struct cmsghdr) { .cmsg_len = CMSG_LEN(sizeof(endpoint->local)),
		.cmsg_level = IPPROTO_IPV6,
		.cmsg_type = IPV6_PKTINFO };
	memcpy(CMSG_DATA(cmsg), &endpoint->local, sizeof(endpoint->local));
	if (!service->has_ipv6)
		address_ipv4(message, endpoint);
}

/* From which of our addresses. The interface is left to the routes, but where the address needs it. */
static struct in6_pktinfo local_of(struct msghdr *head)
{
	struct in6_pktinfo local = { 0 };

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(head); cmsg; cmsg = CMSG_NXTHDR(head, cmsg)) {
		if (cmsg->cmsg_level == IPPROTO_IPV6 && cmsg->cmsg_type == IPV6_PKTINFO)
			memcpy(&local, CMSG_DATA(cmsg), sizeof(local));
		if (cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo ipv4;

			memcpy(&ipv4, CMSG_DATA(cmsg), sizeof(ipv4));
			local.ipi6_addr = canfs_map_ipv4(&ipv4.ipi_spec_dst);
		}
	}
	if (!IN6_IS_ADDR_LINKLOCAL(&local.ipi6_addr))
		local.ipi6_ifindex = 0;
	return local;
}

/* Who has sent it. */
static struct canfs_endpoint endpoint_of(struct message *message, const struct sockaddr_in6 *client)
{
	struct canfs_endpoint endpoint = { .client = *client, .local = local_of(&message->head) };

	if (message->ipv4.sin_family == AF_INET)
		endpoint.client = (struct sockaddr_in6) { .sin6_family = AF_INET6,
			.sin6_port = message->ipv4.sin_port,
			.sin6_addr = canfs_map_ipv4(&message->ipv4.sin_addr) };
	endpoint.client.sin6_flowinfo = 0;
	return endpoint;
}

/* As Ganesha and the kernel compare addresses with their lists: IPv4 as such. */
static struct sockaddr_storage plain_address(const struct sockaddr_in6 *client)
{
	struct sockaddr_storage plain = { 0 };
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&plain;

	if (!IN6_IS_ADDR_V4MAPPED(&client->sin6_addr)) {
		memcpy(&plain, client, sizeof(*client));
		return plain;
	}
	ipv4->sin_family = AF_INET;
	ipv4->sin_port = client->sin6_port;
	ipv4->sin_addr = unmapped(&client->sin6_addr);
	return plain;
}

/* One call, as it is answered. */
struct answer {
	struct canfs_price_service *service;
	const struct canfs_price_call *call;
	const struct canfs_endpoint *endpoint;
	uint64_t now_usec;
	bool is_ignored; /* cannot be answered now: the client asks again */
	struct canfs_price_result result;
};

/* Percent; 0: of no class. */
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
		if (answer->call->procedure == CANFS_PRICE_SUBSCRIBE)
			subscribe(answer, prices, premium_pct);
	}
	pthread_mutex_unlock(&answer->service->mutex);
}

static void answer_call(struct answer *answer)
{
	const struct canfs_price_call *call = answer->call;
	struct canfs_price_service *service = answer->service;
	const struct sockaddr_in6 *client = &answer->endpoint->client;
	struct sockaddr_storage plain = plain_address(client);

	if (call->refused != 0 || call->procedure == CANFS_PRICE_NULL)
		return;
	/* Before anything is looked up: whoever cannot receive at its address costs a hash. */
	if (!canfs_cookie_is_good(
		    &service->cookies, client, answer->now_usec, call->request.cookie)) {
		answer->result.status = CANFS_STATUS_COOKIE;
		canfs_cookie_make(
			&service->cookies, client, answer->now_usec, answer->result.cookie);
		return;
	}
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
	counters->cookies += asks && answer->result.status == CANFS_STATUS_COOKIE;
	counters->denied +=
		asks && !answer->is_ignored && answer->result.status == CANFS_STATUS_ACCESS;
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
	struct message message;
	size_t bytes;

	answer_call(&answer);
	bytes = canfs_price_encode_reply(datagram, call, &answer.result);
	address_message(service, &message, endpoint, datagram, bytes);
	/* No call of ours is shorter than its reply, and nothing is to be amplified. */
	if (!answer.is_ignored && bytes <= call_bytes &&
		sendmsg(service->socket, &message.head, MSG_DONTWAIT) < 0)
		count_one(service, &service->counters.unsent);
	count_call(&answer);
}

/* False: there is no more. */
static bool take_call(struct canfs_price_service *service)
{
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	struct canfs_endpoint endpoint = { 0 };
	struct canfs_price_call call;
	struct message message;
	ssize_t got;

	address_message(service, &message, &endpoint, datagram, sizeof(datagram));
	got = recvmsg(service->socket, &message.head, MSG_DONTWAIT);
	if (got < 0)
		return errno == EINTR;
	endpoint = endpoint_of(&message, &endpoint.client);
	if ((message.head.msg_flags & MSG_TRUNC) ||
		canfs_price_decode_call(datagram, (size_t)got, &call) != 0)
		count_one(service, &service->counters.malformed);
	else
		reply_to(service, &endpoint, &call, (size_t)got);
	return true;
}

static void send_batch(struct canfs_price_service *service)
{
	struct batch *batch = &service->batch;
	struct message message[BATCH_MAX];
	struct mmsghdr headers[BATCH_MAX] = { 0 };
	struct pollfd room = { .fd = service->socket, .events = POLLOUT };
	int sent;

	for (size_t i = 0; i < batch->count; i++) {
		address_message(service, &message[i], &batch->endpoint[i], batch->datagram[i],
			batch->bytes[i]);
		headers[i].msg_hdr = message[i].head;
	}
	/* One that cannot be sent holds up none behind it. */
	for (size_t done = 0; done < batch->count; done += (size_t)sent) {
		sent = sendmmsg(service->socket, headers + done,
			(unsigned int)(batch->count - done), MSG_DONTWAIT);
		if (sent < 0 && errno == EAGAIN && poll(&room, 1, SEND_MSEC) == 1)
			sent = sendmmsg(service->socket, headers + done, 1, MSG_DONTWAIT);
		if (sent <= 0) {
			service->counters.unsent++;
			sent = 1;
		}
	}
	batch->count = 0;
}

static void add_to_batch(
	void *arg, const struct canfs_endpoint *endpoint, const struct canfs_price_push *push)
{
	struct canfs_price_service *service = arg;
	struct batch *batch = &service->batch;

	batch->bytes[batch->count] =
		canfs_price_encode_push(batch->datagram[batch->count], ++service->xid, push);
	batch->endpoint[batch->count++] = *endpoint;
	service->counters.pushes++;
	if (batch->count == BATCH_MAX)
		send_batch(service);
}

/* Without fresh prices an export says nothing, and its subscribers ask elsewhere. Under the mutex. */
static void push_all(struct canfs_price_service *service, uint64_t now_usec)
{
	struct canfs_price_table *export = NULL;
	struct canfs_prices prices;

	while ((export = canfs_subscribers_next_export(service->subscribers, export))) {
		if (canfs_price_table_quotes(export, now_usec, &prices))
			canfs_subscribers_push(service->subscribers, export, &prices,
				canfs_price_table_drains(export), now_usec, add_to_batch, service);
	}
	send_batch(service);
}

/*
 * The number is read first: whoever subscribes meanwhile, or classes that change again, come to a later turn. Under the
 * mutex.
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

	pthread_mutex_lock(&service->mutex);
	classify(service);
	if (now_usec - service->expired_usec >= EXPIRE_USEC) {
		canfs_subscribers_expire(service->subscribers, now_usec);
		service->expired_usec = now_usec;
	}
	push_all(service, now_usec);
	pthread_mutex_unlock(&service->mutex);
	service->told_usec = now_usec;
}

enum { WAKE, SOCKET, POLLED };

/* Takes what has come, while there is any of the turn's calls left. */
static void take_calls(struct canfs_price_service *service, unsigned int *left)
{
	/* A few at a time: the market may have computed meanwhile. */
	for (int i = 0; i<BATCH_MAX && * left> 0 && take_call(service); i++)
		--*left;
}

static void *run(void *arg)
{
	struct canfs_price_service *service = arg;
	struct pollfd polled[POLLED] = { [WAKE] = { .fd = service->wake, .events = POLLIN },
		[SOCKET] = { .fd = service->socket, .events = POLLIN } };
	unsigned int left = CALLS_MAX; /* calls in this turn */
	eventfd_t times;

	if (service->config.thread_begins)
		service->config.thread_begins();
	while (!atomic_load(&service->stops)) {
		polled[SOCKET].fd = left > 0 ? service->socket : -1;
		if (poll(polled, POLLED, TURN_USEC / 1000) < 0)
			continue;
		if ((polled[WAKE].revents != 0 && eventfd_read(service->wake, &times) == 0) ||
			canfs_now_usec() - service->told_usec >= TURN_USEC) {
			tell_subscribers(service);
			left = CALLS_MAX;
		}
		if (polled[SOCKET].revents != 0)
			take_calls(service, &left);
	}
	return NULL;
}

static int open_ipv4(struct canfs_price_service *service, uint16_t port)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
	const int on = 1;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	service->socket = fd;
	if (setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) < 0 ||
		bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0)
		return -errno;
	return 0;
}

/* IPv4 comes as ::ffff:a.b.c.d. 0 or -errno. */
static int open_socket(struct canfs_price_service *service, uint16_t port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	const int on = 1, off = 0;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return errno == EAFNOSUPPORT ? open_ipv4(service, port) : -errno;
	service->socket = fd;
	service->has_ipv6 = true;
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)) < 0 ||
		bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0)
		return -errno;
	return 0;
}

static void free_service(struct canfs_price_service *service)
{
	if (service->socket >= 0)
		close(service->socket);
	if (service->wake >= 0)
		close(service->wake);
	canfs_subscribers_free(service->subscribers);
	pthread_mutex_destroy(&service->mutex);
	free(service);
}

int canfs_price_service_start(
	struct canfs_price_service **service, const struct canfs_price_service_config *config)
{
	const int send_bytes = SEND_BYTES; /* as much of it as the kernel allows */
	struct canfs_price_service *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return -ENOMEM;
	new->config = *config;
	new->socket = -1;
	pthread_mutex_init(&new->mutex, NULL);
	new->subscribers = canfs_subscribers_new();
	new->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = new->wake < 0 ? -errno : new->subscribers ? 0 : -ENOMEM;
	if (ret == 0)
		ret = canfs_cookies_init(&new->cookies);
	if (ret == 0)
		ret = open_socket(new, config->port);
	if (ret == 0)
		setsockopt(new->socket, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof(send_bytes));
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
	struct sockaddr_in6 bound = { 0 };
	socklen_t len = sizeof(bound);

	getsockname(service->socket, (struct sockaddr *)&bound, &len);
	return ntohs(bound.sin6_port);
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
