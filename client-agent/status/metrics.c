// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/status/metrics.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "client-agent/status/metric.h"
#include "client-agent/status/server_metrics.h"

/* To add a metric, add a row with the path to its value in the reply that status.md describes. */
static const struct canfs_metric of_agent[] = {
	{ "canfs_enforcing", "gauge",
		"Whether the agent changes the kernel's settings (mode = enforce).", "mode", NULL,
		0 },
	{ "canfs_blind", "gauge", "Whether /proc cannot be read.", "blind", NULL, 0 },
	{ "canfs_memory_guarded", "gauge", "Whether data is sent at any price to free memory.",
		"memory.guarded", NULL, 0 },
	{ "canfs_hold_bound_bytes", "gauge", "Limit of deferred data on all mounts.",
		"hold.bound_bytes", NULL, 0 },
	{ "canfs_flushing_point_raised", "gauge", "Whether the kernel's dirty limits are raised.",
		"flushing_point.raised", NULL, 0 },
	{ "canfs_mounts_left_out", "gauge", "NFS mounts beyond the agent's limit.",
		"mounts_left_out", NULL, 0 },
	{ "canfs_mounts_left_alone", "gauge",
		"NFS mounts that are not managed: Kerberos, TLS, or an unusable line in the mount "
		"table.",
		"mounts_left_alone", NULL, 0 },
};

static const struct canfs_metric of_mount[] = {
	{ "canfs_server_price", "gauge", "Price of the server; absent if it publishes none.",
		"price.write", "operation=\"write\"", 0 },
	{ "canfs_server_price", NULL, NULL, "price.read_ahead", "operation=\"read_ahead\"", 0 },
	{ "canfs_network_price", "gauge",
		"Price of this client's own network; absent if it is not watched.", "network.write",
		"operation=\"write\"", 0 },
	{ "canfs_network_price", NULL, NULL, "network.read_ahead", "operation=\"read_ahead\"", 0 },
	{ "canfs_own_price", "gauge", "Own price of this client.", "own.write",
		"operation=\"write\"", 0 },
	{ "canfs_own_price", NULL, NULL, "own.read_ahead", "operation=\"read_ahead\"", 0 },
	{ "canfs_verdict", "gauge", "Verdict of the auction: 0 hold, 1 accelerate, 2 defer.",
		"verdict.write", "operation=\"write\"", 0 },
	{ "canfs_verdict", NULL, NULL, "verdict.read_ahead", "operation=\"read_ahead\"", 0 },
	{ "canfs_mount_held_bytes", "gauge", "Data written, but not yet on the server's disk.",
		"held_bytes", NULL, 0 },
	{ "canfs_deferred_seconds_total", "counter", "Time during which held data was deferred.",
		"deferred_sec", NULL, 0 },
	{ "canfs_read_ahead_bytes", "gauge", "read_ahead_kb, in bytes.", "read_ahead_kib.now", NULL,
		1024 },
	{ "canfs_read_ahead_confidence", "gauge",
		"Share of the fetched data that applications read.", "confidence", NULL, 0 },
	{ "canfs_publishes", "gauge", "Whether the server is recognized as a canfs server.",
		"poller.publishes", NULL, 0 },
	{ "canfs_price_failures_total", "counter", "Price requests without an answer.",
		"poller.failures", NULL, 0 },
	{ "canfs_accelerate_errors_total", "counter",
		"Failed opens, scans and syncs while accelerating.", "accelerate_errors", NULL, 0 },
};

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/*
 * Returns true if another mount is stacked on mount i. Only the top one is visible, and a series
 * must not occur twice.
 */
static bool is_covered(const json_t *mounts, size_t i)
{
	const json_t *place = json_object_get(json_array_get(mounts, i), "mountpoint");

	while (++i < json_array_size(mounts)) {
		if (json_equal(place, json_object_get(json_array_get(mounts, i), "mountpoint")))
			return true;
	}
	return false;
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static void print_info(FILE *out, const json_t *mount)
{
	static const char *const names[] = { "mountpoint", "server", "version", "sec" };
	struct canfs_label labels[ROWS(names)];

	for (size_t i = 0; i < ROWS(names); i++)
		labels[i] = (struct canfs_label) { names[i], text_of(mount, names[i]) };
	labels[0].name = "mount";
	canfs_metric_info(out, "canfs_mount_info", labels, ROWS(labels));
}

static void print_all(FILE *out, const json_t *status, const json_t *mounts)
{
	for (size_t i = 0; i < ROWS(of_agent); i++) {
		canfs_metric_head(out, &of_agent[i]);
		canfs_metric_print(out, &of_agent[i], status, NULL, 0);
	}
	fputs("# HELP canfs_mount_info A managed mount.\n# TYPE canfs_mount_info gauge\n", out);
	for (size_t i = 0; i < json_array_size(mounts); i++)
		print_info(out, json_array_get(mounts, i));
	for (size_t i = 0; i < ROWS(of_mount); i++) {
		canfs_metric_head(out, &of_mount[i]);
		for (size_t j = 0; j < json_array_size(mounts); j++) {
			const json_t *mount = json_array_get(mounts, j);
			const struct canfs_label label = { "mount", text_of(mount, "mountpoint") };

			canfs_metric_print(out, &of_mount[i], mount, &label, 1);
		}
	}
}

char *canfs_metrics_text(const json_t *status, const json_t *servers)
{
	const json_t *all = json_object_get(status, "mounts");
	json_t *mounts = json_array();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool complete;

	for (size_t i = 0; i < json_array_size(all); i++) {
		if (!is_covered(all, i))
			json_array_append(mounts, json_array_get(all, i));
	}
	if (out && mounts)
		print_all(out, status, mounts);
	if (out)
		canfs_server_metrics_print(out, servers);
	json_decref(mounts);
	complete = out && mounts && !ferror(out);
	if (out && fclose(out) == 0 && complete)
		return text;
	free(text);
	return NULL;
}
