// SPDX-License-Identifier: LGPL-3.0-or-later
/* The monitors' parsers on any text: no read beyond it, no result that a market could not take. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "server/monitors/cgroup.h"
#include "server/monitors/monitors.h"
#include "server/monitors/mountinfo.h"

static void fuzz_disk(const char *text)
{
	struct canfs_disk_count before[CANFS_DISK_KINDS], now[CANFS_DISK_KINDS];
	const char *inflight = strchr(text, '\n');
	double credit_msec = 0;

	if (!inflight || canfs_parse_disk(text, inflight + 1, now) != 0)
		return;
	memset(before, 0, sizeof(before));
	for (int kind = 0; kind < CANFS_DISK_KINDS; kind++) {
		double queue = canfs_disk_queue(&before[kind], &now[kind], 100, &credit_msec);

		if (!(queue >= 0) || !isfinite(queue) || !(credit_msec >= 0))
			abort();
	}
}

static void fuzz_cgroup(const char *text)
{
	char path[16];
	bool version2;

	if (canfs_parse_cgroup(text, "cpu", path, sizeof(path), &version2) == 0 &&
		strnlen(path, sizeof(path)) == sizeof(path))
		abort();
}

static void fuzz_cpu(const char *text)
{
	struct canfs_cpu_times times;
	struct canfs_cpu_quota quota;
	cpu_set_t allowed;

	(void)canfs_parse_cpu(text, NULL, &times);
	CPU_ZERO(&allowed);
	CPU_SET(1, &allowed);
	(void)canfs_parse_cpu(text, &allowed, &times);
	if (canfs_parse_cpus_allowed(text, &allowed) == 0 && CPU_COUNT(&allowed) == 0)
		abort();
	if (canfs_parse_cpu_quota(text, &quota) == 0 &&
		(!(quota.processors >= 0) || !isfinite(quota.processors) ||
			(quota.processors > 0) != (quota.period_sec > 0)))
		abort();
}

static void fuzz_pressure(const char *text)
{
	double some;

	if (canfs_parse_pressure(text, &some) == 0 && !(some >= 0 && some <= 1))
		abort();
}

static void fuzz_mountinfo(const char *text)
{
	struct canfs_mountinfo_entry mount;

	if (canfs_find_mount(text, "/srv/data", &mount) == 0 &&
		(strnlen(mount.type, sizeof(mount.type)) == sizeof(mount.type) ||
			strnlen(mount.source, PATH_MAX) == PATH_MAX ||
			strnlen(mount.upper, PATH_MAX) == PATH_MAX))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct canfs_dirty_pages pages;
	struct canfs_interface_bytes interfaces[8];
	size_t count;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	fuzz_cpu(text);
	fuzz_pressure(text);
	fuzz_mountinfo(text);
	fuzz_cgroup(text);
	(void)canfs_parse_vmstat(text, &pages);
	if (canfs_parse_net_dev(text, interfaces, 8, &count) == 0) {
		if (count > 8)
			abort();
		for (size_t i = 0; i < count; i++) {
			if (strnlen(interfaces[i].name, IF_NAMESIZE) == IF_NAMESIZE)
				abort();
		}
	}
	fuzz_disk(text);
	free(text);
	return 0;
}
