/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the monitors offer to the table in monitors.c and to their tests: their operations, and
 * their parsers, which are pure. text is NUL-terminated; a parser returns 0, or -EPROTO if the
 * text is not what the kernel writes.
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

#define CANFS_MONITOR_OF(NAME, name, Name) CANFS_MONITOR_OPERATIONS(name);
CANFS_RESOURCE_ROWS(CANFS_MONITOR_OF)
struct canfs_monitor_traits canfs_disk_traits(const void *state);
double canfs_disk_flushing(const void *state);

/* How many operations in flight are as much as the back end takes, as far as it is known now; >= 1. */
double canfs_backend_nominal(const void *state);
double canfs_backend_floor(void *state); /* peers.h */
void canfs_backend_rename(void *state, const char *name);

/* What the price of memory was made of at the last sample. */
struct canfs_memory_view {
	double dirty_share;   /* of the kernel's dirty limit; may exceed 1; NaN: cannot be read */
	double pressure;      /* share of time in which some task waited for memory */
	bool has_ghosts;      /* false: the read cache is not priced, and what follows is 0 */
	uint64_t cache_bytes; /* what the read cache may grow to; 0: cannot be read */
	struct canfs_ghost_forecast forecast;
	struct canfs_ghosts_usage usage; /* now */
};
/* Not while it samples. */
void canfs_memory_get_view(const void *state, struct canfs_memory_view *view);

/*
 * /proc/stat, in ticks since boot, of these processors together; allowed NULL: of all. Steal is busy:
 * it is not to be had. If one of them has no line there, all of the file count: either it does not exist yet, and
 * the others may be used; or the numbers are not the kernel's, as lxcfs counts the processors of a container
 * from 0.
 */
struct canfs_cpu_times {
	uint64_t busy;
	uint64_t total;
};
int canfs_parse_cpu(const char *text, const cpu_set_t *allowed, struct canfs_cpu_times *times);

/*
 * /proc/self/status: the processors that this process may run on, by its cpuset or affinity. Those
 * beyond CPU_SETSIZE (1024) are left out.
 */
int canfs_parse_cpus_allowed(const char *text, cpu_set_t *allowed);

/*
 * cpu.max, or cpu.cfs_quota_us and behind it cpu.cfs_period_us, of a cgroup: how many processors it
 * may use in the mean of each period.
 */
struct canfs_cpu_quota {
	double processors; /* > 0, maybe a fraction; 0: as many as there are */
	double period_sec; /* the kernel allows 0.001 to 1 */
};
int canfs_parse_cpu_quota(const char *text, struct canfs_cpu_quota *quota);

/* /proc/net/dev, in bytes since the interface came up. Surplus interfaces are left out. */
struct canfs_interface_bytes {
	char name[IF_NAMESIZE];
	uint64_t received_bytes;
	uint64_t sent_bytes;
};
int canfs_parse_net_dev(
	const char *text, struct canfs_interface_bytes *interfaces, size_t max, size_t *count);

/* /proc/vmstat, in pages. */
struct canfs_dirty_pages {
	uint64_t dirty;
	uint64_t writeback;
	uint64_t limit; /* at which the kernel makes writers wait */
};
int canfs_parse_vmstat(const char *text, struct canfs_dirty_pages *pages);

/*
 * memory.pressure of a cgroup, /proc/pressure/memory: the share of the last ten seconds in which some
 * task waited, in [0, 1].
 */
int canfs_parse_pressure(const char *text, double *some);

/* stat and inflight of a block device, by kind of request. */
enum canfs_disk_kind { CANFS_DISK_READ, CANFS_DISK_WRITE, CANFS_DISK_KINDS };
struct canfs_disk_count {
	uint64_t done;      /* requests completed */
	uint64_t wait_msec; /* their waiting times, summed up: counted when they complete */
	uint64_t inflight;  /* requests in the driver now */
	uint64_t sectors;   /* of 512 bytes, completed */
};
int canfs_parse_disk(
	const char *stat, const char *inflight, struct canfs_disk_count count[CANFS_DISK_KINDS]);

/* stat of a block device: the waiting times of its flushes, summed up, in ms; 0 from a kernel before 5.5. */
uint64_t canfs_parse_flushes(const char *stat);

/* What the disks have done, summed up, as of the last sample. */
void canfs_disk_get_work(const void *state, struct canfs_disk_work *work);

/*
 * Mean queue length of one kind between two counts. credit_msec, at first 0, is kept by the
 * caller from call to call.
 */
double canfs_disk_queue(const struct canfs_disk_count *before, const struct canfs_disk_count *now,
	double elapsed_msec, double *credit_msec);

#endif
