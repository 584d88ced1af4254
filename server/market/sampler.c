// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/market/internal.h"
#include "server/monitors/monitors.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "pricing/price.h"
#include "common/clock.h"
#include "common/thread.h"

/*
 * The posted prices of an export are one word. A reader needs no lock and never sees a partial
 * update:
 *
 *	63            20   19    18       16 15    8 7        0
 *	| time, msec    | drains | bottleneck | write | readahead |     0: nothing posted
 *
 * Prices are in steps of 1/255, as in the price tag.
 */
#define DRAINS (UINT64_C(1) << 19)
_Static_assert(CANFS_LOG < 8, "a bottleneck has three bits");

static uint64_t pack(
	uint64_t now_msec, const struct canfs_quote *write, const struct canfs_quote *readahead)
{
	return now_msec << 20 | (uint64_t)write->bottleneck << 16 |
	       (uint64_t)(write->price / CANFS_PRICE_MAX * 255 + 0.5) << 8 |
	       (uint64_t)(readahead->price / CANFS_PRICE_MAX * 255 + 0.5);
}

static bool is_fresh(uint64_t posted, uint64_t now_usec)
{
	return posted != 0 && now_usec / 1000 <= (posted >> 20) + CANFS_STALE_MS;
}

bool canfs_price_table_peek(
	struct canfs_price_table *prices, uint64_t now_usec, struct canfs_tag *tag)
{
	uint64_t posted = atomic_load_explicit(&prices->posted, memory_order_acquire);

	if (!is_fresh(posted, now_usec))
		return false;
	tag->bottleneck = (enum canfs_resource)(posted >> 16 & 7);
	tag->write = (double)(posted >> 8 & 0xff) / 255;
	tag->readahead = (double)(posted & 0xff) / 255;
	return true;
}

bool canfs_price_table_read(
	struct canfs_price_table *prices, uint64_t now_usec, struct canfs_tag *tag)
{
	bool fresh = canfs_price_table_peek(prices, now_usec, tag);

	atomic_fetch_add_explicit(
		fresh ? &prices->priced : &prices->unpriced, 1, memory_order_relaxed);
	return fresh;
}

bool canfs_price_table_drains(struct canfs_price_table *prices)
{
	return (atomic_load_explicit(&prices->posted, memory_order_relaxed) & DRAINS) != 0;
}

static uint32_t age_of(const struct canfs_sampler *sampler, uint64_t now_usec)
{
	uint64_t age_usec = now_usec > sampler->last_usec ? now_usec - sampler->last_usec : 0;

	return age_usec < UINT32_MAX ? (uint32_t)age_usec : UINT32_MAX;
}

bool canfs_price_table_quotes(
	struct canfs_price_table *prices, uint64_t now_usec, struct canfs_prices *quotes)
{
	struct canfs_sampler *sampler = prices->sampler;
	uint64_t posted;
	bool fresh;

	pthread_mutex_lock(&sampler->mutex);
	posted = atomic_load(&prices->posted);
	fresh = is_fresh(posted, now_usec);
	if (fresh) {
		memcpy(quotes->quote, prices->quotes, sizeof(quotes->quote));
		if (posted & DRAINS)
			quotes->quote[CANFS_WRITE].price = CANFS_PRICE_MAX;
		quotes->age_usec = age_of(sampler, now_usec);
		quotes->interval_usec = sampler->config.interval_ms * 1000;
		quotes->others = -1; /* not per export */
	}
	pthread_mutex_unlock(&sampler->mutex);
	return fresh;
}

double canfs_price_table_own_readahead(struct canfs_price_table *prices)
{
	return (double)atomic_load_explicit(&prices->own_readahead, memory_order_relaxed);
}

void canfs_sampler_open_monitors(struct canfs_monitor *monitors,
	const struct canfs_sampler *sampler, const struct canfs_price_table *prices)
{
	const struct canfs_sampler_config *config = &sampler->config;
	struct canfs_monitor_setup price_table_setup;
	const struct canfs_monitor_setup *setup = &config->setup;

	if (prices) {
		price_table_setup = config->setup;
		price_table_setup.name = prices->name;
		price_table_setup.path = prices->path;
		price_table_setup.device = prices->device;
		price_table_setup.responses = prices->responses;
		if (prices->own.read_queue != 0)
			price_table_setup.disk_read_queue = prices->own.read_queue;
		if (prices->own.write_queue != 0)
			price_table_setup.disk_write_queue = prices->own.write_queue;
		setup = &price_table_setup;
	}
	for (size_t i = 0; canfs_monitor_types[i].resource != CANFS_NONE; i++) {
		const struct canfs_monitor_type *type = &canfs_monitor_types[i];

		if (type->per_export == !!prices && (config->monitors & 1u << type->resource) &&
			!monitors[type->instead_of].type)
			canfs_monitor_open(&monitors[type->resource], type, setup, config->say);
	}
}

void canfs_sampler_close_monitors(struct canfs_monitor *monitors)
{
	for (int i = 0; i < CANFS_RESOURCES; i++)
		canfs_monitor_close(&monitors[i]);
}

void canfs_sampler_sample_monitors(
	struct canfs_monitor *monitors, double elapsed_sec, struct canfs_market *market)
{
	for (int i = 0; i < CANFS_RESOURCES; i++)
		canfs_monitor_sample(&monitors[i], elapsed_sec, market);
}

static const struct canfs_monitor_traits *disk_of(const struct canfs_price_table *prices)
{
	return &(prices->watched_by ? prices->watched_by : prices)->monitors[CANFS_DISK].traits;
}

static double backend_nominal_of(const struct canfs_price_table *prices)
{
	const struct canfs_price_table *watcher = prices->watched_by ? prices->watched_by : prices;
	const struct canfs_monitor *backend = &watcher->monitors[CANFS_BACKEND];

	return backend->type ? canfs_backend_nominal(backend->state) : 0;
}

static const struct canfs_disk_work *work_of(
	const struct canfs_price_table *prices, struct canfs_disk_work *work)
{
	const struct canfs_monitor *disk = &prices->monitors[CANFS_DISK];

	if (!disk->type || !disk->type->work)
		return NULL;
	disk->type->work(disk->state, work);
	return work;
}

void canfs_price_table_enter_market(struct canfs_price_table *prices)
{
	const struct canfs_monitor_traits *disk = disk_of(prices);

	prices->market = prices->sampler->market;
	if (prices->sampler->k_of_disk_by_type && disk->k > 0)
		prices->market.k[CANFS_DISK] = disk->k;
	if (prices->own.k != 0)
		prices->market.k[CANFS_DISK] = prices->own.k;
}

/*
 * Exports on the same disks share the monitors of one of them: a server may have hundreds of
 * exports.
 */
static void sample_disks(struct canfs_price_table *prices, double elapsed_sec)
{
	const struct canfs_price_table *watcher = prices->watched_by;

	if (!watcher) {
		canfs_sampler_sample_monitors(prices->monitors, elapsed_sec, &prices->market);
		return;
	}
	prices->market.flushing = watcher->market.flushing;
	prices->market.is_heard = watcher->market.is_heard;
	for (int i = 0; i < CANFS_RESOURCES; i++) {
		if (!watcher->monitors[i].type)
			continue;
		prices->market.utilization[i] = watcher->market.utilization[i];
		prices->market.known[i] = watcher->market.known[i];
	}
}

/*
 * Price of read-ahead by the server itself. It costs processor time and memory, and no network
 * until a client requests the data. The price of the disk does not count: demand reads overtake
 * read-ahead in its own queue. That price is 1 as soon as two readers keep the disk busy, and would
 * forbid read-ahead where it saves the most seeks.
 */
static double own_readahead(const struct canfs_market *market)
{
	double cpu = canfs_market_price(market, CANFS_CPU);
	double memory = canfs_market_price(market, CANFS_MEMORY);

	return cpu > memory ? cpu : memory;
}

static void post(struct canfs_price_table *prices, double elapsed_sec, uint64_t now_usec)
{
	const struct canfs_sampler *sampler = prices->sampler;
	struct canfs_quote write, readahead;
	uint64_t posted = 0;

	canfs_price_table_enter_market(prices);
	sample_disks(prices, elapsed_sec);
	for (int i = 0; i < CANFS_OPERATIONS; i++)
		prices->quotes[i] = canfs_market_quote(&prices->market, (enum canfs_operation)i);
	write = prices->quotes[CANFS_WRITE];
	readahead = prices->quotes[CANFS_READAHEAD];
	atomic_store_explicit(&prices->own_readahead, (float)own_readahead(&prices->market),
		memory_order_relaxed);
	canfs_history_add(&prices->history, now_usec, &prices->market, write, readahead);
	if (sampler->drain)
		write.price = CANFS_PRICE_MAX;
	/* Without a bottleneck, no monitor works, and a price of 0 would be wrong. */
	if (write.bottleneck != CANFS_NONE && sampler->publish)
		posted = pack(now_usec / 1000, &write, &readahead) | (sampler->drain ? DRAINS : 0);
	atomic_store_explicit(&prices->posted, posted, memory_order_release);
}

void canfs_sampler_step(struct canfs_sampler *sampler, uint64_t now_usec)
{
	struct canfs_price_table *prices;

	pthread_mutex_lock(&sampler->mutex);
	if (now_usec > sampler->last_usec) {
		/* The first step only primes the monitors, so any elapsed_sec will do. */
		double elapsed_sec = (double)(now_usec - sampler->last_usec) / 1e6;

		sampler->last_usec = now_usec;
		sampler->steps++;
		canfs_sampler_sample_monitors(sampler->monitors, elapsed_sec, &sampler->market);
		LIST_FOREACH (prices, &sampler->price_tables, link)
			post(prices, elapsed_sec, now_usec);
		if (sampler->posted)
			sampler->posted(sampler->posted_arg);
	}
	pthread_mutex_unlock(&sampler->mutex);
}

static void *run(void *arg)
{
	struct canfs_sampler *sampler = arg;
	const uint64_t interval_usec = (uint64_t)sampler->config.interval_ms * 1000;

	if (sampler->config.thread_begins)
		sampler->config.thread_begins();
	pthread_mutex_lock(&sampler->mutex);
	sampler->next_usec = canfs_now_usec();
	while (!sampler->stop) {
		uint64_t now_usec = canfs_now_usec();
		struct timespec until = { .tv_sec = (time_t)(sampler->next_usec / 1000000),
			.tv_nsec = (long)(sampler->next_usec % 1000000 * 1000) };

		if (now_usec < sampler->next_usec) {
			pthread_cond_timedwait(&sampler->wake, &sampler->mutex, &until);
			continue;
		}
		/* A late step is skipped, not made up for. */
		sampler->next_usec += interval_usec;
		if (sampler->next_usec < now_usec)
			sampler->next_usec = now_usec + interval_usec;
		pthread_mutex_unlock(&sampler->mutex);
		canfs_sampler_step(sampler, now_usec);
		if (sampler->config.stepped)
			sampler->config.stepped(now_usec);
		pthread_mutex_lock(&sampler->mutex);
	}
	pthread_mutex_unlock(&sampler->mutex);
	return NULL;
}

void canfs_sampler_set_k(struct canfs_sampler *sampler, enum canfs_resource resource, double k)
{
	struct canfs_market usual;

	canfs_market_init(&usual);
	sampler->market.k[resource] = k != 0 ? k : usual.k[resource];
	if (resource == CANFS_DISK)
		sampler->k_of_disk_by_type = k == 0;
}

void canfs_sampler_hurry(struct canfs_sampler *sampler)
{
	uint64_t now_usec = canfs_now_usec();
	uint64_t earliest_usec = sampler->last_usec + CANFS_INTERVAL_MS_MIN * 1000;

	sampler->next_usec = now_usec > earliest_usec ? now_usec : earliest_usec;
	pthread_cond_signal(&sampler->wake);
}

int canfs_sampler_new(struct canfs_sampler **sampler, const struct canfs_sampler_config *config)
{
	struct canfs_sampler *new;

	if (config->interval_ms < CANFS_INTERVAL_MS_MIN ||
		config->interval_ms > CANFS_INTERVAL_MS_MAX)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->config = *config;
	new->config.setup.say = config->say;
	new->publish = config->publish;
	LIST_INIT(&new->price_tables);
	pthread_mutex_init(&new->mutex, NULL);
	canfs_steady_cond_init(&new->wake);
	canfs_market_init(&new->market);
	canfs_sampler_set_k(new, CANFS_DISK, config->k_disk);
	canfs_sampler_open_monitors(new->monitors, new, NULL);
	*sampler = new;
	return 0;
}

int canfs_sampler_start(struct canfs_sampler *sampler)
{
	int ret = canfs_thread_start(&sampler->thread, 0, run, sampler);

	sampler->runs = ret == 0;
	return ret;
}

void canfs_sampler_free(struct canfs_sampler *sampler)
{
	struct canfs_price_table *prices;

	if (!sampler)
		return;
	if (sampler->runs) {
		pthread_mutex_lock(&sampler->mutex);
		sampler->stop = true;
		pthread_cond_signal(&sampler->wake);
		pthread_mutex_unlock(&sampler->mutex);
		pthread_join(sampler->thread, NULL);
	}
	LIST_FOREACH (prices, &sampler->price_tables, link)
		prices->sampler = NULL;
	canfs_sampler_close_monitors(sampler->monitors);
	pthread_cond_destroy(&sampler->wake);
	pthread_mutex_destroy(&sampler->mutex);
	free(sampler);
}

void canfs_sampler_visit(struct canfs_sampler *sampler, uint64_t now_usec,
	void (*visit)(const struct canfs_price_table_view *view, void *arg), void *arg)
{
	struct canfs_price_table *prices;

	pthread_mutex_lock(&sampler->mutex);
	LIST_FOREACH (prices, &sampler->price_tables, link) {
		struct canfs_disk_work work;
		const struct canfs_price_table_view view = { .path = prices->name,
			.own = &prices->own,
			.market = &prices->market,
			.disk = disk_of(prices),
			.work = work_of(prices, &work),
			.backend_nominal = backend_nominal_of(prices),
			.quotes = prices->quotes,
			.publishes = is_fresh(prices->posted, now_usec),
			.history = &prices->history };

		visit(&view, arg);
	}
	pthread_mutex_unlock(&sampler->mutex);
}

bool canfs_sampler_memory(struct canfs_sampler *sampler, struct canfs_memory_view *view)
{
	const struct canfs_monitor *monitor = &sampler->monitors[CANFS_MEMORY];
	bool runs;

	pthread_mutex_lock(&sampler->mutex);
	runs = monitor->type;
	if (runs)
		canfs_memory_get_view(monitor->state, view);
	pthread_mutex_unlock(&sampler->mutex);
	return runs;
}

void canfs_sampler_setup(struct canfs_sampler *sampler, struct canfs_monitor_setup *setup)
{
	pthread_mutex_lock(&sampler->mutex);
	*setup = sampler->config.setup;
	pthread_mutex_unlock(&sampler->mutex);
}

void canfs_sampler_count(struct canfs_sampler *sampler, struct canfs_sampler_counters *counters)
{
	struct canfs_price_table *prices;

	pthread_mutex_lock(&sampler->mutex);
	*counters = (struct canfs_sampler_counters) { .steps = sampler->steps };
	LIST_FOREACH (prices, &sampler->price_tables, link) {
		counters->exports++;
		counters->replies_priced += prices->priced;
		counters->replies_without_price += prices->unpriced;
	}
	pthread_mutex_unlock(&sampler->mutex);
}
