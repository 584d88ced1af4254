/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The sampler computes and posts the server's prices. There is one sampler per server, and one
 * price table per export.
 *
 *	cpu, network, memory --.
 *	                        >-- market -- quotes --> price table of export A --> FSSTAT replies
 *	disks of export A -----'
 *
 * One thread samples all monitors once per interval (CA-NFS §3.3) and posts the quotes. A reply
 * reads its price table with one atomic load and never blocks. If the thread hangs, the quotes soon
 * become stale and the export publishes none.
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
	unsigned int interval_ms;         /* between two steps: CANFS_INTERVAL_MS, or a test's */
	bool publish;                     /* false: prices are computed but not posted */
	unsigned int monitors;            /* bit 1 << enum canfs_resource of each to run */
	double k_disk;                    /* 0: by the disk's type */
	struct canfs_monitor_setup setup; /* of all monitors; members of an export are ignored */
	canfs_say *say;
	void (*thread_begins)(void); /* called first in the thread; NULL: nothing to do */
	void (*stepped)(uint64_t
			now_usec); /* called in the thread after each step, no lock held; NULL: nothing to do */
};

/*
 * The interval of every server. Clients that act on old prices all act at once: prices one second
 * old make the backlog of many clients three to five times as large (doc/herd.md). A longer
 * interval would save little: 100 exports take 0.2 % of a processor (doc/scale.md).
 */
#define CANFS_INTERVAL_MS 100

/* Below MIN, a step measures noise; above MAX, quotes might be stale before the next step. */
#define CANFS_INTERVAL_MS_MIN 20
#define CANFS_INTERVAL_MS_MAX 1000

/* Quotes are stale after this time. */
#define CANFS_STALE_MS 2000

struct canfs_sampler;
struct canfs_price_table;

/*
 * Copies config and starts no thread. Returns 0, -EINVAL if the interval is out of range, or
 * -ENOMEM.
 */
int canfs_sampler_new(struct canfs_sampler **sampler, const struct canfs_sampler_config *config);

/* Starts the thread. Nothing is published without it. Returns 0 or -errno. */
int canfs_sampler_start(struct canfs_sampler *sampler);

/*
 * Stops the thread if it runs. NULL allowed. Price tables that are still open stay valid: exit(3)
 * may unload the plugin while workers still send replies.
 */
void canfs_sampler_free(struct canfs_sampler *sampler);

/*
 * One step, which the thread makes once per interval. now_usec is CLOCK_MONOTONIC. Public for the
 * tests.
 */
void canfs_sampler_step(struct canfs_sampler *sampler, uint64_t now_usec);

/*
 * Opens a price table for the export at path (copied) on the file system st_dev. device 0: none of
 * this machine. own: disk options that differ from the server's setup; NULL: none. Returns 0,
 * -ENOMEM, or -EINVAL if k is out of range.
 *
 * Opening and closing wait for a step in progress, which reads only /proc and /sys. If st_dev is
 * anonymous, opening first resolves the links in path and may hang with them. Only the caller waits
 * for that, and path is not accessed again.
 */
int canfs_price_table_open(struct canfs_price_table **prices, struct canfs_sampler *sampler,
	const char *path, dev_t device, const struct canfs_disk_options *own);

/*
 * Changes the disk options. Returns 1 if they differ, 0 if not, or -EINVAL if k is out of range,
 * with nothing changed. The sampler must still exist.
 */
int canfs_price_table_change(
	struct canfs_price_table *prices, const struct canfs_disk_options *own, uint64_t now_usec);
void canfs_price_table_close(struct canfs_price_table *prices); /* NULL allowed */

/* Counts the response times of the export's operations. Valid until the price table is closed. */
struct canfs_responses *canfs_price_table_responses(struct canfs_price_table *prices);

/*
 * Gets the last posted quotes for a reply, and counts the reply. Returns false and leaves *tag
 * unchanged if there are none, they are stale, or no monitor works. Never blocks.
 */
bool canfs_price_table_read(
	struct canfs_price_table *prices, uint64_t now_usec, struct canfs_tag *tag);

/* The same without counting a reply. */
bool canfs_price_table_peek(
	struct canfs_price_table *prices, uint64_t now_usec, struct canfs_tag *tag);

/* The quotes of all operations at full precision. Waits for a step in progress. */
bool canfs_price_table_quotes(
	struct canfs_price_table *prices, uint64_t now_usec, struct canfs_prices *quotes);

/*
 * True if the quotes set a write to CANFS_PRICE_MAX because of canfs_settings.drain. Never blocks.
 */
bool canfs_price_table_drains(struct canfs_price_table *prices);

/*
 * Calls posted(arg) after each step from now on, with the sampler's lock held, so posted() must not
 * block. NULL: no callback. On return the previous callback is not running and is not called again.
 */
void canfs_sampler_tell(struct canfs_sampler *sampler, void (*posted)(void *arg), void *arg);

/* Price of the server's own read-ahead at the last step, in [0, 1]. Never blocks. */
double canfs_price_table_own_readahead(struct canfs_price_table *prices);

/* Settings that an administrator may change while the server runs (control/control.h). */
struct canfs_settings {
	bool publish;
	bool drain;  /* a write is published at CANFS_PRICE_MAX, whatever its price */
	double pmax; /* highest price of a resource, [0, CANFS_PRICE_MAX]; pricing/market.h */
	double k[CANFS_RESOURCES]; /* [CANFS_NONE] is unused; [CANFS_DISK] 0: by its type */
};

/*
 * Both wait for the market's thread. The data path does not wait and keeps reading its price
 * tables. canfs_sampler_set() changes only the settings in which `after` differs from `before`,
 * which the caller has read. Changes that others made since then stay. Returns 0 and schedules a
 * step soon, or returns -EINVAL if a setting is out of range, with nothing changed.
 */
void canfs_sampler_settings(struct canfs_sampler *sampler, struct canfs_settings *settings);
int canfs_sampler_set(struct canfs_sampler *sampler, const struct canfs_settings *before,
	const struct canfs_settings *after);

/*
 * Applies a configuration that was read again, with a step soon. Changes only members that differ
 * from the previous configuration. Other settings from canfs_sampler_set() stay. interval_ms,
 * setup.ghosts, setup.say, say, thread_begins and stepped are ignored. If monitors change, all
 * monitors are reopened, and the posted prices stay until the next step. now_usec: as in
 * canfs_sampler_step(). Returns true if anything differs.
 */
bool canfs_sampler_reload(struct canfs_sampler *sampler, const struct canfs_sampler_config *config,
	uint64_t now_usec);

/* One export at the last step. */
struct canfs_price_table_view {
	const char *path;
	const struct canfs_disk_options *own;
	const struct canfs_market *market;
	const struct canfs_monitor_traits *disk; /* all zero: no disk is watched */
	const struct canfs_disk_work *work;      /* NULL: none, or watched for another export */
	double backend_nominal; /* see canfs_backend_nominal(); 0: no back end is watched */
	const struct canfs_quote *quotes; /* [CANFS_OPERATIONS], as computed, without drain */
	bool publishes;                   /* replies carry prices */
	const struct canfs_history *history;
};

/*
 * Calls visit() for each export with the sampler's lock held. visit() must not block or keep the
 * view.
 */
void canfs_sampler_visit(struct canfs_sampler *sampler, uint64_t now_usec,
	void (*visit)(const struct canfs_price_table_view *view, void *arg), void *arg);

/*
 * The components of the price of memory at the last step. Returns false if the monitor does not
 * run.
 */
struct canfs_memory_view; /* monitors.h */
bool canfs_sampler_memory(struct canfs_sampler *sampler, struct canfs_memory_view *view);

/* The setup of the server's monitors. Members of an export are not set. */
void canfs_sampler_setup(struct canfs_sampler *sampler, struct canfs_monitor_setup *setup);

/* Since the server started. */
struct canfs_sampler_counters {
	uint64_t exports;        /* now */
	uint64_t steps;          /* made by the market */
	uint64_t replies_priced; /* of the exports open now */
	uint64_t replies_without_price;
};

void canfs_sampler_count(struct canfs_sampler *sampler, struct canfs_sampler_counters *counters);

#endif
