// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/status/server_metrics.h"

#include "client-agent/status/metric.h"
#include "pricing/market.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* To add a metric, add a row with the path to its value in a reply of server/control.md. */
static const struct canfs_metric of_server[] = {
	{ "canfs_server_up", "gauge", "Whether a price server on this host answers.", "up", NULL,
		0 },
	{ "canfs_server_exports", "gauge", "Exports with prices.", "counters.exports", NULL, 0 },
	{ "canfs_server_subscribers", "gauge", "Clients that receive pushed prices.",
		"counters.subscribers", NULL, 0 },
	{ "canfs_server_delegations", "gauge", "Files with a delegation.", "counters.delegations",
		NULL, 0 },
	{ "canfs_server_delegations_granted_total", "counter", "Delegations granted.",
		"counters.delegations_granted", NULL, 0 },
	{ "canfs_server_delegations_recalled_total", "counter", "Delegations recalled.",
		"counters.delegations_recalled", NULL, 0 },
	{ "canfs_server_write_errors_total", "counter", "Writes that did not reach the disk.",
		"counters.write_errors", NULL, 0 },
	{ "canfs_server_memory_dirty_ratio", "gauge",
		"Dirty pages and pages in write-back, divided by the kernel's dirty limit.",
		"prices.memory.dirty", NULL, 0 },
	{ "canfs_server_memory_pressure_ratio", "gauge",
		"Share of the last ten seconds in which a task waited for memory.",
		"prices.memory.pressure", NULL, 0 },
	{ "canfs_server_read_cache_hit_ratio", "gauge", "Hit ratio of the page cache.",
		"prices.memory.read_cache.hit", NULL, 0 },
	{ "canfs_server_reads_waiting", "gauge", "Reads that wait for the disk.",
		"prefetch.waiting", NULL, 0 },
	{ "canfs_server_prefetch_evicted_bytes_total", "counter",
		"Bytes read ahead, but evicted from the page cache before they were requested.",
		"prefetch.evicted_bytes", NULL, 0 },
};

static const struct canfs_metric of_export[] = {
	{ "canfs_export_publishes", "gauge", "Whether replies carry prices.", "publishes", NULL,
		0 },
	{ "canfs_export_price", "gauge", "Price of an operation, 0 to 1.", "operations.write.price",
		"operation=\"write\"", 0 },
	{ "canfs_export_price", NULL, NULL, "operations.read_ahead.price",
		"operation=\"read_ahead\"", 0 },
};

/* One row for each resource, after a row that only has the type and help. */
#define OF_RESOURCE(metric, name, member)                                                          \
	{ metric, NULL, NULL, "resources." #name member, "resource=\"" #name "\"", 0 },
#define PRICE_OF(NAME, name) OF_RESOURCE("canfs_export_resource_price", name, ".price")
#define UTILIZATION_OF(NAME, name)                                                                 \
	OF_RESOURCE("canfs_export_resource_utilization_ratio", name, ".utilization")

static const struct canfs_metric of_resource_price[] = {
	{ "canfs_export_resource_price", "gauge", "Price of a resource, 0 to 1.", "", NULL, 0 },
	CANFS_RESOURCE_ROWS(PRICE_OF)
};

static const struct canfs_metric of_resource_utilization[] = {
	{ "canfs_export_resource_utilization_ratio", "gauge",
		"Utilization of a resource, from which the market computes its price.", "", NULL,
		0 },
	CANFS_RESOURCE_ROWS(UTILIZATION_OF)
};

static const struct canfs_metric of_client[] = {
	{ "canfs_client_bytes_total", "counter",
		"Bytes of the clients with the highest load, since they entered the table.",
		"read_bytes", "op=\"read\"", 0 },
	{ "canfs_client_bytes_total", NULL, NULL, "write_bytes", "op=\"write\"", 0 },
};

/* For sums over the last minute (server/control.md). */
#define OF_WINDOW (1.0 / 60)

static const struct canfs_metric of_bully[] = {
	{ "canfs_client_imposed_waiting_ratio", "gauge",
		"Seconds per second that other clients waited for this one, averaged over the last "
		"minute, by cause.",
		"cause.read", "cause=\"read\"", OF_WINDOW },
	{ "canfs_client_imposed_waiting_ratio", NULL, NULL, "cause.read_ahead",
		"cause=\"read_ahead\"", OF_WINDOW },
	{ "canfs_client_imposed_waiting_ratio", NULL, NULL, "cause.write_back",
		"cause=\"write_back\"", OF_WINDOW },
	{ "canfs_client_imposed_waiting_ratio", NULL, NULL, "cause.sync", "cause=\"sync\"",
		OF_WINDOW },
};

static const struct canfs_metric of_victim[] = {
	{ "canfs_client_suffered_waiting_ratio", "gauge",
		"Seconds per second that this client waited for others, averaged over the last "
		"minute, by operation.",
		"waiting.read", "op=\"read\"", OF_WINDOW },
	{ "canfs_client_suffered_waiting_ratio", NULL, NULL, "waiting.write", "op=\"write\"",
		OF_WINDOW },
	{ "canfs_client_suffered_waiting_ratio", NULL, NULL, "waiting.commit", "op=\"commit\"",
		OF_WINDOW },
};

static const struct canfs_metric of_disk[] = {
	{ "canfs_disk_prefetch_bytes_total", "counter", "Bytes read ahead, by outcome.",
		"table.fetched_bytes", "what=\"fetched\"", 0 },
	{ "canfs_disk_prefetch_bytes_total", NULL, NULL, "table.used_bytes", "what=\"used\"", 0 },
	{ "canfs_disk_prefetch_bytes_total", NULL, NULL, "table.wasted_bytes", "what=\"wasted\"",
		0 },
};

/*
 * Parts of a server that occur several times: where their list is, and which member is their label.
 */
static const struct part {
	const struct canfs_metric *rows;
	size_t rows_n;
	const char *reply, *list;
	size_t most;
	const char *label, *member;
} parts[] = {
	{ of_export, ROWS(of_export), "prices", "exports", CANFS_SERVER_EXPORTS_MAX, "export",
		"export" },
	{ of_resource_price, ROWS(of_resource_price), "prices", "exports", CANFS_SERVER_EXPORTS_MAX,
		"export", "export" },
	{ of_resource_utilization, ROWS(of_resource_utilization), "prices", "exports",
		CANFS_SERVER_EXPORTS_MAX, "export", "export" },
	{ of_client, ROWS(of_client), "clients", "clients", CANFS_SERVER_CLIENTS_MAX, "client",
		"address" },
	{ of_bully, ROWS(of_bully), "who", "bullies", CANFS_SERVER_CLIENTS_MAX, "client", "bully" },
	{ of_victim, ROWS(of_victim), "who", "victims", CANFS_SERVER_CLIENTS_MAX, "client",
		"victim" },
	{ of_disk, ROWS(of_disk), "prefetch", "devices", CANFS_SERVER_DISKS_MAX, "device",
		"device" },
};

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static const json_t *list_of(const json_t *server, const struct part *part)
{
	return json_object_get(json_object_get(server, part->reply), part->list);
}

static size_t shown(const json_t *list, const struct part *part)
{
	size_t n = json_array_size(list);

	return n < part->most ? n : part->most;
}

static void print_part(
	FILE *out, const struct canfs_metric *row, const json_t *server, const struct part *part)
{
	const json_t *list = list_of(server, part);

	for (size_t i = 0; i < shown(list, part); i++) {
		const json_t *object = json_array_get(list, i);
		const struct canfs_label labels[] = {
			{ "server", text_of(server, "server") },
			{ part->label, text_of(object, part->member) },
		};

		canfs_metric_print(out, row, object, labels, ROWS(labels));
	}
}

/* Prints which resource makes a write expensive. */
static void print_bottlenecks(FILE *out, const json_t *server)
{
	const json_t *list = list_of(server, &parts[0]);

	for (size_t i = 0; i < shown(list, &parts[0]); i++) {
		const json_t *object = json_array_get(list, i);
		const char *bottleneck =
			text_of(json_object_get(json_object_get(object, "operations"), "write"),
				"bottleneck");
		const struct canfs_label labels[] = {
			{ "server", text_of(server, "server") },
			{ "export", text_of(object, "export") },
			{ "resource", bottleneck },
		};

		if (bottleneck)
			canfs_metric_info(out, "canfs_export_bottleneck", labels, ROWS(labels));
	}
}

void canfs_server_metrics_print(FILE *out, const json_t *servers)
{
	size_t n = json_array_size(servers);

	for (size_t i = 0; n != 0 && i < ROWS(of_server); i++) {
		canfs_metric_head(out, &of_server[i]);
		for (size_t j = 0; j < n; j++) {
			const json_t *server = json_array_get(servers, j);
			const struct canfs_label label = { "server", text_of(server, "server") };

			canfs_metric_print(out, &of_server[i], server, &label, 1);
		}
	}
	for (size_t p = 0; n != 0 && p < ROWS(parts); p++) {
		for (size_t i = 0; i < parts[p].rows_n; i++) {
			canfs_metric_head(out, &parts[p].rows[i]);
			for (size_t j = 0; j < n; j++)
				print_part(out, &parts[p].rows[i], json_array_get(servers, j),
					&parts[p]);
		}
	}
	if (n != 0)
		fputs("# HELP canfs_export_bottleneck The resource that sets the price of a "
		      "write.\n# TYPE canfs_export_bottleneck gauge\n",
			out);
	for (size_t j = 0; j < n; j++)
		print_bottlenecks(out, json_array_get(servers, j));
}
