/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Monitors: how busy is a resource? One file and one row of canfs_monitor_types[] each. A monitor
 * reads counters of /proc and /sys, or what operations have told; none of its files can make it wait for a device or an export.
 *
 *	cpu      share of busy time, or of a quota          /proc/stat, /proc/self/status, cpu cgroups
 *	network  bytes over link speed, busiest interface   /proc/net/dev, /sys/class/net
 *	disk     mean over nominal queue depth, flushes      /sys/dev/block/M:m/{stat,inflight}
 *	         (found by)                                 /proc/self/mountinfo, /sys/fs/btrfs
 *	backend  response times over the uncongested best    responses.h, fed by the operations; peers.h
 *	memory   dirty pages over the dirty limit, or       /proc/vmstat, the reads that are fed,
 *	         what the read cache is worth, or           /proc/meminfo, memory cgroups,
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

#define CANFS_INTERFACES_MAX 64 /* network interfaces that are looked at; the rest is ignored */
#define CANFS_DISKS_MAX      64 /* disks under one export, likewise */
#define CANFS_PEERS_MAX      8  /* other servers of the same back end */

/* A line for the server's log, without newline. */
typedef void canfs_say(const char *message);

/* What an administrator may tell of the disks of one export; 0: as of the server's. */
struct canfs_disk_options {
	unsigned int read_queue;  /* nominal queue depth of reads */
	unsigned int write_queue; /* nominal queue depth of writes */
	double k;                 /* [CANFS_K_MIN, CANFS_K_MAX] */
};

/* What an administrator may tell the monitors; all zero is "find out yourself". */
struct canfs_monitor_setup {
	const char *root; /* put before every path; "" but for tests */
	const char *name; /* of the export, to be said; NULL if the monitor is shared */
	const char *path; /* of the export, without links if device is anonymous */
	dev_t device;     /* st_dev of the export */
	struct canfs_responses *responses; /* of the export; NULL: nobody tells */
	unsigned int link_mbit_per_sec;    /* of every interface; 0: what the kernel says */
	unsigned int disk_read_queue;      /* nominal queue depth of reads; 0: by its type */
	unsigned int disk_write_queue;     /* nominal queue depth of writes; 0: by its type */
	char interfaces[CANFS_INTERFACES_MAX][IF_NAMESIZE]; /* only these */
	size_t interface_count;                 /* 0: all real ones with a known speed */
	struct in6_addr peers[CANFS_PEERS_MAX]; /* peers.h */
	size_t peer_count;
	uint16_t peer_port;          /* of their price services */
	struct canfs_ghosts *ghosts; /* fed with the reads; NULL: the read cache is not priced */
	canfs_say *say;              /* reports problems of its sources; NULL: no interest */
	bool whole_machine; /* the server is the kernel: the limits of this process are not its limits */
};

/* What a monitor knows of the kind of thing that it watches; all zero: nothing. */
struct canfs_monitor_traits {
	double k;                              /* of its price, instead of the resource's */
	const char *type;                      /* of the device: disk_types.c */
	double nominal_reads;                  /* as Disk_Read_Queue, or by its type */
	double nominal_writes;                 /* likewise */
	double positioning_sec, bytes_per_sec; /* as in disk_types.h */
};

/* What disks have done since they were made, or the machine was started; of several, together. */
struct canfs_disk_work {
	uint64_t reads, read_bytes;
	uint64_t writes, written_bytes;
	uint64_t flush_msec; /* in which flushes were waited for */
};

/*
 * One kind of monitor.
 * open:   0 and *state, or -errno if the resource does not exist here.
 * sample: the utilization over the elapsed_sec (> 0) since the last call; it may exceed 1. 0;
 *         -EAGAIN if it has only now a first reading to compare with; other -errno if its source
 *         cannot be read (-ENODATA: there is nothing to watch).
 * traits: of a state that is open; NULL: it knows nothing.
 * flushing: the mean number of flushes that were waited for at the last sample; NULL: it knows nothing.
 * work:   as of the last sample; NULL: it knows nothing.
 * floor:  called after each sample: what others say that the utilization is at least, now, in [0, 1]; NULL: nobody does.
 * rename: it watches for an export of another name from now on; NULL: it does not keep setup's name.
 */
struct canfs_monitor_type {
	enum canfs_resource resource;
	enum canfs_resource
		instead_of;  /* it runs only where that one does not; CANFS_NONE: everywhere */
	bool per_export;     /* one for each export rather than one for the server */
	double tau_sec;      /* of the level that the samples have (pricing/level.h); 0: none */
	const char *missing; /* said when sample or open gives -ENODATA */
	int (*open)(void **state, const struct canfs_monitor_setup *setup);
	int (*sample)(void *state, double elapsed_sec, double *utilization);
	void (*close)(void *state);
	struct canfs_monitor_traits (*traits)(const void *state);
	double (*flushing)(const void *state);
	void (*work)(const void *state, struct canfs_disk_work *work);
	double (*floor)(void *state);
	void (*rename)(void *state, const char *name);
};

/* Ends with a row of resource CANFS_NONE. */
extern const struct canfs_monitor_type canfs_monitor_types[];

/* A running monitor. It says once that it has lost its source, and once that it is back. */
struct canfs_monitor {
	const struct canfs_monitor_type *type; /* NULL: none runs */
	void *state;
	struct canfs_level level;
	struct canfs_level flushing;
	int error; /* what was said last; 0: it works */
	canfs_say *say;
	const char *name; /* as in canfs_monitor_setup: the owner's memory */
	struct canfs_monitor_traits traits;
};

/* Both leave a monitor that canfs_monitor_sample() may be given, whatever happens. A shared one keeps setup. */
void canfs_monitor_open(struct canfs_monitor *monitor, const struct canfs_monitor_type *type,
	const struct canfs_monitor_setup *setup, canfs_say *say);
void canfs_monitor_close(struct canfs_monitor *monitor);

/* The monitor now belongs to another export, of this name. */
void canfs_monitor_rename(struct canfs_monitor *monitor, const char *name);

/*
 * Samples, and enters the level of the samples into the market; a monitor that cannot tell drops
 * out of it (known = false) until it can.
 */
void canfs_monitor_sample(
	struct canfs_monitor *monitor, double elapsed_sec, struct canfs_market *market);

#endif
