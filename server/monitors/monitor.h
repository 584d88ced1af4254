/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Monitors measure how busy a resource is. Each monitor is one file and one row of
 * canfs_monitor_types[]. A monitor reads counters in /proc and /sys, or response times that
 * operations report. None of its sources can block on a device or an export.
 *
 *	cpu      share of busy time, or of a quota          /proc/stat, /proc/self/status, cpu cgroups
 *	network  bytes over link speed, busiest interface   /proc/net/dev, /sys/class/net
 *	disk     mean over nominal queue depth, flushes      /sys/dev/block/M:m/{stat,inflight}
 *	         (found by)                                 /proc/self/mountinfo, /sys/fs/btrfs
 *	backend  response times over the uncongested best    responses.h, filled by operations; peers.h
 *	memory   dirty pages over the dirty limit, or       /proc/vmstat, reported reads,
 *	         the value of the read cache, or            /proc/meminfo, memory cgroups,
 *	         how long tasks wait for memory             memory.pressure, /proc/pressure/memory
 */
#ifndef CANFS_SERVER_MONITORS_MONITOR_H
#define CANFS_SERVER_MONITORS_MONITOR_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "pricing/market.h"
#include "pricing/level.h"

struct canfs_ghosts;    /* ghosts.h */
struct canfs_responses; /* responses.h */

#define CANFS_INTERFACES_MAX 64 /* watched network interfaces; further ones are ignored */
#define CANFS_DISKS_MAX      64 /* disks under one export; further ones are ignored */
#define CANFS_PEERS_MAX      8  /* other servers of the same back end */

/* Logs one line, without a newline. */
typedef void canfs_say(const char *message);

/* An administrator's options for the disks of one export. 0: the server's option applies. */
struct canfs_disk_options {
	unsigned int read_queue;  /* nominal queue depth of reads */
	unsigned int write_queue; /* nominal queue depth of writes */
	double k;                 /* [CANFS_K_MIN, CANFS_K_MAX] */
};

/* An administrator's options for the monitors. All zero: the monitors find out themselves. */
struct canfs_monitor_setup {
	const char *root; /* prefix of every path; "" except in tests */
	const char *name; /* of the export, for messages; NULL if the monitor is shared */
	const char *path; /* of the export; without links if device is anonymous */
	dev_t device;     /* st_dev of the export */
	struct canfs_responses *responses; /* of the export; NULL: not reported */
	unsigned int link_mbit_per_sec;    /* of every interface; 0: as the kernel says */
	unsigned int disk_read_queue;      /* nominal queue depth of reads; 0: by the disk's type */
	unsigned int disk_write_queue; /* nominal queue depth of writes; 0: by the disk's type */
	char interfaces[CANFS_INTERFACES_MAX][IF_NAMESIZE]; /* only these are watched */
	size_t interface_count;                 /* 0: physical ones and bonds of known speed */
	struct in6_addr peers[CANFS_PEERS_MAX]; /* peers.h */
	size_t peer_count;
	uint16_t peer_port;          /* of the peers' price services */
	struct canfs_ghosts *ghosts; /* gets the reads; NULL: the read cache is not priced */
	canfs_say *say;              /* reports unusable sources; NULL: not reported */
	bool whole_machine;          /* ignore this process's limits: the kernel is the server */
};

/* Properties of the type of a monitor's device. All zero: nothing. */
struct canfs_monitor_traits {
	double k;              /* of the device's price, instead of the resource's */
	const char *type;      /* name in disk_types.c */
	double nominal_reads;  /* Disk_Read_Queue, or by the type */
	double nominal_writes; /* Disk_Write_Queue, or by the type */
	double positioning_sec, bytes_per_sec; /* see disk_types.h */
};

/*
 * Work of all disks of a monitor, summed up, as counted by the kernel since the device was added.
 */
struct canfs_disk_work {
	uint64_t reads, read_bytes;
	uint64_t writes, written_bytes;
	uint64_t flush_msec; /* time spent on flushes */
};

/*
 * One kind of monitor.
 * - open: returns 0 and sets *state, or returns -errno if the resource does not exist here.
 * - sample: sets *utilization to the mean over the elapsed_sec (> 0) since the last call, which may
 *   exceed 1. Returns 0; -EAGAIN if this is the first reading; -ENODATA if there is nothing to
 *   watch; another -errno if the source cannot be read.
 * - traits: of an open state. NULL: none.
 * - flushing: the mean number of flushes in flight at the last sample. NULL: unknown.
 * - work: as of the last sample. NULL: unknown.
 * - floor: called after each sample. Returns a lower bound of the utilization now, in [0, 1], that
 *   peers report. NULL: none.
 * - rename: the monitor now belongs to an export of this name. NULL: the monitor does not keep
 *   setup's name.
 */
struct canfs_monitor_type {
	enum canfs_resource resource;
	enum canfs_resource
		instead_of;  /* runs only where that monitor does not; CANFS_NONE: everywhere */
	bool per_export;     /* one per export instead of one per server */
	double tau_sec;      /* time constant of the level (pricing/level.h); 0: none */
	const char *missing; /* logged when sample or open returns -ENODATA */
	int (*open)(void **state, const struct canfs_monitor_setup *setup);
	int (*sample)(void *state, double elapsed_sec, double *utilization);
	void (*close)(void *state);
	struct canfs_monitor_traits (*traits)(const void *state);
	double (*flushing)(const void *state);
	void (*work)(const void *state, struct canfs_disk_work *work);
	double (*floor)(void *state);
	void (*rename)(void *state, const char *name);
};

/* Ended by a row with the resource CANFS_NONE. */
extern const struct canfs_monitor_type canfs_monitor_types[];

/* A running monitor. It logs once when it loses its source, and once when the source is back. */
struct canfs_monitor {
	const struct canfs_monitor_type *type; /* NULL: not running */
	void *state;
	struct canfs_level level;
	struct canfs_level flushing;
	int error; /* logged last; 0: it works */
	canfs_say *say;
	const char *name; /* canfs_monitor_setup.name, not copied */
	struct canfs_monitor_traits traits;
};

/*
 * After either call, canfs_monitor_sample() accepts the monitor, even if opening failed. setup must
 * outlive a shared monitor.
 */
void canfs_monitor_open(struct canfs_monitor *monitor, const struct canfs_monitor_type *type,
	const struct canfs_monitor_setup *setup, canfs_say *say);
void canfs_monitor_close(struct canfs_monitor *monitor);

/* Assigns the monitor to another export, which has this name. */
void canfs_monitor_rename(struct canfs_monitor *monitor, const char *name);

/*
 * Takes a sample and enters its level into the market. If the sample fails, the resource drops out
 * of the market (known = false) until a sample succeeds.
 */
void canfs_monitor_sample(
	struct canfs_monitor *monitor, double elapsed_sec, struct canfs_market *market);

#endif
