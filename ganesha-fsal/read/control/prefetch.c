// SPDX-License-Identifier: LGPL-3.0-or-later
/* The commands that show the prefetcher, and that choose the order in which disks are read. */
#include "ganesha-fsal/read/control/prefetch.h"
#include "ganesha-fsal/read/prefetch/prefetcher.h"
#include "ganesha-fsal/read/scheduler/policy.h"
#include "server/control/request.h"

#include <stdio.h>
#include <string.h>

/* Returns the prefetcher. NULL: there is none, and the call was refused. */
static struct canfs_prefetcher *prefetcher_of(struct canfs_control_call *call)
{
	struct canfs_prefetcher *prefetcher = canfs_control_subject_of(call)->host;

	if (!prefetcher)
		canfs_control_refuse(call, "prefetching is off: see Prefetch in CANFS { }");
	return prefetcher;
}

static json_t *show_kind(const struct canfs_engine_stats *engine, enum canfs_fetch_kind kind)
{
	double done = (double)engine->done[kind];

	return json_pack("{s:I, s:I, s:f, s:f}", "done", (json_int_t)engine->done[kind], "bytes",
		(json_int_t)engine->bytes[kind], "wait_msec_mean",
		done > 0 ? (double)engine->wait_nsec_sum[kind] / done / 1e6 : 0, "wait_msec_max",
		(double)engine->wait_nsec_max[kind] / 1e6);
}

static json_t *show_files(const struct canfs_files_stats *files)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "files", (json_int_t)files->files,
		"cursors", (json_int_t)files->cursors, "reads", (json_int_t)files->reads, "matched",
		(json_int_t)files->matched, "fetched_bytes", (json_int_t)files->fetched_bytes,
		"used_bytes", (json_int_t)files->used_bytes, "wasted_bytes",
		(json_int_t)files->wasted_bytes);
}

static void visit_device(const struct canfs_device_view *view, void *devices)
{
	const struct canfs_engine_stats *engine = &view->engine;
	json_t *shown = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:b}", "device", view->name,
		"type", view->type, "scheduler", engine->policy, "depth", (int)engine->depth,
		"waiting", (int)engine->waiting, "in_kernel", (int)engine->in_kernel,
		"orders_streams", view->orders_streams);

	json_object_update_new(shown,
		json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:b, s:o}", "demand",
			show_kind(engine, CANFS_FETCH_DEMAND), "prefetch",
			show_kind(engine, CANFS_FETCH_PREFETCH), "refused",
			(json_int_t)engine->refused, "cancelled", (json_int_t)engine->cancelled,
			"failed", (json_int_t)engine->failed, "joined", (json_int_t)engine->joined,
			"io_uring", strcmp(engine->backend, "io_uring") == 0, "table",
			show_files(&view->files)));
	json_array_append_new(devices, shown);
}

static json_t *show_prefetch(struct canfs_control_call *call)
{
	struct canfs_prefetcher *prefetcher = prefetcher_of(call);
	struct canfs_prefetcher_stats stats;
	json_t *devices;

	if (!prefetcher)
		return NULL;
	canfs_prefetcher_stats(prefetcher, &stats);
	devices = json_array();
	canfs_prefetcher_visit(prefetcher, visit_device, devices);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:f, s:I, s:I, s:I, s:I, s:I, s:o}",
		"reads_at_once", (json_int_t)stats.reads[CANFS_READ_AT_ONCE], "reads_inline",
		(json_int_t)stats.reads[CANFS_READ_INLINE], "reads_stream",
		(json_int_t)stats.reads[CANFS_READ_STREAM], "reads_held",
		(json_int_t)stats.reads[CANFS_READ_HELD], "reads_delayed",
		(json_int_t)stats.reads[CANFS_READ_DELAYED], "reads_let_through",
		(json_int_t)stats.reads_let_through, "waiting", (int)stats.waiting, "headroom",
		stats.headroom, "evicted_bytes", (json_int_t)stats.evicted_bytes, "files_open",
		(json_int_t)stats.fd_cache.open, "files_opened", (json_int_t)stats.fd_cache.opened,
		"files_displaced", (json_int_t)stats.fd_cache.displaced, "files_failed",
		(json_int_t)stats.fd_cache.failed, "devices", devices);
}

static void visit_scheduler(const struct canfs_device_view *view, void *devices)
{
	json_array_append_new(devices, json_pack("{s:s, s:s, s:s}", "device", view->name, "type",
					       view->type, "scheduler", view->engine.policy));
}

/* "auto, fifo, ..." */
static void list_policies(char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "auto");

	for (size_t i = 0; canfs_policies[i] && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, ", %s", canfs_policies[i]->name);
}

static json_t *choose_scheduler(struct canfs_control_call *call)
{
	const json_t *given = json_object_get(call->request, "policy");
	struct canfs_prefetcher *prefetcher = prefetcher_of(call);
	char text[128];
	json_t *devices;

	if (!prefetcher)
		return NULL;
	if (given) {
		const char *policy = json_string_value(given);

		if (!policy || canfs_prefetcher_set_policy(prefetcher, policy) != 0) {
			list_policies(text, sizeof(text));
			return canfs_control_refuse(call, "policy: must be one of %s", text);
		}
		snprintf(text, sizeof(text), "set over the control socket: scheduler %s", policy);
		canfs_control_subject_of(call)->say(text);
	}
	devices = json_array();
	canfs_prefetcher_visit(prefetcher, visit_scheduler, devices);
	return json_pack("{s:o}", "devices", devices);
}

static const char *const scheduler_members[] = { "policy", NULL };
static const char *const no_members[] = { NULL };

const struct canfs_control_command canfs_prefetch_commands[] = {
	{ "prefetch", no_members, show_prefetch },
	{ "scheduler", scheduler_members, choose_scheduler },
	{ NULL, NULL, NULL },
};
