// SPDX-License-Identifier: LGPL-3.0-or-later
/* Changes at run time, from the control socket or from a configuration that was read again. */
#include "server/market/internal.h"

#include <errno.h>
#include <string.h>
#include "pricing/price.h"
#include "common/clock.h"

void canfs_sampler_tell(struct canfs_sampler *sampler, void (*posted)(void *arg), void *arg)
{
	pthread_mutex_lock(&sampler->mutex);
	sampler->posted = posted;
	sampler->posted_arg = arg;
	pthread_mutex_unlock(&sampler->mutex);
}

void canfs_sampler_settings(struct canfs_sampler *sampler, struct canfs_settings *settings)
{
	pthread_mutex_lock(&sampler->mutex);
	*settings = (struct canfs_settings) {
		.publish = sampler->publish, .drain = sampler->drain, .pmax = sampler->market.pmax
	};
	memcpy(settings->k, sampler->market.k, sizeof(settings->k));
	if (sampler->k_of_disk_by_type)
		settings->k[CANFS_DISK] = 0;
	pthread_mutex_unlock(&sampler->mutex);
}

static bool are_in_range(const struct canfs_settings *settings)
{
	if (!canfs_is_within(settings->pmax, 0, CANFS_PRICE_MAX))
		return false;
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		bool by_type = i == CANFS_DISK && settings->k[i] == 0;

		if (!by_type && !canfs_is_within(settings->k[i], CANFS_K_MIN, CANFS_K_MAX))
			return false;
	}
	return true;
}

int canfs_sampler_set(struct canfs_sampler *sampler, const struct canfs_settings *before,
	const struct canfs_settings *after)
{
	if (!are_in_range(after))
		return -EINVAL;
	pthread_mutex_lock(&sampler->mutex);
	if (after->publish != before->publish)
		sampler->publish = after->publish;
	if (after->drain != before->drain)
		sampler->drain = after->drain;
	if (after->pmax != before->pmax)
		sampler->market.pmax = after->pmax;
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		if (after->k[i] != before->k[i])
			canfs_sampler_set_k(sampler, (enum canfs_resource)i, after->k[i]);
	}
	canfs_sampler_hurry(sampler);
	pthread_mutex_unlock(&sampler->mutex);
	return 0;
}

static bool same_monitors(
	const struct canfs_sampler_config *one, const struct canfs_sampler_config *other)
{
	const struct canfs_monitor_setup *a = &one->setup, *b = &other->setup;

	return one->monitors == other->monitors && a->link_mbit_per_sec == b->link_mbit_per_sec &&
	       a->disk_read_queue == b->disk_read_queue &&
	       a->disk_write_queue == b->disk_write_queue &&
	       a->interface_count == b->interface_count &&
	       memcmp(a->interfaces, b->interfaces,
		       a->interface_count * sizeof(a->interfaces[0])) == 0 &&
	       a->peer_port == b->peer_port && a->peer_count == b->peer_count &&
	       memcmp(a->peers, b->peers, a->peer_count * sizeof(a->peers[0])) == 0;
}

/*
 * Takes the first sample of each monitor here, because a first sample only serves as a reference.
 * The posted prices stay until the next step, so there are always prices.
 */
void canfs_sampler_renew_monitors(struct canfs_sampler *sampler, uint64_t now_usec)
{
	struct canfs_market first = sampler->market;
	struct canfs_price_table *prices;
	double elapsed_sec;

	/* A step may have run since the caller read the clock. */
	if (now_usec <= sampler->last_usec)
		now_usec = sampler->last_usec + 1;
	elapsed_sec = (double)(now_usec - sampler->last_usec) / 1e6;
	canfs_sampler_close_monitors(sampler->monitors);
	memset(sampler->market.known, 0, sizeof(sampler->market.known));
	canfs_sampler_open_monitors(sampler->monitors, sampler, NULL);
	canfs_sampler_sample_monitors(sampler->monitors, elapsed_sec, &first);
	LIST_FOREACH (prices, &sampler->price_tables, link) {
		if (prices->watched_by)
			continue;
		canfs_sampler_close_monitors(prices->monitors);
		canfs_sampler_open_monitors(prices->monitors, sampler, prices);
		canfs_sampler_sample_monitors(prices->monitors, elapsed_sec, &first);
	}
	sampler->last_usec = now_usec;
}

static void change_monitors(
	struct canfs_sampler *sampler, const struct canfs_sampler_config *config, uint64_t now_usec)
{
	struct canfs_ghosts *ghosts = sampler->config.setup.ghosts;

	sampler->config.monitors = config->monitors;
	sampler->config.setup = config->setup;
	sampler->config.setup.ghosts = ghosts;
	sampler->config.setup.say = sampler->config.say;
	canfs_sampler_renew_monitors(sampler, now_usec);
}

/* A setting that is the same in the file as before keeps its value from the control socket. */
static bool change_settings(
	struct canfs_sampler *sampler, const struct canfs_sampler_config *config)
{
	struct canfs_sampler_config *old = &sampler->config;
	bool changed = config->publish != old->publish || config->k_disk != old->k_disk;

	if (config->publish != old->publish)
		sampler->publish = config->publish;
	if (config->k_disk != old->k_disk)
		canfs_sampler_set_k(sampler, CANFS_DISK, config->k_disk);
	old->publish = config->publish;
	old->k_disk = config->k_disk;
	return changed;
}

bool canfs_sampler_reload(
	struct canfs_sampler *sampler, const struct canfs_sampler_config *config, uint64_t now_usec)
{
	bool changed;

	pthread_mutex_lock(&sampler->mutex);
	changed = change_settings(sampler, config);
	if (!same_monitors(config, &sampler->config)) {
		change_monitors(sampler, config, now_usec);
		changed = true;
	}
	if (changed)
		canfs_sampler_hurry(sampler);
	pthread_mutex_unlock(&sampler->mutex);
	return changed;
}
