// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/monitors/monitor.h"
#include "ganesha-fsal/monitors/monitors.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * CA-NFS §3.3 averages the network "over a few hundreds of milliseconds": at one moment a link is
 * either idle or full, and so is a processor. An exponential average with time constant tau is as
 * steady as a plain mean over 2 tau, so the network's 0.15 s are a mean over 300 ms, and a step in load is on
 * the wire within 0.5 s although the price is steep only near a full link. A disk's queue is the exact mean of an interval, and
 * background work must step aside as soon as a reader comes: just enough to even out intervals
 * that are shorter than a few seeks. Dirty memory is a level, not a rate.
 */
const struct canfs_monitor_type canfs_monitor_types[] = {
	{ CANFS_CPU, false, 0.3, "no cpu line in /proc/stat", canfs_cpu_open, canfs_cpu_sample,
		canfs_cpu_close, NULL },
	{ CANFS_NETWORK, false, 0.15,
		"no interface with a known speed; set Link_Speed and Interfaces in CANFS { }",
		canfs_network_open, canfs_network_sample, canfs_network_close, NULL },
	{ CANFS_DISK, true, 0.1, "no block device below", canfs_disk_open, canfs_disk_sample,
		canfs_disk_close, canfs_disk_traits },
	{ CANFS_MEMORY, false, 0, "no dirty limit in /proc/vmstat", canfs_memory_open,
		canfs_memory_sample, canfs_memory_close, NULL },
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
		canfs_resource_name(type->resource), monitor->path != NULL ? " of " : "",
		monitor->path != NULL ? monitor->path : "",
		error == 0 ? "is back" : "drops out of the price", why);
	monitor->error = error;
	monitor->say(message);
}

void canfs_monitor_open(struct canfs_monitor *monitor, const struct canfs_monitor_type *type,
	const struct canfs_monitor_setup *setup, canfs_say *say)
{
	int error;

	*monitor = (struct canfs_monitor) { .type = type, .say = say, .path = setup->path };
	canfs_average_init(&monitor->average, type->tau_sec);
	error = type->open(&monitor->state, setup);
	if (error != 0) {
		report(monitor, error);
		monitor->type = NULL;
	} else if (type->traits != NULL) {
		monitor->traits = type->traits(monitor->state);
	}
}

void canfs_monitor_close(struct canfs_monitor *monitor)
{
	if (monitor->type != NULL)
		monitor->type->close(monitor->state);
	monitor->type = NULL;
}

void canfs_monitor_sample(
	struct canfs_monitor *monitor, double elapsed_sec, struct canfs_market *market)
{
	double utilization;
	int error;

	if (monitor->type == NULL || !(elapsed_sec > 0))
		return;
	error = monitor->type->sample(monitor->state, elapsed_sec, &utilization);
	if (error == 0) {
		report(monitor, 0);
		utilization =
			canfs_average_add(&monitor->average, fmin(utilization, 1), elapsed_sec);
		market->utilization[monitor->type->resource] = utilization;
	} else if (error != -EAGAIN) {
		report(monitor, error);
		/* What it returns with is news, not the end of an old average. */
		monitor->average.primed = false;
	}
	market->known[monitor->type->resource] = error == 0;
}
