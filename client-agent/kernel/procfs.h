/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the agent reads of the kernel's memory: /proc/meminfo, /proc/vmstat, memory.stat. */
#ifndef CANFS_CLIENT_AGENT_KERNEL_PROCFS_H
#define CANFS_CLIENT_AGENT_KERNEL_PROCFS_H

#include <stdint.h>

/* Fields of /proc/meminfo. Writeback includes pages that wait for a COMMIT. */
struct canfs_meminfo {
	uint64_t total_bytes;
	uint64_t free_bytes;
	uint64_t available_bytes;   /* counts dirty pages as available! */
	uint64_t active_file_bytes; /* page cache that was used more than once */
	uint64_t dirty_bytes;
	uint64_t writeback_bytes;
};

/* Returns 0, or -EPROTO if a line is missing, torn or out of range. *meminfo is set only on 0. */
int canfs_meminfo_parse(const char *text, struct canfs_meminfo *meminfo);

/* The same for the kernel's file. Also returns errors of canfs_read_file(). */
int canfs_meminfo_read(const char *root, struct canfs_meminfo *meminfo);

/*
 * Returns the missing or unusable line of the kernel's file, such as "MemFree:". Returns NULL if
 * there is none, or if the file cannot be read.
 */
const char *canfs_meminfo_lack(const char *root);

/*
 * Memory that others can really use: MemAvailable - Dirty - Writeback, at least 0. The memory guard
 * watches this value. On a client of 512 MB, 300 MB of dirty pages led to an OOM kill while
 * MemAvailable looked fine.
 */
uint64_t canfs_meminfo_spare_bytes(const struct canfs_meminfo *meminfo);

/* Fields of /proc/vmstat. */
struct canfs_vmstat {
	uint64_t
		missed_bytes; /* read since boot, though a file cache of up to twice the size would have held the data */
	uint64_t
		background_bytes; /* if more than this is dirty, the kernel's flusher threads send data as fast as they can */
};

/*
 * Return 0, -EPROTO if a line is missing or torn, or an error of canfs_read_file(). *vmstat is set
 * only on 0.
 */
int canfs_vmstat_parse(const char *text, struct canfs_vmstat *vmstat);
int canfs_vmstat_read(const char *root, struct canfs_vmstat *vmstat);

/*
 * *dirty_bytes: what processes of a cgroup and its descendants have written and the kernel has not
 * begun to send (file_dirty of memory.stat). cgroup is a path in the v2 hierarchy. Return 0 or an
 * error as above; -ENOENT: there is no such cgroup, or it has no memory controller.
 */
int canfs_cgroup_dirty_parse(const char *text, uint64_t *dirty_bytes);
int canfs_cgroup_dirty_read(const char *root, const char *cgroup, uint64_t *dirty_bytes);

#endif
