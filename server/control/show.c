// SPDX-License-Identifier: LGPL-3.0-or-later
/* The commands that only show: prices, history, clients, counters, config. */
#include "server/control/request.h"
#include "server/monitors/monitors.h"

#include <math.h>
#include <string.h>
#include "common/address.h"

/* The JSON name has no hyphen, as in the output of canfsctl price. */
static const char *operation_name(enum canfs_operation operation)
{
	return operation == CANFS_READAHEAD ? "read_ahead" : canfs_operation_name(operation);
}

/* Six decimals are more than prices are accurate to. */
static double rounded(double share)
{
	return round(share * 1e6) / 1e6;
}

static json_t *show_resource(const struct canfs_market *market, enum canfs_resource resource)
{
	if (!market->known[resource])
		return json_pack(
			"{s:n, s:n, s:f}", "utilization", "price", "k", market->k[resource]);
	return json_pack("{s:f, s:f, s:f}", "utilization", rounded(market->utilization[resource]),
		"price", rounded(canfs_market_price(market, resource)), "k", market->k[resource]);
}

static json_t *show_quote(struct canfs_quote quote)
{
	if (quote.bottleneck == CANFS_NONE)
		return json_pack("{s:n, s:n}", "price", "bottleneck");
	return json_pack("{s:f, s:s}", "price", rounded(quote.price), "bottleneck",
		canfs_resource_name(quote.bottleneck));
}

/* The disk's type and nominal queue depths, which determine its price. */
static void add_disk(json_t *shown, const struct canfs_monitor_traits *disk)
{
	if (disk->type)
		json_object_update_new(shown,
			json_pack("{s:s, s:f, s:f}", "type", disk->type, "nominal_reads",
				disk->nominal_reads, "nominal_writes", disk->nominal_writes));
}

static json_t *show_export(const struct canfs_price_table_view *view)
{
	json_t *resources = json_object(), *operations = json_object();

	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++)
		json_object_set_new(resources, canfs_resource_name((enum canfs_resource)i),
			show_resource(view->market, (enum canfs_resource)i));
	add_disk(json_object_get(resources, canfs_resource_name(CANFS_DISK)), view->disk);
	if (view->backend_nominal > 0)
		json_object_set_new(json_object_get(resources, canfs_resource_name(CANFS_BACKEND)),
			"nominal_operations", json_real(rounded(view->backend_nominal)));
	for (int i = 0; i < CANFS_OPERATIONS; i++)
		json_object_set_new(operations, operation_name((enum canfs_operation)i),
			show_quote(view->quotes[i]));
	return json_pack("{s:o, s:b, s:o, s:o}", "export", canfs_control_text(view->path),
		"publishes", view->publishes, "resources", resources, "operations", operations);
}

/* The components of the price of memory. null if the monitor does not run. */
static json_t *show_memory(struct canfs_sampler *sampler)
{
	struct canfs_memory_view view;
	json_t *cache = NULL, *dirty;

	if (!canfs_sampler_memory(sampler, &view))
		return json_null();
	dirty = isnan(view.dirty_share) ? json_null() : json_real(rounded(view.dirty_share));
	if (view.has_ghosts)
		cache = json_pack("{s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:I}", "bytes",
			(json_int_t)view.cache_bytes, "hit_less", rounded(view.forecast.hit_less),
			"hit", rounded(view.forecast.hit), "hit_more",
			rounded(view.forecast.hit_more), "utilization",
			rounded(view.forecast.utilization), "ghost_used_bytes",
			(json_int_t)view.usage.used_bytes, "ghost_memory_bytes",
			(json_int_t)view.usage.memory_bytes, "missed_reads",
			(json_int_t)view.usage.missed_reads);
	return json_pack("{s:o, s:f, s:o}", "dirty", dirty, "pressure", rounded(view.pressure),
		"read_cache", cache ? cache : json_null());
}

/* Limit for one reply: an export takes half a KiB. */
#define PRICES_MAX 1000

struct price_visit {
	const char *export; /* NULL: all */
	unsigned int limit, left_out;
	json_t *shown;
};

static void visit_prices(const struct canfs_price_table_view *view, void *arg)
{
	struct price_visit *visit = arg;

	if (visit->export && strcmp(visit->export, view->path) != 0)
		return;
	/* The sampler is locked during the visit, so build no more than the reply shows. */
	if (json_array_size(visit->shown) < visit->limit)
		json_array_append_new(visit->shown, show_export(view));
	else
		visit->left_out++;
}

static json_t *no_export(struct canfs_control_call *call, const char *export)
{
	return canfs_control_refuse(
		call, "export: there is no '%.128s'; \"prices\" lists the paths", export);
}

json_t *canfs_control_prices(struct canfs_control_call *call)
{
	struct price_visit visit = { .left_out = 0 };
	struct canfs_settings settings;

	if (!canfs_control_string(call, "export", &visit.export) ||
		!canfs_control_count(call, "limit", PRICES_MAX, PRICES_MAX, &visit.limit))
		return NULL;
	visit.shown = json_array();
	canfs_sampler_visit(canfs_control_subject_of(call)->sampler, call->now.monotonic_usec,
		visit_prices, &visit);
	if (visit.export && json_array_size(visit.shown) == 0) {
		json_decref(visit.shown);
		return no_export(call, visit.export);
	}
	canfs_sampler_settings(canfs_control_subject_of(call)->sampler, &settings);
	return json_pack("{s:b, s:b, s:f, s:o, s:o, s:i}", "publish", settings.publish, "drain",
		settings.drain, "pmax", settings.pmax, "memory",
		show_memory(canfs_control_subject_of(call)->sampler), "exports", visit.shown,
		"left_out", (int)visit.left_out);
}

struct history_visit {
	const char *export; /* NULL: allowed if there is only one */
	unsigned int seconds;
	struct canfs_control_time now;
	unsigned int found;
	json_t *path, *rows;
};

static json_t *show_row(const struct canfs_history_row *row, double unix_sec)
{
	json_t *shown = json_pack("[f, f, f, f, s]", unix_sec, rounded(row->write),
		rounded(row->write_peak), rounded(row->readahead),
		canfs_resource_name(row->bottleneck));

	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++)
		json_array_append_new(shown,
			row->known[i] ? json_real(rounded(row->utilization[i])) : json_null());
	return shown;
}

static void visit_history(const struct canfs_price_table_view *view, void *arg)
{
	struct history_visit *visit = arg;
	uint64_t now_usec = visit->now.monotonic_usec;
	struct canfs_history_row row;

	if (visit->export && strcmp(visit->export, view->path) != 0)
		return;
	if (visit->found++ != 0)
		return;
	visit->path = canfs_control_text(view->path);
	/* Oldest first, for plotting. */
	for (size_t age = CANFS_HISTORY_ROWS; age-- > 0;) {
		double ago_sec;

		if (!canfs_history_get(view->history, now_usec, age, &row))
			continue;
		ago_sec = (double)now_usec / 1e6 - row.second;
		if (ago_sec <= visit->seconds + 1)
			json_array_append_new(
				visit->rows, show_row(&row, visit->now.unix_sec - ago_sec));
	}
}

json_t *canfs_control_history(struct canfs_control_call *call)
{
	struct history_visit visit = { .now = call->now };
	json_t *columns;

	if (!canfs_control_string(call, "export", &visit.export) ||
		!canfs_control_count(
			call, "seconds", CANFS_HISTORY_SEC, CANFS_HISTORY_SEC, &visit.seconds))
		return NULL;
	visit.rows = json_array();
	canfs_sampler_visit(canfs_control_subject_of(call)->sampler, call->now.monotonic_usec,
		visit_history, &visit);
	if (visit.found == 0 || (!visit.export && visit.found > 1)) {
		json_decref(visit.path);
		json_decref(visit.rows);
		if (visit.export)
			return no_export(call, visit.export);
		return canfs_control_refuse(call,
			"export: there are %u; name one by its path from \"prices\"", visit.found);
	}
	columns = json_pack(
		"[s, s, s, s, s]", "time", "write", "write_peak", "read_ahead", "bottleneck");
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++)
		json_array_append_new(
			columns, json_string(canfs_resource_name((enum canfs_resource)i)));
	return json_pack(
		"{s:o, s:o, s:o}", "export", visit.path, "columns", columns, "rows", visit.rows);
}

static json_t *show_sum(const struct canfs_client_sum *sum)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "reads",
		(json_int_t)sum->operations[CANFS_CLIENT_READ], "writes",
		(json_int_t)sum->operations[CANFS_CLIENT_WRITE], "read_bytes",
		(json_int_t)sum->bytes[CANFS_CLIENT_READ], "write_bytes",
		(json_int_t)sum->bytes[CANFS_CLIENT_WRITE]);
}

/* The classes in effect. */
static struct canfs_classes classes_of(const struct canfs_control_call *call)
{
	struct canfs_shared_classes *shared = canfs_control_subject_of(call)->classes;
	struct canfs_classes classes = { .count = 0 };

	if (shared)
		canfs_shared_classes_copy(shared, &classes);
	return classes;
}

static void add_class(json_t *shown, const struct canfs_class *client_class)
{
	json_object_set_new(
		shown, "class", client_class ? json_string(client_class->name) : json_null());
	json_object_set_new(shown, "premium_percent",
		json_integer(client_class ? client_class->premium_pct : 0));
}

static json_t *show_client(const struct canfs_client_row *row, const struct canfs_classes *classes)
{
	json_t *shown = show_sum(&row->sum);
	char address[INET6_ADDRSTRLEN];

	json_object_update_new(
		shown, json_pack("{s:s, s:f, s:f, s:f, s:f}", "address",
			       canfs_print_address(&row->address, address), "reads_per_sec",
			       row->operations_per_sec[CANFS_CLIENT_READ], "writes_per_sec",
			       row->operations_per_sec[CANFS_CLIENT_WRITE], "read_bytes_per_sec",
			       row->bytes_per_sec[CANFS_CLIENT_READ], "write_bytes_per_sec",
			       row->bytes_per_sec[CANFS_CLIENT_WRITE]));
	add_class(shown, canfs_classes_find(classes, &row->address));
	return shown;
}

json_t *canfs_control_clients(struct canfs_control_call *call)
{
	struct canfs_client_row rows[CANFS_CLIENTS_MAX];
	struct canfs_client_sum others;
	struct canfs_classes classes;
	unsigned int top;
	json_t *shown;
	size_t count;

	if (!canfs_control_count(call, "top", CANFS_CLIENTS_MAX, 20, &top))
		return NULL;
	if (!canfs_control_subject_of(call)->clients)
		return json_pack("{s:n, s:n}", "clients", "forgotten");
	count = canfs_clients_top(canfs_control_subject_of(call)->clients, rows, top, &others);
	classes = classes_of(call);
	shown = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(shown, show_client(&rows[i], &classes));
	return json_pack("{s:o, s:o}", "clients", shown, "forgotten", show_sum(&others));
}

/* An empty object if there is no price service. */
static json_t *show_price_service(struct canfs_price_service *service)
{
	struct canfs_price_service_counters counters;
	const struct canfs_subscribers_counters *of_table = &counters.of_table;

	if (!service)
		return json_object();
	canfs_price_service_count(service, &counters);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "subscribers",
		(json_int_t)of_table->subscribers, "subscriptions_displaced",
		(json_int_t)of_table->displaced, "price_calls", (json_int_t)counters.calls,
		"price_calls_malformed", (json_int_t)counters.malformed, "price_calls_denied",
		(json_int_t)counters.denied, "price_pushes", (json_int_t)counters.pushes,
		"price_datagrams_unsent", (json_int_t)counters.unsent);
}

json_t *canfs_control_show_counters(struct canfs_control_call *call)
{
	json_t *shown;
	const struct canfs_control_counters *control = canfs_control_subject_of(call)->counters;
	const struct canfs_shared_classes *classes = canfs_control_subject_of(call)->classes;
	struct canfs_sampler_counters sampler;

	canfs_sampler_count(canfs_control_subject_of(call)->sampler, &sampler);
	shown = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "exports",
		(json_int_t)sampler.exports, "market_steps", (json_int_t)sampler.steps,
		"replies_priced", (json_int_t)sampler.replies_priced, "replies_without_price",
		(json_int_t)sampler.replies_without_price, "replies_with_premium",
		(json_int_t)(classes ? classes->told : 0), "connections_refused",
		(json_int_t)control->connections_refused, "requests", (json_int_t)control->requests,
		"requests_bad", (json_int_t)control->requests_bad, "history_bytes",
		(json_int_t)(sampler.exports * sizeof(struct canfs_history)));
	json_object_update_new(
		shown, json_pack("{s:s, s:f}", "version", CANFS_VERSION, "uptime_sec",
			       (double)(call->now.monotonic_usec -
					canfs_control_subject_of(call)->started_usec) /
				       1e6));
	json_object_update_new(
		shown, show_price_service(canfs_control_subject_of(call)->price_service));
	if (canfs_control_subject_of(call)->count)
		canfs_control_subject_of(call)->count(shown);
	return shown;
}

/* 0: the server finds out the value itself. */
static json_t *show_option(double value)
{
	if (value == 0)
		return json_null();
	return value == floor(value) ? json_integer((json_int_t)value) : json_real(value);
}

struct config_visit {
	const struct canfs_monitor_setup *setup;
	json_t *shown;
};

static void visit_config(const struct canfs_price_table_view *view, void *arg)
{
	const struct config_visit *visit = arg;
	const struct canfs_disk_options *own = view->own;

	json_array_append_new(visit->shown,
		json_pack("{s:o, s:o, s:o, s:o}", "export", canfs_control_text(view->path),
			"Disk_Read_Queue",
			show_option(own->read_queue != 0 ? own->read_queue
							 : visit->setup->disk_read_queue),
			"Disk_Write_Queue",
			show_option(own->write_queue != 0 ? own->write_queue
							  : visit->setup->disk_write_queue),
			"K_Disk", show_option(own->k)));
}

static json_t *show_networks(const struct canfs_classes *classes, size_t begin, size_t end)
{
	json_t *shown = json_array();
	char text[CANFS_NETWORK_TEXT_MAX];

	for (size_t i = begin; i < end; i++)
		json_array_append_new(
			shown, json_string(canfs_network_print(&classes->network[i], text)));
	return shown;
}

static json_t *show_classes(const struct canfs_classes *classes)
{
	json_t *shown = json_array();
	size_t begin = 0;

	for (size_t i = 0; i < classes->count; i++) {
		const struct canfs_class *client_class = &classes->list[i];

		json_array_append_new(
			shown, json_pack("{s:s, s:i, s:o}", "Name", client_class->name, "Premium",
				       client_class->premium_pct, "Clients",
				       show_networks(classes, begin, client_class->end)));
		begin = client_class->end;
	}
	return shown;
}

/*
 * Shows options by their configuration names. Settings that can be changed at runtime are shown by
 * "set".
 */
json_t *canfs_control_show_config(struct canfs_control_call *call)
{
	struct canfs_classes classes = classes_of(call);
	struct canfs_monitor_setup setup;
	struct config_visit visit = { .setup = &setup, .shown = json_array() };
	json_t *interfaces = json_array(), *peers = json_array();
	char address[INET6_ADDRSTRLEN];

	canfs_sampler_setup(canfs_control_subject_of(call)->sampler, &setup);
	for (size_t i = 0; i < setup.interface_count; i++)
		json_array_append_new(interfaces, canfs_control_text(setup.interfaces[i]));
	for (size_t i = 0; i < setup.peer_count; i++)
		json_array_append_new(
			peers, json_string(canfs_print_address(&setup.peers[i], address)));
	canfs_sampler_visit(canfs_control_subject_of(call)->sampler, call->now.monotonic_usec,
		visit_config, &visit);
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "Interfaces", interfaces, "Link_Speed",
		show_option(setup.link_mbit_per_sec), "Peers", peers, "Class",
		show_classes(&classes), "exports", visit.shown);
}
