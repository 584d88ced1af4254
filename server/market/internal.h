/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The inside of the sampler: for sampler.c, which makes prices, price_table.c, for which exports, and settings.c, which
 * changes how.
 */
#ifndef CANFS_SERVER_MARKET_INTERNAL_H
#define CANFS_SERVER_MARKET_INTERNAL_H

#include <pthread.h>
#include <sys/queue.h>
#include "server/market/sampler.h"

struct canfs_price_table {
	LIST_ENTRY(canfs_price_table) link;
	struct canfs_sampler *sampler;   /* NULL: it is gone */
	_Atomic unsigned int stale_msec; /* how old may posted be */
	struct canfs_price_table
		*watched_by; /* has the monitors of these very disks; NULL: they are here */
	struct canfs_monitor monitors[CANFS_RESOURCES]; /* those of this export */
	struct canfs_disk_options own;
	char *name; /* its path, as the configuration has it */
	char *path; /* as in canfs_monitor_setup */
	dev_t device;
	struct canfs_responses *responses; /* shared by all on one device */
	_Atomic uint64_t posted;           /* see pack() */
	_Atomic float own_readahead;
	_Atomic uint64_t priced, unpriced; /* reads of the price table */

	/* Of the last step, under the sampler's mutex. */
	struct canfs_market market;
	struct canfs_quote quotes[CANFS_OPERATIONS];
	struct canfs_history history;
};

struct canfs_sampler {
	struct canfs_sampler_config
		config; /* as given last; the next three as they were set since */
	unsigned int interval_ms;
	bool publish;
	bool drain;
	bool k_of_disk_by_type;     /* the market's holds only where the type is not known */
	struct canfs_market market; /* of the shared monitors */
	struct canfs_monitor monitors[CANFS_RESOURCES];
	uint64_t last_usec; /* of the last step; 0: there was none */
	uint64_t next_usec; /* when the next one is due */
	uint64_t steps, late_steps;
	void (*posted)(void *arg); /* NULL: nobody is told */
	void *posted_arg;
	pthread_mutex_t mutex; /* all of it */
	pthread_cond_t wake;
	LIST_HEAD(, canfs_price_table) price_tables;
	pthread_t thread;
	bool runs;
	bool stop;
};

/*
 * Those of the sampler (prices NULL), or of one price table, that are wanted. Under the mutex, once it is there.
 * A price table that is watched by another needs none.
 */
void canfs_sampler_open_monitors(struct canfs_monitor *monitors,
	const struct canfs_sampler *sampler, const struct canfs_price_table *prices);
void canfs_sampler_close_monitors(struct canfs_monitor *monitors);
void canfs_sampler_sample_monitors(
	struct canfs_monitor *monitors, double elapsed_sec, struct canfs_market *market);

/* All monitors begin anew, with what config and price tables say. Under the mutex. */
void canfs_sampler_renew_monitors(struct canfs_sampler *sampler, uint64_t now_usec);

/*
 * A step soon: the interval before may have been long. Not at once: next to nothing would have moved. Under the
 * mutex.
 */
void canfs_sampler_hurry(struct canfs_sampler *sampler);

/* The shared part of the market, and what differs from export to export. Under the mutex. */
void canfs_price_table_enter_market(struct canfs_price_table *prices);

/* 0 is nobody's wish: the default then. Under the mutex. */
void canfs_sampler_set_k(struct canfs_sampler *sampler, enum canfs_resource resource, double k);

static inline bool canfs_is_interval(unsigned int interval_ms)
{
	return interval_ms >= CANFS_INTERVAL_MS_MIN && interval_ms <= CANFS_INTERVAL_MS_MAX;
}

/* False for NaN. */
static inline bool canfs_is_within(double value, double least, double most)
{
	return value >= least && value <= most;
}

#endif
