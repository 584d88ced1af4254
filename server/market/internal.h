/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Internals of the sampler. sampler.c computes prices, price_table.c adds and removes exports,
 * settings.c changes settings.
 */
#ifndef CANFS_SERVER_MARKET_INTERNAL_H
#define CANFS_SERVER_MARKET_INTERNAL_H

#include <pthread.h>
#include <sys/queue.h>
#include "server/market/sampler.h"

struct canfs_price_table {
	LIST_ENTRY(canfs_price_table) link;
	struct canfs_sampler *sampler; /* NULL: it was freed */
	struct canfs_price_table
		*watched_by; /* has the monitors of the same disks; NULL: this one has them */
	struct canfs_monitor monitors[CANFS_RESOURCES]; /* of this export */
	struct canfs_disk_options own;
	char *name; /* the path as configured */
	char *path; /* as in canfs_monitor_setup */
	dev_t device;
	struct canfs_responses *responses; /* shared by all tables on one device */
	_Atomic uint64_t posted;           /* see pack() */
	_Atomic float own_readahead;
	_Atomic uint64_t priced, unpriced; /* replies read with and without a price */

	/* Results of the last step, under the sampler's mutex. */
	struct canfs_market market;
	struct canfs_quote quotes[CANFS_OPERATIONS];
	struct canfs_history history;
};

struct canfs_sampler {
	struct canfs_sampler_config config; /* as last given; publish and k may differ since */
	bool publish;
	bool drain;
	bool k_of_disk_by_type;     /* market.k applies only where the disk type is unknown */
	struct canfs_market market; /* from the shared monitors */
	struct canfs_monitor monitors[CANFS_RESOURCES];
	uint64_t last_usec; /* last step; 0: none yet */
	uint64_t next_usec; /* next step */
	uint64_t steps;
	void (*posted)(void *arg); /* NULL: no callback */
	void *posted_arg;
	pthread_mutex_t mutex; /* protects all members */
	pthread_cond_t wake;
	LIST_HEAD(, canfs_price_table) price_tables;
	pthread_t thread;
	bool runs;
	bool stop;
};

/*
 * Opens the configured monitors of the sampler (prices NULL) or of one price table. A price table
 * with watched_by needs none. Call it with the mutex held if the sampler is in use.
 */
void canfs_sampler_open_monitors(struct canfs_monitor *monitors,
	const struct canfs_sampler *sampler, const struct canfs_price_table *prices);
void canfs_sampler_close_monitors(struct canfs_monitor *monitors);
void canfs_sampler_sample_monitors(
	struct canfs_monitor *monitors, double elapsed_sec, struct canfs_market *market);

/* Reopens all monitors according to config and the price tables. Call it with the mutex held. */
void canfs_sampler_renew_monitors(struct canfs_sampler *sampler, uint64_t now_usec);

/*
 * Schedules a step soon, for a change to take effect. The step is not immediate, because nearly
 * nothing would have moved since the last one or since the monitors were reopened. Call it with the
 * mutex held.
 */
void canfs_sampler_hurry(struct canfs_sampler *sampler);

/* Copies the shared part of the market and sets this export's k. Call it with the mutex held. */
void canfs_price_table_enter_market(struct canfs_price_table *prices);

/* k 0: use the default. Call it with the mutex held. */
void canfs_sampler_set_k(struct canfs_sampler *sampler, enum canfs_resource resource, double k);

/* False if value is NaN. */
static inline bool canfs_is_within(double value, double least, double most)
{
	return value >= least && value <= most;
}

#endif
