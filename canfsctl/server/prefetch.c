// SPDX-License-Identifier: LGPL-3.0-or-later
/* Prints the control socket's replies about the prefetcher. */
#include "canfsctl/server/server.h"
#include "canfsctl/socket.h"

#include <stdio.h>

static void show_kind(const json_t *device, const char *kind)
{
	const json_t *done = json_object_get(device, kind);
	char operations[CTL_SHORT_MAX], bytes[CTL_SHORT_MAX];

	printf("  %-10s%8s%8s%15.1f%12.1f\n", kind, ctl_short(ctl_number(done, "done"), operations),
		ctl_short(ctl_number(done, "bytes"), bytes), ctl_number(done, "wait_msec_mean"),
		ctl_number(done, "wait_msec_max"));
}

static void show_table(const json_t *table)
{
	char fetched[CTL_SHORT_MAX], used[CTL_SHORT_MAX], wasted[CTL_SHORT_MAX];

	printf("  %.0f active files, %.0f cursors, which matched %.0f of %.0f reads\n"
	       "  read ahead %s bytes: used %s, wasted %s\n",
		ctl_number(table, "files"), ctl_number(table, "cursors"),
		ctl_number(table, "matched"), ctl_number(table, "reads"),
		ctl_short(ctl_number(table, "fetched_bytes"), fetched),
		ctl_short(ctl_number(table, "used_bytes"), used),
		ctl_short(ctl_number(table, "wasted_bytes"), wasted));
}

static void show_device(const json_t *device)
{
	printf("\n%s (%s), scheduler %s%s: %.0f wait, %.0f of at most %.0f in the kernel\n",
		ctl_text(device, "device"), ctl_text(device, "type"), ctl_text(device, "scheduler"),
		json_is_false(json_object_get(device, "io_uring")) ? " without io_uring" : "",
		ctl_number(device, "waiting"), ctl_number(device, "in_kernel"),
		ctl_number(device, "depth"));
	printf("  %-10s%8s%8s%15s%12s\n", "", "fetches", "bytes", "mean wait ms", "max");
	show_kind(device, "demand");
	show_kind(device, "prefetch");
	printf("  refused %.0f, cancelled %.0f, failed %.0f, joined %.0f\n",
		ctl_number(device, "refused"), ctl_number(device, "cancelled"),
		ctl_number(device, "failed"), ctl_number(device, "joined"));
	if (json_is_true(json_object_get(device, "orders_streams")))
		printf("  canfs reads sequential streams ahead: this disk loses time when it "
		       "switches between them\n");
	show_table(json_object_get(device, "table"));
}

void ctl_show_prefetch(const json_t *reply)
{
	const json_t *devices = json_object_get(reply, "devices");
	char evicted[CTL_SHORT_MAX];

	printf("reads: %.0f at once, %.0f of streams, %.0f inline, %.0f delayed, "
	       "%.0f held, %.0f let through; "
	       "%.0f wait now\n"
	       "open files: %.0f; %.0f were opened, %.0f displaced, %.0f failed\n"
	       "memory headroom %.2f; evicted before they were read: %s bytes\n",
		ctl_number(reply, "reads_at_once"), ctl_number(reply, "reads_stream"),
		ctl_number(reply, "reads_inline"), ctl_number(reply, "reads_delayed"),
		ctl_number(reply, "reads_held"), ctl_number(reply, "reads_let_through"),
		ctl_number(reply, "waiting"), ctl_number(reply, "files_open"),
		ctl_number(reply, "files_opened"), ctl_number(reply, "files_displaced"),
		ctl_number(reply, "files_failed"), ctl_number(reply, "headroom"),
		ctl_short(ctl_number(reply, "evicted_bytes"), evicted));
	for (size_t i = 0; i < json_array_size(devices); i++)
		show_device(json_array_get(devices, i));
}

void ctl_show_scheduler(const json_t *reply)
{
	const json_t *devices = json_object_get(reply, "devices");

	for (size_t i = 0; i < json_array_size(devices); i++) {
		const json_t *device = json_array_get(devices, i);

		printf("%-15s %-10s (%s)\n", ctl_text(device, "device"),
			ctl_text(device, "scheduler"), ctl_text(device, "type"));
	}
}
