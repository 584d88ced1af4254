// SPDX-License-Identifier: LGPL-3.0-or-later
/* Starts and stops the market, and puts the price tag into replies. */
#include "ganesha-fsal/price/price.h"

#include <errno.h>
#include <string.h>

#include "common/clock.h"

struct canfs_pricing canfs_pricing;

/*
 * CA-NFS §3.3: prices travel in replies that clients get anyway. The sub-FSAL's counts are tagged
 * with the prices of the export's price table and the premium of the client's class. Without fresh
 * prices, or if the counts cannot carry a tag, the counts go out unchanged.
 */
static fsal_status_t end_space(struct canfs_op *op, fsal_status_t status)
{
	const struct canfs_export_prices *prices = canfs_prices_of(canfs_export_here());
	fsal_dynamicfsinfo_t *info = op->space;
	struct canfs_space space;
	struct canfs_tag tag;

	if (FSAL_IS_ERROR(status) || !op->passed || !prices ||
		!canfs_price_table_read(prices->table, canfs_now_usec(), &tag))
		return status;
	canfs_add_premium(prices->table, &tag);
	space = (struct canfs_space) { .total_bytes = info->total_bytes,
		.free_bytes = info->free_bytes,
		.avail_bytes = info->avail_bytes };
	if (canfs_tag_encode(&space, &tag) == 0) {
		info->total_bytes = space.total_bytes;
		info->free_bytes = space.free_bytes;
		info->avail_bytes = space.avail_bytes;
	}
	return status;
}

static fsal_status_t begin_space(struct canfs_op *op)
{
	const struct canfs_export_prices *prices = canfs_prices_of(canfs_export_here());

	(void)op;
	if (prices)
		canfs_note_admitted(prices);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

/*
 * Applies pmax. It is not part of canfs_sampler_config, where 0 means the default. If the block has
 * the same value as before, a value that was set since is kept. before: NULL at the start. Returns
 * true if it changed.
 */
static bool change_pmax(
	const struct canfs_price_options *before, const struct canfs_price_options *now)
{
	struct canfs_settings found, wanted;

	if (before && now->pmax == before->pmax)
		return false;
	canfs_sampler_settings(canfs_pricing.sampler, &found);
	wanted = found;
	wanted.pmax = now->pmax;
	return canfs_sampler_set(canfs_pricing.sampler, &found, &wanted) == 0;
}

static bool watches_memory(const struct canfs_price_options *options)
{
	return (options->sampler.monitors & 1u << CANFS_MEMORY) != 0;
}

static int start_market(struct canfs_price_options *options)
{
	int ret;

	if (watches_memory(options))
		canfs_open_ghosts();
	options->sampler.setup.ghosts = canfs_pricing.ghosts;
	options->sampler.stepped = canfs_step_waiting;
	ret = canfs_sampler_new(&canfs_pricing.sampler, &options->sampler);
	if (ret != 0)
		return ret;
	canfs_set_classes(&options->classes);
	canfs_set_peers(&options->sampler.setup);
	(void)change_pmax(NULL, options);
	canfs_open_clients();
	return canfs_sampler_start(canfs_pricing.sampler);
}

/* If anything is wrong, files are served without prices. */
static void start(void *own, bool is_wrong)
{
	struct canfs_price_options *options = own;
	int ret;

	canfs_pricing.options = options;
	if (is_wrong) {
		LogCrit(COMPONENT_FSAL, "CANFS publishes no prices: the CANFS { } block is wrong");
		return;
	}
	ret = start_market(options);
	if (ret != 0) {
		LogCrit(COMPONENT_FSAL, "CANFS publishes no prices: %s", strerror(-ret));
		return;
	}
	canfs_start_price_service(options->price_port);
	canfs_start_control(options->control_socket);
}

static void stop(void)
{
	canfs_stop_control();
	canfs_stop_price_service();
	canfs_close_clients();
}

static void end(void)
{
	canfs_shared_classes_free(&canfs_pricing.classes);
	canfs_ghosts_free(canfs_pricing.ghosts);
	canfs_pricing.ghosts = NULL;
}

/*
 * Objects that are allocated at the start and used by all workers stay. Only the memory monitor
 * uses ghost caches.
 */
static bool needs_restart(
	const struct canfs_price_options *before, const struct canfs_price_options *now)
{
	return (watches_memory(now) && !canfs_pricing.ghosts) ||
	       before->price_port != now->price_port ||
	       strcmp(before->control_socket, now->control_socket) != 0;
}

/* Keeps the settings that need a restart. */
static void keep(struct canfs_price_options *before, struct canfs_price_options *now)
{
	gsh_free(now->control_socket);
	now->control_socket = before->control_socket;
	before->control_socket = NULL;
	now->price_port = before->price_port;
	canfs_pricing.options = now;
}

/* Classes get the current addresses of their names, even if nothing else has changed. */
static bool reload(void *running, void *read, bool names)
{
	struct canfs_price_options *before = running, *now = read;
	struct canfs_monitor_setup *setup = &now->sampler.setup;
	bool holds, changed;

	if (!canfs_pricing.sampler) {
		LogWarn(COMPONENT_FSAL, "CANFS publishes no prices until the server is restarted");
		canfs_pricing.options = now;
		return false;
	}
	holds = !needs_restart(before, now);
	changed = change_pmax(before, now);
	/* Keeps the port, because another port needs a restart. */
	setup->peer_port = before->price_port;
	if (setup->peer_port == 0)
		setup->peer_count = 0;
	if (canfs_sampler_reload(canfs_pricing.sampler, &now->sampler, canfs_now_usec()) || changed)
		canfs_log_event("the changes in CANFS { } are in effect");
	canfs_set_peers(setup);
	if (names)
		canfs_set_classes(&now->classes);
	if (!holds)
		LogWarn(COMPONENT_FSAL,
			"CANFS: a new Control_Socket or Price_Port, and the first memory in "
			"Monitors, need a restart");
	keep(before, now);
	return holds;
}

static struct canfs_disk_options disks_of(const struct canfs_price_export_options *own)
{
	return (struct canfs_disk_options) { .read_queue = own->disk_read_queue,
		.write_queue = own->disk_write_queue,
		.k = own->k };
}

/* If this fails, the export is served without prices. */
static void export_begins(struct canfs_export *export, const void *own)
{
	const char *path = CTX_FULLPATH(op_ctx);
	struct canfs_export_prices *prices;
	struct canfs_price_table *table;
	struct canfs_disk_options disks;

	if (!canfs_pricing.sampler)
		return;
	if (!own) {
		LogCrit(COMPONENT_FSAL, "CANFS: %s publishes no prices", path);
		return;
	}
	disks = disks_of(own);
	if (canfs_price_table_open(&table, canfs_pricing.sampler, path,
		    canfs_local_device(&export->export), &disks) != 0) {
		LogCrit(COMPONENT_FSAL, "CANFS: out of memory: %s publishes no prices", path);
		return;
	}
	export->part[CANFS_FEATURE_PRICE] = prices = gsh_calloc(1, sizeof(*prices));
	prices->table = table;
	prices->responses = canfs_price_table_responses(table);
	canfs_serve_prices(prices);
}

static void export_changes(struct canfs_export *export, const void *own)
{
	const char *path = CTX_FULLPATH(op_ctx);
	struct canfs_export_prices *prices = canfs_prices_of(export);
	struct canfs_disk_options disks;

	if (prices)
		canfs_admit_anew(prices);
	if (!own || !canfs_pricing.sampler)
		return;
	if (!prices) {
		LogWarn(COMPONENT_FSAL,
			"CANFS: %s publishes no prices until the server is restarted", path);
		return;
	}
	disks = disks_of(own);
	if (canfs_price_table_change(prices->table, &disks, canfs_now_usec()) > 0)
		LogEvent(COMPONENT_FSAL, "CANFS: the new disk options of %s are in effect", path);
}

static void export_ends(struct canfs_export *export)
{
	struct canfs_export_prices *prices = canfs_prices_of(export);

	if (!prices)
		return;
	canfs_unserve_prices(prices);
	canfs_price_table_close(prices->table);
	gsh_free(prices);
}

/*
 * Data that is read ahead and then requested costs no more than it would have cost later, and often
 * less. The accounts of read/prefetch/account.h bound the cost of data that is read in vain. So the
 * highest price only halves the distance.
 */
static double readahead_scale(const struct canfs_export *export)
{
	const struct canfs_export_prices *prices = canfs_prices_of(export);

	return prices ? 1 - canfs_price_table_own_readahead(prices->table) / 2 : 1;
}

static double write_price(const struct canfs_export *export)
{
	const struct canfs_export_prices *prices = canfs_prices_of(export);
	struct canfs_tag tag;

	if (!prices || !canfs_price_table_peek(prices->table, canfs_now_usec(), &tag))
		return 0;
	canfs_add_premium(prices->table, &tag);
	return tag.write;
}

static const struct canfs_load load = {
	.readahead_scale = readahead_scale,
	.write_price = write_price,
	.steps_aside = canfs_client_steps_aside,
	.fetched_ahead = canfs_note_fetched,
	.others_in_flight = canfs_others_in_flight,
	.measure_others = canfs_measure_clients,
};

const struct canfs_feature canfs_feature_price = {
	.options = { canfs_price_items, sizeof(struct canfs_price_options) },
	.export_options = { canfs_price_export_items, sizeof(struct canfs_price_export_options) },
	.retired = canfs_price_retired,
	.prepare = canfs_price_prepare,
	.settle = canfs_price_settle,
	.forget = canfs_price_forget,
	.start = start,
	.stop = stop,
	.end = end,
	.reload = reload,
	.export_begins = export_begins,
	.export_changes = export_changes,
	.export_ends = export_ends,
	.before = { [CANFS_OP_SPACE] = begin_space,
		[CANFS_OP_READ] = canfs_begin_read,
		[CANFS_OP_WRITE] = canfs_begin_write,
		[CANFS_OP_COMMIT] = canfs_begin_commit },
	.after = { [CANFS_OP_SPACE] = end_space,
		[CANFS_OP_READ] = canfs_end_read,
		[CANFS_OP_WRITE] = canfs_end_write,
		[CANFS_OP_COMMIT] = canfs_end_write },
	.load = &load,
};
