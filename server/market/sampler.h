/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The sampler: where the server's prices are made and posted. One per server, with one price table for
 * each export.
 *
 *	cpu, network, memory --.
 *	                        >-- market -- quotes --> price table of export A --> FSSTAT replies
 *	disks of export A -----'
 *
 * One thread samples all monitors once per interval (CA-NFS §3.3) and posts the quotes. A reply
 * reads its price table with one atomic load: it never waits, and if the thread stands still the quotes
 * are soon too old and the export publishes none.
 */
#ifndef CANFS_SERVER_MARKET_SAMPLER_H
#define CANFS_SERVER_MARKET_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "server/market/history.h"
#include "server/monitors/monitor.h"
#include "protocol/price_message.h"
#include "protocol/tag.h"

struct canfs_sampler_config {
	unsigned int interval_ms;  /* between two prices; CANFS_INTERVAL_MS_MIN ... MAX */
	bool publish;              /* false: prices are made, price tables stay empty */
	unsigned int monitors;     /* bit 1 << enum canfs_resource of each that runs */
	double k[CANFS_RESOURCES]; /* 0: by the type of the device, or the market's default */
	struct canfs_monitor_setup setup; /* of all monitors; what is of an export is not used */
	canfs_say *say;
	void (*thread_begins)(void); /* called first in the thread; NULL: nothing to do */
	void (*stepped)(uint64_t
			now_usec); /* called in the thread after each step, without a lock; NULL: likewise */
};

#define CANFS_INTERVAL_MS_MIN 20
#define CANFS_INTERVAL_MS_MAX 10000

/* Quotes older than this many intervals, but at least so long, are not published. */
#define CANFS_STALE_INTERVALS 5
#define CANFS_STALE_MS_MIN    2000

struct canfs_sampler;
struct canfs_price_table;

/* 0, -EINVAL (interval out of range), -ENOMEM. Starts no thread; config is copied. */
int canfs_sampler_new(struct canfs_sampler **sampler, const struct canfs_sampler_config *config);

/* Starts the thread. 0 or -errno; nothing is published without it. */
int canfs_sampler_start(struct canfs_sampler *sampler);

/*
 * Stops the thread, if it runs. NULL allowed. A price table that is still open stays as it is: a server
 * that ends in a hurry (exit(3) in the middle of its work) unloads us while replies are made.
 */
void canfs_sampler_free(struct canfs_sampler *sampler);

/* What the thread does once per interval; now_usec is CLOCK_MONOTONIC. For the tests. */
void canfs_sampler_step(struct canfs_sampler *sampler, uint64_t now_usec);

/*
 * A price table for the export at path (copied) on the file system st_dev; 0: none of this machine. own: how its disks
 * differ from what the server's setup has; NULL: in nothing. 0, -ENOMEM, -EINVAL (k out of range).
 * Opening and closing wait for a step that is in progress, which reads /proc and /sys only. Opening follows the
 * links in path first, if st_dev is anonymous, and may hang with them: nobody waits for that but the caller, and
 * path is not looked at again.
 */
int canfs_price_table_open(struct canfs_price_table **prices, struct canfs_sampler *sampler,
	const char *path, dev_t device, const struct canfs_disk_options *own);

/*
 * Its disks are said to be other ones now; otherwise as canfs_sampler_reload(). While the sampler is there.
 */
int canfs_price_table_change(
	struct canfs_price_table *prices, const struct canfs_disk_options *own, uint64_t now_usec);
void canfs_price_table_close(struct canfs_price_table *prices); /* NULL allowed */

/* To be told what the export's operations take; there until it is closed. */
struct canfs_responses *canfs_price_table_responses(struct canfs_price_table *prices);

/*
 * The quotes posted last, for a reply, which is counted. False, with *tag untouched, if there are none, they are too old, or no
 * monitor works. Never waits.
 */
bool canfs_price_table_read(
	struct canfs_price_table *prices, uint64_t now_usec, struct canfs_tag *tag);

/* The same, not for a reply. */
bool canfs_price_table_peek(
	struct canfs_price_table *prices, uint64_t now_usec, struct canfs_tag *tag);

/* The same at full precision, of all operations. Waits for a step that is in progress. */
bool canfs_price_table_quotes(
	struct canfs_price_table *prices, uint64_t now_usec, struct canfs_prices *quotes);

/* Do these have a write at CANFS_PRICE_MAX, whatever it costs (canfs_settings.drain)? Never waits. */
bool canfs_price_table_drains(struct canfs_price_table *prices);

/*
 * From now on posted(arg) is called after each step, under the sampler's lock: it must not wait. NULL: nobody is; then it
 * is not being called any more, either.
 */
void canfs_sampler_tell(struct canfs_sampler *sampler, void (*posted)(void *arg), void *arg);

/* [0, 1]: what the server's own read-ahead costs, as made last. Never waits. */
double canfs_price_table_own_readahead(struct canfs_price_table *prices);

/* What an administrator may change while the server runs (control/control.h). */
struct canfs_settings {
	unsigned int interval_ms;
	bool publish;
	bool drain;                /* a write is published at CANFS_PRICE_MAX, whatever it costs */
	double pmax;               /* of all prices, [0, CANFS_PRICE_MAX]; pricing/market.h */
	double k[CANFS_RESOURCES]; /* [CANFS_NONE] is not used; [CANFS_DISK] 0: by its type */
	double weight[CANFS_RESOURCES]; /* [0, 1]; likewise */
};

/*
 * Both take effect on, and wait for, the market's thread only: the data path goes on reading its
 * price table. canfs_sampler_set() changes what differs from before, which the caller has seen, and leaves what others
 * may have changed since. 0 and a step soon, or -EINVAL (out of range), nothing changed.
 */
void canfs_sampler_settings(struct canfs_sampler *sampler, struct canfs_settings *settings);
int canfs_sampler_set(struct canfs_sampler *sampler, const struct canfs_settings *before,
	const struct canfs_settings *after);

/*
 * The configuration was read again: what differs from what was given before takes effect, with a step soon;
 * what canfs_sampler_set() changed stays otherwise. setup.ghosts, say and thread_begins are not looked at.
 * If monitors change, all of them begin anew, while what is posted stands; now_usec as in
 * canfs_sampler_step(). 1: it differs, 0: it does not, -EINVAL (out of range): nothing changed.
 */
int canfs_sampler_reload(struct canfs_sampler *sampler, const struct canfs_sampler_config *config,
	uint64_t now_usec);

/* One export as of the last step. */
struct canfs_price_table_view {
	const char *path;
	const struct canfs_disk_options *own;
	const struct canfs_market *market;
	const struct canfs_monitor_traits *disk; /* all zero: none is watched */
	const struct canfs_disk_work *work;      /* NULL: none is, or for another export */
	double backend_nominal; /* as canfs_backend_nominal(); 0: no back end is watched */
	const struct canfs_quote *quotes; /* [CANFS_OPERATIONS], as made: drain does not show */
	bool publishes;                   /* its replies carry prices */
	const struct canfs_history *history;
};

/* visit() sees each export under the sampler's lock: it must not wait, nor keep the view. */
void canfs_sampler_visit(struct canfs_sampler *sampler, uint64_t now_usec,
	void (*visit)(const struct canfs_price_table_view *view, void *arg), void *arg);

/* What the price of memory was made of at the last step. False: its monitor does not run. */
struct canfs_memory_view; /* monitors.h */
bool canfs_sampler_memory(struct canfs_sampler *sampler, struct canfs_memory_view *view);

/* What the monitors of the server were told; what is of an export is not used. */
void canfs_sampler_setup(struct canfs_sampler *sampler, struct canfs_monitor_setup *setup);

/* Since the start. */
struct canfs_sampler_counters {
	uint64_t exports;        /* now */
	uint64_t steps;          /* of the market */
	uint64_t late_steps;     /* begun more than one interval too late */
	uint64_t replies_priced; /* of the exports that there are now */
	uint64_t replies_without_price;
};

void canfs_sampler_count(struct canfs_sampler *sampler, struct canfs_sampler_counters *counters);

#endif
