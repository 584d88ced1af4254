// SPDX-License-Identifier: LGPL-3.0-or-later
/* What changes while the exchange runs: by the control socket, or since the configuration was read again. */
#include "ganesha-fsal/monitors/exchange_parts.h"

#include <errno.h>
#include <string.h>
#include "pricing/price.h"
#include "protocol/clock.h"

bool canfs_is_interval(unsigned int interval_ms)
{
	return interval_ms >= CANFS_INTERVAL_MS_MIN && interval_ms <= CANFS_INTERVAL_MS_MAX;
}

bool canfs_is_within(double value, double least, double most)
{
	return value >= least && value <= most;
}

void canfs_exchange_set_k(struct canfs_exchange *exchange, enum canfs_resource resource, double k)
{
	struct canfs_market usual;

	canfs_market_init(&usual);
	exchange->market.k[resource] = k != 0 ? k : usual.k[resource];
	if (resource == CANFS_DISK)
		exchange->k_of_disk_by_type = k == 0;
}

void canfs_exchange_settings(struct canfs_exchange *exchange, struct canfs_settings *settings)
{
	pthread_mutex_lock(&exchange->mutex);
	*settings = (struct canfs_settings) { .interval_ms = exchange->interval_ms,
		.publish = exchange->publish,
		.drain = exchange->drain,
		.pmax = exchange->market.pmax };
	memcpy(settings->k, exchange->market.k, sizeof(settings->k));
	if (exchange->k_of_disk_by_type)
		settings->k[CANFS_DISK] = 0;
	memcpy(settings->weight, exchange->market.weight, sizeof(settings->weight));
	pthread_mutex_unlock(&exchange->mutex);
}

void canfs_exchange_hurry(struct canfs_exchange *exchange)
{
	uint64_t now_usec = canfs_now_usec();
	uint64_t earliest_usec = exchange->last_usec + CANFS_INTERVAL_MS_MIN * 1000;

	exchange->next_usec = now_usec > earliest_usec ? now_usec : earliest_usec;
	pthread_cond_signal(&exchange->wake);
}

static bool are_in_range(const struct canfs_settings *settings)
{
	if (!canfs_is_interval(settings->interval_ms) ||
		!canfs_is_within(settings->pmax, 0, CANFS_PRICE_MAX))
		return false;
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		bool by_type = i == CANFS_DISK && settings->k[i] == 0;

		if ((!by_type && !canfs_is_within(settings->k[i], CANFS_K_MIN, CANFS_K_MAX)) ||
			!canfs_is_within(settings->weight[i], 0, 1))
			return false;
	}
	return true;
}

int canfs_exchange_set(struct canfs_exchange *exchange, const struct canfs_settings *before,
	const struct canfs_settings *after)
{
	if (!are_in_range(after))
		return -EINVAL;
	pthread_mutex_lock(&exchange->mutex);
	if (after->interval_ms != before->interval_ms)
		exchange->interval_ms = after->interval_ms;
	if (after->publish != before->publish)
		exchange->publish = after->publish;
	if (after->drain != before->drain)
		exchange->drain = after->drain;
	if (after->pmax != before->pmax)
		exchange->market.pmax = after->pmax;
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		if (after->k[i] != before->k[i])
			canfs_exchange_set_k(exchange, (enum canfs_resource)i, after->k[i]);
		if (after->weight[i] != before->weight[i])
			exchange->market.weight[i] = after->weight[i];
	}
	canfs_exchange_hurry(exchange);
	pthread_mutex_unlock(&exchange->mutex);
	return 0;
}

static bool same_monitors(
	const struct canfs_exchange_config *one, const struct canfs_exchange_config *other)
{
	const struct canfs_monitor_setup *a = &one->setup, *b = &other->setup;

	return one->monitors == other->monitors && a->link_mbit_per_sec == b->link_mbit_per_sec &&
	       a->disk_read_queue == b->disk_read_queue &&
	       a->disk_write_queue == b->disk_write_queue &&
	       a->interface_count == b->interface_count &&
	       memcmp(a->interfaces, b->interfaces,
		       a->interface_count * sizeof(a->interfaces[0])) == 0;
}

/*
 * Their first reading is taken here, since it is only to compare with: what was posted before stands until the next
 * step, and there is no moment without prices.
 */
void canfs_exchange_renew_monitors(struct canfs_exchange *exchange, uint64_t now_usec)
{
	struct canfs_market first = exchange->market;
	struct canfs_board *board;
	double elapsed_sec;

	/* A step may have come since the caller looked at the clock. */
	if (now_usec <= exchange->last_usec)
		now_usec = exchange->last_usec + 1;
	elapsed_sec = (double)(now_usec - exchange->last_usec) / 1e6;
	canfs_exchange_close_monitors(exchange->monitors);
	memset(exchange->market.known, 0, sizeof(exchange->market.known));
	canfs_exchange_open_monitors(exchange->monitors, exchange, NULL);
	canfs_exchange_sample_monitors(exchange->monitors, elapsed_sec, &first);
	LIST_FOREACH (board, &exchange->boards, link) {
		if (board->watched_by != NULL)
			continue;
		canfs_exchange_close_monitors(board->monitors);
		canfs_exchange_open_monitors(board->monitors, exchange, board);
		canfs_exchange_sample_monitors(board->monitors, elapsed_sec, &first);
	}
	exchange->last_usec = now_usec;
}

static void change_monitors(struct canfs_exchange *exchange,
	const struct canfs_exchange_config *config, uint64_t now_usec)
{
	struct canfs_ghosts *ghosts = exchange->config.setup.ghosts;

	exchange->config.monitors = config->monitors;
	exchange->config.setup = config->setup;
	exchange->config.setup.ghosts = ghosts;
	canfs_exchange_renew_monitors(exchange, now_usec);
}

/* What was set over the socket and stands in the file as before, stays. */
static bool change_settings(
	struct canfs_exchange *exchange, const struct canfs_exchange_config *config)
{
	struct canfs_exchange_config *old = &exchange->config;
	bool changed = config->interval_ms != old->interval_ms || config->publish != old->publish;

	if (config->interval_ms != old->interval_ms)
		exchange->interval_ms = config->interval_ms;
	if (config->publish != old->publish)
		exchange->publish = config->publish;
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		if (config->k[i] == old->k[i])
			continue;
		canfs_exchange_set_k(exchange, (enum canfs_resource)i, config->k[i]);
		changed = true;
	}
	old->interval_ms = config->interval_ms;
	old->publish = config->publish;
	memcpy(old->k, config->k, sizeof(old->k));
	return changed;
}

int canfs_exchange_reload(struct canfs_exchange *exchange,
	const struct canfs_exchange_config *config, uint64_t now_usec)
{
	bool changed;

	if (!canfs_is_interval(config->interval_ms))
		return -EINVAL;
	pthread_mutex_lock(&exchange->mutex);
	changed = change_settings(exchange, config);
	if (!same_monitors(config, &exchange->config)) {
		change_monitors(exchange, config, now_usec);
		changed = true;
	}
	if (changed)
		canfs_exchange_hurry(exchange);
	pthread_mutex_unlock(&exchange->mutex);
	return changed;
}
