// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Adds and removes exports. If several exports are on the same disks, one has the monitors and the
 * others read its utilization.
 */
#include "server/monitors/devices.h"
#include "server/market/internal.h"
#include "server/monitors/responses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pricing/price.h"

static bool have_same_queues(
	const struct canfs_disk_options *one, const struct canfs_disk_options *other)
{
	return one->read_queue == other->read_queue && one->write_queue == other->write_queue;
}

static struct canfs_price_table *find_watcher(const struct canfs_price_table *prices)
{
	struct canfs_price_table *other;

	if (prices->device == 0)
		return NULL; /* unknown disks are not shared */
	LIST_FOREACH (other, &prices->sampler->price_tables, link) {
		if (!other->watched_by && other->device == prices->device &&
			have_same_queues(&other->own, &prices->own))
			return other;
	}
	return NULL;
}

/* The first price table that used these monitors takes them over, and now serves the others. */
static void hand_over(struct canfs_price_table *prices)
{
	struct canfs_price_table *other, *heir = NULL;

	LIST_FOREACH (other, &prices->sampler->price_tables, link) {
		if (other->watched_by != prices)
			continue;
		other->watched_by = heir;
		if (!heir)
			heir = other;
	}
	if (!heir)
		return;
	memcpy(heir->monitors, prices->monitors, sizeof(heir->monitors));
	memset(prices->monitors, 0, sizeof(prices->monitors));
	for (int i = 0; i < CANFS_RESOURCES; i++)
		canfs_monitor_rename(&heir->monitors[i], heir->name);
}

/* Call enter() and leave() with the mutex held. */
static void enter(struct canfs_price_table *prices)
{
	struct canfs_sampler *sampler = prices->sampler;

	prices->watched_by = find_watcher(prices);
	if (!prices->watched_by) {
		canfs_sampler_open_monitors(prices->monitors, sampler, prices);
		LIST_INSERT_HEAD(&sampler->price_tables, prices, link);
	} else {
		LIST_INSERT_AFTER(prices->watched_by, prices, link);
	}
	canfs_price_table_enter_market(prices);
}

static void leave(struct canfs_price_table *prices)
{
	LIST_REMOVE(prices, link);
	hand_over(prices);
	canfs_sampler_close_monitors(prices->monitors);
}

/* Call this with the mutex held, before inserting prices into the list. */
static void share_responses(struct canfs_price_table *prices)
{
	const struct canfs_price_table *other;

	LIST_FOREACH (other, &prices->sampler->price_tables, link) {
		if (prices->device == 0 || other->device != prices->device)
			continue;
		free(prices->responses);
		prices->responses = other->responses;
		break;
	}
	prices->responses->price_tables++;
}

/* Call this with the mutex held, if there still is a sampler. */
static void release_responses(struct canfs_price_table *prices)
{
	if (--prices->responses->price_tables == 0)
		free(prices->responses);
}

static void free_price_table(struct canfs_price_table *prices)
{
	free(prices->name);
	free(prices->path);
	free(prices);
}

static bool are_possible(const struct canfs_disk_options *own)
{
	return own->k == 0 || canfs_is_within(own->k, CANFS_K_MIN, CANFS_K_MAX);
}

int canfs_price_table_open(struct canfs_price_table **prices, struct canfs_sampler *sampler,
	const char *path, dev_t device, const struct canfs_disk_options *own)
{
	struct canfs_monitor_setup setup;
	char resolved[PATH_MAX];
	struct canfs_price_table *new;

	if (own && !are_possible(own))
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->sampler = sampler;
	if (own)
		new->own = *own;
	new->device = device;
	new->name = strdup(path);
	if (canfs_is_anonymous(device)) {
		/* Before locking the mutex, because this may hang and others must not wait. */
		canfs_sampler_setup(sampler, &setup);
		canfs_resolve_path(setup.root, path, resolved);
		path = resolved;
	}
	new->path = strdup(path);
	new->responses = calloc(1, sizeof(*new->responses));
	if (!new->name || !new->path || !new->responses) {
		free(new->responses);
		free_price_table(new);
		return -ENOMEM;
	}
	pthread_mutex_lock(&sampler->mutex);
	share_responses(new);
	enter(new);
	pthread_mutex_unlock(&sampler->mutex);
	*prices = new;
	return 0;
}

int canfs_price_table_change(
	struct canfs_price_table *prices, const struct canfs_disk_options *own, uint64_t now_usec)
{
	struct canfs_sampler *sampler = prices->sampler;
	bool same_monitor, changed;

	if (!are_possible(own))
		return -EINVAL;
	pthread_mutex_lock(&sampler->mutex);
	same_monitor = have_same_queues(&prices->own, own);
	changed = !same_monitor || prices->own.k != own->k;
	if (!same_monitor)
		leave(prices);
	prices->own = *own;
	if (!same_monitor) {
		enter(prices);
		canfs_sampler_renew_monitors(sampler, now_usec);
	}
	if (changed)
		canfs_sampler_hurry(sampler);
	pthread_mutex_unlock(&sampler->mutex);
	return changed;
}

void canfs_price_table_close(struct canfs_price_table *prices)
{
	struct canfs_sampler *sampler;

	if (!prices)
		return;
	sampler = prices->sampler;
	if (sampler) {
		pthread_mutex_lock(&sampler->mutex);
		leave(prices);
		release_responses(prices);
		pthread_mutex_unlock(&sampler->mutex);
	} else {
		canfs_sampler_close_monitors(prices->monitors);
		release_responses(prices);
	}
	free_price_table(prices);
}

struct canfs_responses *canfs_price_table_responses(struct canfs_price_table *prices)
{
	return prices->responses;
}
