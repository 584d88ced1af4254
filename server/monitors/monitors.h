/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Internal interface of the monitors, for the table in monitors.c and for their tests: the
 * operations, and the parsers, which are pure. text is NUL-terminated. Parsers return 0, or -EPROTO
 * if the text is not in the kernel's format.
 */
#ifndef CANFS_SERVER_MONITORS_MONITORS_H
#define CANFS_SERVER_MONITORS_MONITORS_H

#include <sched.h>
#include <stdint.h>
#include "server/monitors/ghosts.h"
#include "server/monitors/monitor.h"

#define CANFS_MONITOR_OPERATIONS(name)                                                             \
	int canfs_##name##_open(void **state, const struct canfs_monitor_setup *setup);            \
	int canfs_##name##_sample(void *state, double elapsed_sec, double *utilization);           \
	void canfs_##name##_close(void *state)

#define CANFS_MONITOR_OF(NAME, name) CANFS_MONITOR_OPERATIONS(name);
CANFS_RESOURCE_ROWS(CANFS_MONITOR_OF)
struct canfs_monitor_traits canfs_disk_traits(const void *state);
double canfs_disk_flushing(const void *state);

/* The back end's nominal depth as currently estimated: operations in flight, >= 1. */
double canfs_backend_nominal(const void *state);
double canfs_backend_floor(void *state); /* peers.h */
void canfs_backend_rename(void *state, const char *name);

/* The components of the price of memory at the last sample. */
struct canfs_memory_view {
	double dirty_share;   /* of the kernel's dirty limit; may exceed 1; NaN: unreadable */
	double pressure;      /* share of time in which at least one task waited for memory */
	bool has_ghosts;      /* false: the read cache is not priced, and the members below are 0 */
	uint64_t cache_bytes; /* size that the read cache can grow to; 0: unreadable */
	struct canfs_ghost_forecast forecast;
	struct canfs_ghosts_usage usage; /* now */
};
/* Must not run while the monitor samples. */
void canfs_memory_get_view(const void *state, struct canfs_memory_view *view);

/*
 * Parses /proc/stat: ticks since boot, summed over the allowed processors. allowed NULL: all. Steal
 * counts as busy, because this machine cannot use it. If an allowed processor has no line, all of
 * the file counts, for one of two reasons. Either that processor does not exist yet, and the others
 * may be used. Or the numbers are not the kernel's: lxcfs numbers a container's processors from 0.
 */
struct canfs_cpu_times {
	uint64_t busy;
	uint64_t total;
};
int canfs_parse_cpu(const char *text, const cpu_set_t *allowed, struct canfs_cpu_times *times);

/*
 * Parses /proc/self/status: the processors that this process may run on, by its cpuset or affinity.
 * Processors beyond CPU_SETSIZE (1024) are left out.
 */
int canfs_parse_cpus_allowed(const char *text, cpu_set_t *allowed);

/*
 * Parses cpu.max, or cpu.cfs_quota_us followed by cpu.cfs_period_us: the processors that a cgroup
 * may use on average in each period.
 */
struct canfs_cpu_quota {
	double processors; /* > 0, may be fractional; 0: no quota */
	double period_sec; /* the kernel allows 0.001 ... 1 */
};
int canfs_parse_cpu_quota(const char *text, struct canfs_cpu_quota *quota);

/* Parses /proc/net/dev: bytes since the interface came up. Interfaces beyond max are left out. */
struct canfs_interface_bytes {
	char name[IF_NAMESIZE];
	uint64_t received_bytes;
	uint64_t sent_bytes;
};
int canfs_parse_net_dev(
	const char *text, struct canfs_interface_bytes *interfaces, size_t max, size_t *count);

/* Parses /proc/vmstat, in pages. */
struct canfs_dirty_pages {
	uint64_t dirty;
	uint64_t writeback;
	uint64_t limit; /* the kernel throttles writers at this number */
};
int canfs_parse_vmstat(const char *text, struct canfs_dirty_pages *pages);

/*
 * Parses memory.pressure of a cgroup or /proc/pressure/memory: the share of the last ten seconds in
 * which at least one task waited, in [0, 1].
 */
int canfs_parse_pressure(const char *text, double *some);

/* Parses stat and inflight of a block device, by kind of request. */
enum canfs_disk_kind { CANFS_DISK_READ, CANFS_DISK_WRITE, CANFS_DISK_KINDS };
struct canfs_disk_count {
	uint64_t done;      /* requests completed */
	uint64_t wait_msec; /* sum of their waiting times, added when they complete */
	uint64_t inflight;  /* requests in the driver now */
	uint64_t sectors;   /* of completed requests, in units of 512 bytes */
};
int canfs_parse_disk(
	const char *stat, const char *inflight, struct canfs_disk_count count[CANFS_DISK_KINDS]);

/*
 * Parses stat of a block device: the sum of the waiting times of its flushes, in ms. Returns 0 for
 * a kernel before 5.5.
 */
uint64_t canfs_parse_flushes(const char *stat);

/* The work of all disks, summed up, as of the last sample. */
void canfs_disk_get_work(const void *state, struct canfs_disk_work *work);

/*
 * Mean queue length of one kind of request between two counts. The caller keeps *credit_msec from
 * call to call; it starts as 0.
 */
double canfs_disk_queue(const struct canfs_disk_count *before, const struct canfs_disk_count *now,
	double elapsed_msec, double *credit_msec);

#endif
