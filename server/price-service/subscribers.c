// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/price-service/subscribers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * By default uthash exits if memory runs out. Here it marks the entry, and the caller returns an
 * error.
 */
#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(element) ((element)->is_lost = true)
#include <uthash.h>
#include "common/address.h"

struct key {
	struct canfs_price_table *export;
	struct in6_addr address;
	uint32_t port; /* in network byte order; 32 bits wide, so that the key has no padding */
	uint32_t zero;
};

/* Counts the subscriptions of an address. */
struct host {
	struct in6_addr address;
	uint32_t subscribers; /* at least one */
	bool is_unreachable;
	bool is_lost; /* the hash table had no memory for this entry */
	UT_hash_handle hh;
};

struct canfs_subscriber {
	struct key key;
	struct host *host;
	struct canfs_endpoint endpoint;
	uint8_t token[CANFS_TOKEN_BYTES];
	uint64_t renewed_usec;
	uint64_t told_usec; /* time of the last datagram */
	float threshold;
	float told_others;
	float told_price[CANFS_OPERATIONS];
	uint8_t told_bottleneck[CANFS_OPERATIONS];
	int16_t premium_pct; /* of the client's class */
	uint32_t number;     /* of the last push */
	uint32_t lease_sec;
	bool wants_others;
	bool is_lost; /* as in struct host */
	LIST_ENTRY(canfs_subscriber) of_export;
	TAILQ_ENTRY(canfs_subscriber) of_all;
	UT_hash_handle hh;
};
/* malloc(3)'s overhead, and two buckets of a hash table. */
#define OWN_BYTES (16 + 2 * 16)
_Static_assert(sizeof(struct canfs_subscriber) + OWN_BYTES + sizeof(struct host) + OWN_BYTES <=
		       CANFS_SUBSCRIBER_BYTES,
	"the bound that is published");
_Static_assert(CANFS_SUBSCRIBERS_MAX *CANFS_SUBSCRIBER_BYTES <= 4 << 20, "likewise");

/* A hash table, because each turn looks up each export, and there may be as many as subscribers. */
struct watched_export {
	struct canfs_price_table *export;
	LIST_HEAD(, canfs_subscriber) subscribers;
	bool is_lost; /* as in struct host */
	UT_hash_handle hh;
};
_Static_assert(sizeof(struct watched_export) + OWN_BYTES <= CANFS_WATCHED_EXPORT_BYTES, "likewise");

struct canfs_subscribers {
	struct canfs_subscriber *by_key;           /* uthash */
	struct host *hosts;                        /* uthash, by address */
	TAILQ_HEAD(renewed, canfs_subscriber) all; /* renewed least recently first */
	struct watched_export *exports;            /* uthash; each has at least one subscriber */
	struct canfs_clients *clients;             /* NULL: the load of others is unknown */
	struct canfs_subscribers_counters counters;
};

struct canfs_subscribers *canfs_subscribers_new(struct canfs_clients *clients)
{
	struct canfs_subscribers *new = calloc(1, sizeof(*new));

	if (new) {
		TAILQ_INIT(&new->all);
		new->clients = clients;
	}
	return new;
}

static struct watched_export *find_export(
	const struct canfs_subscribers *subscribers, struct canfs_price_table *export)
{
	struct watched_export *found;

	HASH_FIND_PTR(subscribers->exports, &export, found);
	return found;
}

static struct watched_export *watch_export(
	struct canfs_subscribers *subscribers, struct canfs_price_table *export)
{
	struct watched_export *watched = find_export(subscribers, export);

	if (watched)
		return watched;
	watched = calloc(1, sizeof(*watched));
	if (!watched)
		return NULL;
	watched->export = export;
	LIST_INIT(&watched->subscribers);
	HASH_ADD_PTR(subscribers->exports, export, watched);
	if (!watched->is_lost)
		return watched;
	free(watched);
	return NULL;
}

static void unwatch_if_unused(struct canfs_subscribers *subscribers, struct watched_export *watched)
{
	if (!LIST_EMPTY(&watched->subscribers))
		return;
	HASH_DEL(subscribers->exports, watched);
	free(watched);
}

static struct host *find_host(
	const struct canfs_subscribers *subscribers, const struct in6_addr *address)
{
	struct host *found;

	HASH_FIND(hh, subscribers->hosts, address, sizeof(*address), found);
	return found;
}

/* NULL: out of memory. */
static struct host *take_host(struct canfs_subscribers *subscribers, const struct in6_addr *address)
{
	struct host *host = find_host(subscribers, address);

	if (!host) {
		host = calloc(1, sizeof(*host));
		if (!host)
			return NULL;
		host->address = *address;
		HASH_ADD(hh, subscribers->hosts, address, sizeof(host->address), host);
	}
	if (host->is_lost) {
		free(host);
		return NULL;
	}
	host->subscribers++;
	return host;
}

static void put_host(struct canfs_subscribers *subscribers, struct host *host)
{
	if (!host || --host->subscribers > 0)
		return;
	HASH_DEL(subscribers->hosts, host);
	free(host);
}

static void drop(struct canfs_subscribers *subscribers, struct canfs_subscriber *subscriber)
{
	struct watched_export *watched = find_export(subscribers, subscriber->key.export);

	HASH_DEL(subscribers->by_key, subscriber);
	TAILQ_REMOVE(&subscribers->all, subscriber, of_all);
	LIST_REMOVE(subscriber, of_export);
	subscribers->counters.subscribers--;
	put_host(subscribers, subscriber->host);
	free(subscriber);
	unwatch_if_unused(subscribers, watched);
}

void canfs_subscribers_free(struct canfs_subscribers *subscribers)
{
	if (!subscribers)
		return;
	while (!TAILQ_EMPTY(&subscribers->all))
		drop(subscribers, TAILQ_FIRST(&subscribers->all));
	free(subscribers);
}

static struct key key_of(const struct sockaddr_in6 *client, struct canfs_price_table *export)
{
	struct key key = { .export = export, .port = client->sin6_port };

	(void)canfs_read_address((const struct sockaddr *)client, &key.address);
	return key;
}

static struct canfs_subscriber *find(
	const struct canfs_subscribers *subscribers, const struct key *key)
{
	struct canfs_subscriber *found;

	HASH_FIND(hh, subscribers->by_key, key, sizeof(*key), found);
	return found;
}

static bool has_too_many(
	const struct canfs_subscribers *subscribers, const struct in6_addr *address)
{
	const struct host *host = find_host(subscribers, address);

	return host && host->subscribers >= CANFS_SUBSCRIBERS_OF_CLIENT;
}

/* Inserts a subscriber as the one renewed last. NULL: out of memory. */
static struct canfs_subscriber *insert(struct canfs_subscribers *subscribers, const struct key *key)
{
	struct watched_export *watched = watch_export(subscribers, key->export);
	struct host *host = watched ? take_host(subscribers, &key->address) : NULL;
	struct canfs_subscriber *new = host ? calloc(1, sizeof(*new)) : NULL;

	if (new) {
		new->key = *key;
		HASH_ADD(hh, subscribers->by_key, key, sizeof(new->key), new);
	}
	if (!new || new->is_lost) {
		free(new);
		put_host(subscribers, host);
		if (watched)
			unwatch_if_unused(subscribers, watched);
		return NULL;
	}
	new->host = host;
	LIST_INSERT_HEAD(&watched->subscribers, new, of_export);
	TAILQ_INSERT_TAIL(&subscribers->all, new, of_all);
	subscribers->counters.subscribers++;
	return new;
}

static void note_told(
	struct canfs_subscriber *subscriber, const struct canfs_prices *prices, uint64_t now_usec)
{
	for (int i = 0; i < CANFS_OPERATIONS; i++) {
		subscriber->told_price[i] = (float)prices->quote[i].price;
		subscriber->told_bottleneck[i] = (uint8_t)prices->quote[i].bottleneck;
	}
	subscriber->told_others = (float)prices->others;
	subscriber->told_usec = now_usec;
}

int canfs_subscribers_renew(struct canfs_subscribers *subscribers,
	const struct canfs_endpoint *endpoint, struct canfs_price_table *export,
	const struct canfs_price_request *request, int premium_pct,
	const struct canfs_prices *prices, uint64_t now_usec)
{
	struct key key = key_of(&endpoint->client, export);
	struct canfs_subscriber *subscriber = find(subscribers, &key);

	if (!subscriber && has_too_many(subscribers, &key.address))
		return -EUSERS;
	if (!subscriber && subscribers->counters.subscribers >= CANFS_SUBSCRIBERS_MAX) {
		drop(subscribers, TAILQ_FIRST(&subscribers->all));
		subscribers->counters.displaced++;
	}
	if (!subscriber)
		subscriber = insert(subscribers, &key);
	if (!subscriber)
		return -ENOMEM;
	TAILQ_REMOVE(&subscribers->all, subscriber, of_all);
	TAILQ_INSERT_TAIL(&subscribers->all, subscriber, of_all);
	if (memcmp(subscriber->token, request->token, sizeof(subscriber->token)) != 0)
		subscriber->number = 0;
	memcpy(subscriber->token, request->token, sizeof(subscriber->token));
	subscriber->endpoint = *endpoint;
	subscriber->threshold = (float)request->threshold;
	subscriber->wants_others = request->others;
	subscriber->premium_pct = (int16_t)premium_pct;
	subscriber->renewed_usec = now_usec;
	subscriber->lease_sec = request->lease_sec;
	subscriber->host->is_unreachable = false;
	note_told(subscriber, prices, now_usec);
	return 0;
}

void canfs_subscribers_classify(
	struct canfs_subscribers *subscribers, const struct canfs_classes *classes)
{
	struct canfs_subscriber *subscriber;

	TAILQ_FOREACH (subscriber, &subscribers->all, of_all) {
		const struct canfs_class *client_class =
			canfs_classes_find(classes, &subscriber->key.address);

		subscriber->premium_pct = (int16_t)(client_class ? client_class->premium_pct : 0);
	}
}

void canfs_subscribers_end(struct canfs_subscribers *subscribers, const struct sockaddr_in6 *client,
	struct canfs_price_table *export)
{
	struct key key = key_of(client, export);
	struct canfs_subscriber *subscriber = find(subscribers, &key);

	if (subscriber)
		drop(subscribers, subscriber);
}

void canfs_subscribers_forget(
	struct canfs_subscribers *subscribers, struct canfs_price_table *export)
{
	struct watched_export *watched;

	/* Dropping the last subscriber frees the watched export. */
	while ((watched = find_export(subscribers, export)))
		drop(subscribers, LIST_FIRST(&watched->subscribers));
}

static uint64_t part_of_lease(const struct canfs_subscriber *subscriber, unsigned int eighths)
{
	return subscriber->lease_sec * UINT64_C(125000) * eighths;
}

void canfs_subscribers_expire(struct canfs_subscribers *subscribers, uint64_t now_usec)
{
	struct canfs_subscriber *subscriber, *next;

	for (subscriber = TAILQ_FIRST(&subscribers->all); subscriber; subscriber = next) {
		next = TAILQ_NEXT(subscriber, of_all);
		if (now_usec - subscriber->renewed_usec >= part_of_lease(subscriber, 6))
			drop(subscribers, subscriber);
	}
}

struct canfs_price_table *canfs_subscribers_next_export(
	const struct canfs_subscribers *subscribers, struct canfs_price_table *after)
{
	const struct watched_export *watched = subscribers->exports;

	if (after)
		watched = find_export(subscribers, after)->hh.next;
	return watched ? watched->export : NULL;
}

double canfs_subscribers_others(const struct canfs_subscribers *subscribers,
	const struct canfs_endpoint *endpoint, bool are_wanted)
{
	if (!subscribers->clients || !are_wanted)
		return -1;
	return canfs_clients_others(
		subscribers->clients, (const struct sockaddr *)&endpoint->client);
}

/* Clients spread their renewals: the last one renews after 0.6 of its lease. */
static bool is_suspect(const struct canfs_subscriber *subscriber, uint64_t now_usec)
{
	return subscriber->host->is_unreachable ||
	       now_usec - subscriber->renewed_usec > part_of_lease(subscriber, 5);
}

static bool is_quiet(const struct canfs_subscriber *subscriber, uint64_t now_usec)
{
	return now_usec - subscriber->told_usec >= CANFS_PUSH_QUIET_USEC;
}

static bool has_moved(const struct canfs_subscriber *subscriber, const struct canfs_prices *prices)
{
	if (canfs_others_came(subscriber->told_others, prices->others) ||
		canfs_others_came(prices->others, subscriber->told_others))
		return true;
	for (int i = 0; i < CANFS_OPERATIONS; i++) {
		if (fabsf((float)prices->quote[i].price - subscriber->told_price[i]) >
				subscriber->threshold ||
			prices->quote[i].bottleneck != subscriber->told_bottleneck[i])
			return true;
	}
	return false;
}

void canfs_subscribers_push(struct canfs_subscribers *subscribers, struct canfs_price_table *export,
	const struct canfs_prices *prices, bool drains, uint64_t now_usec, canfs_send_push *send,
	void *arg)
{
	struct watched_export *watched = find_export(subscribers, export);
	struct canfs_due due = { .export = export };
	struct canfs_price_push *push = &due.push;
	struct canfs_subscriber *subscriber;

	if (!watched)
		return;
	LIST_FOREACH (subscriber, &watched->subscribers, of_export) {
		push->prices = *prices;
		canfs_premium_to_prices(
			canfs_premium_now(subscriber->premium_pct, drains), &push->prices);
		push->prices.others = canfs_subscribers_others(
			subscribers, &subscriber->endpoint, subscriber->wants_others);
		due.is_suspect = is_suspect(subscriber, now_usec);
		if (!is_quiet(subscriber, now_usec) &&
			(due.is_suspect || !has_moved(subscriber, &push->prices)))
			continue;
		due.endpoint = subscriber->endpoint;
		memcpy(push->token, subscriber->token, sizeof(push->token));
		push->number = ++subscriber->number;
		note_told(subscriber, &push->prices, now_usec);
		send(arg, &due);
	}
}

void canfs_subscribers_unsent(struct canfs_subscribers *subscribers, const struct canfs_due *due)
{
	struct key key = key_of(&due->endpoint.client, due->export);
	struct canfs_subscriber *subscriber = find(subscribers, &key);

	if (subscriber)
		subscriber->told_usec = 0;
}

void canfs_subscribers_unreachable(
	struct canfs_subscribers *subscribers, const struct in6_addr *address)
{
	struct host *host = find_host(subscribers, address);

	if (host)
		host->is_unreachable = true;
}

struct canfs_subscribers_counters canfs_subscribers_count(
	const struct canfs_subscribers *subscribers)
{
	return subscribers->counters;
}
