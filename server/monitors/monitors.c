// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/monitor.h"
#include "server/monitors/monitors.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pricing/level.h"

/*
 * Rates are averaged into a level (tau_sec). Memory is not: dirty memory is a level already, and
 * the ghost caches have their own window.
 */
const struct canfs_monitor_type canfs_monitor_types[] = {
	{ .resource = CANFS_CPU,
		.tau_sec = CANFS_RATE_TAU_SEC,
		.missing = "no cpu line in /proc/stat",
		.open = canfs_cpu_open,
		.sample = canfs_cpu_sample,
		.close = canfs_cpu_close },
	{ .resource = CANFS_NETWORK,
		.tau_sec = CANFS_RATE_TAU_SEC,
		.missing = "no interface with a known speed; set Link_Speed and Interfaces",
		.open = canfs_network_open,
		.sample = canfs_network_sample,
		.close = canfs_network_close },
	{ .resource = CANFS_DISK,
		.per_export = true,
		.tau_sec = CANFS_RATE_TAU_SEC,
		.missing = "no block device below",
		.open = canfs_disk_open,
		.sample = canfs_disk_sample,
		.close = canfs_disk_close,
		.traits = canfs_disk_traits,
		.flushing = canfs_disk_flushing,
		.work = canfs_disk_get_work },
	{ .resource = CANFS_MEMORY,
		.missing = "no dirty limit in /proc/vmstat",
		.open = canfs_memory_open,
		.sample = canfs_memory_sample,
		.close = canfs_memory_close },
	{ .resource = CANFS_BACKEND,
		.instead_of = CANFS_DISK,
		.per_export = true,
		.tau_sec = CANFS_RATE_TAU_SEC,
		.missing = "the response times of its operations are unknown",
		.open = canfs_backend_open,
		.sample = canfs_backend_sample,
		.close = canfs_backend_close,
		.floor = canfs_backend_floor,
		.rename = canfs_backend_rename },
	{ .resource = CANFS_NONE },
};

static void report(struct canfs_monitor *monitor, int error)
{
	const struct canfs_monitor_type *type = monitor->type;
	char message[512];
	const char *why = error == -ENODATA ? type->missing : strerror(-error);

	if (error == monitor->error)
		return;
	if (error == 0)
		why = "its source can be read again";
	snprintf(message, sizeof(message), "%s monitor%s%s %s: %s",
		canfs_resource_name(type->resource), monitor->name ? " of " : "",
		monitor->name ? monitor->name : "",
		error == 0 ? "is back" : "drops out of the price", why);
	monitor->error = error;
	monitor->say(message);
}

void canfs_monitor_open(struct canfs_monitor *monitor, const struct canfs_monitor_type *type,
	const struct canfs_monitor_setup *setup, canfs_say *say)
{
	int ret;

	*monitor = (struct canfs_monitor) { .type = type, .say = say, .name = setup->name };
	canfs_level_init(&monitor->level, type->tau_sec);
	canfs_level_init(&monitor->flushing, type->tau_sec);
	ret = type->open(&monitor->state, setup);
	if (ret != 0) {
		report(monitor, ret);
		monitor->type = NULL;
	} else if (type->traits) {
		monitor->traits = type->traits(monitor->state);
	}
}

void canfs_monitor_close(struct canfs_monitor *monitor)
{
	if (monitor->type)
		monitor->type->close(monitor->state);
	monitor->type = NULL;
	monitor->traits = (struct canfs_monitor_traits) { 0 };
}

void canfs_monitor_rename(struct canfs_monitor *monitor, const char *name)
{
	monitor->name = name;
	if (monitor->type && monitor->type->rename)
		monitor->type->rename(monitor->state, name);
}

void canfs_monitor_sample(
	struct canfs_monitor *monitor, double elapsed_sec, struct canfs_market *market)
{
	double utilization, floor;
	int ret;

	if (!monitor->type || !(elapsed_sec > 0))
		return;
	ret = monitor->type->sample(monitor->state, elapsed_sec, &utilization);
	if (ret == 0) {
		report(monitor, 0);
		utilization = canfs_level_add(&monitor->level, utilization, elapsed_sec);
		market->utilization[monitor->type->resource] = utilization;
		if (monitor->type->floor) {
			floor = monitor->type->floor(monitor->state);
			market->is_heard = floor > utilization;
			market->utilization[monitor->type->resource] = fmax(utilization, floor);
		}
		if (monitor->type->flushing)
			market->flushing = canfs_level_add(&monitor->flushing,
				monitor->type->flushing(monitor->state), elapsed_sec);
	} else if (ret != -EAGAIN) {
		report(monitor, ret);
		/*
		 * After a failure the next sample starts a new level instead of continuing the old
		 * one.
		 */
		canfs_level_init(&monitor->level, monitor->type->tau_sec);
	}
	market->known[monitor->type->resource] = ret == 0;
}
