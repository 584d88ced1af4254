/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reading /proc and /sys. Everything the agent reads goes through a root prefix, "" in production
 * and a directory of made-up files in the tests.
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_PROCFS_H
#define CANFS_CLIENT_AGENT_KERNEL_PROCFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads all of root + path into buf and ends it with a NUL. Returns the length; -EFBIG if the
 * file does not fit into size - 1 bytes; -ENAMETOOLONG; or the -errno of open or read.
 */
ssize_t canfs_read_file(const char *root, const char *path, char *buf, size_t size);

/*
 * The same into memory of its own, for files that may be long (mountinfo, mountstats). 0 and
 * *text for the caller to free(); -EFBIG beyond max_bytes; -ENOMEM; else as above.
 */
int canfs_read_text(const char *root, const char *path, size_t max_bytes, char **text);

/*
 * The same line by line, for files that may be of any length (mountstats), in bounded memory: take() gets
 * each whole line without a terminating NUL; *end is its newline. What follows the last newline is
 * torn and left out, as is a line longer than CANFS_PROC_LINE_MAX. 0; -ENOMEM; -ENAMETOOLONG; or the
 * -errno of open or read, after some lines perhaps.
 */
#define CANFS_PROC_LINE_MAX                                                                        \
	65536 /* a line of mountinfo: three paths, each of whose bytes may be escaped */
int canfs_read_lines(const char *root, const char *path,
	void (*take)(void *data, const char *line, const char *end), void *data);

/*
 * A decimal number at **text, which is moved behind it. 0; -EPROTO if there is no digit or it does
 * not fit (then *text and *value are unchanged). No blanks, no sign.
 */
int canfs_parse_u64(const char **text, uint64_t *value);

/* What we use of /proc/meminfo. Writeback includes pages that wait for a COMMIT. */
struct canfs_meminfo {
	uint64_t total_bytes;
	uint64_t free_bytes;
	uint64_t available_bytes;   /* counts dirty pages as available! */
	uint64_t active_file_bytes; /* page cache that was used more than once */
	uint64_t dirty_bytes;
	uint64_t writeback_bytes;
};

/* 0; -EPROTO if a line is missing, torn or out of range (*meminfo is then unchanged). */
int canfs_meminfo_parse(const char *text, struct canfs_meminfo *meminfo);

/* The same on the kernel's file: also canfs_read_file()'s errors. */
int canfs_meminfo_read(const char *root, struct canfs_meminfo *meminfo);

/* The missing or unusable line of the kernel's file, such as "MemFree:"; NULL: none, or the file cannot be read. */
const char *canfs_meminfo_lack(const char *root);

/*
 * Memory that is really free for others: MemAvailable - Dirty - Writeback, not below 0. The guard
 * watches it, because 300 MB dirty on a client of 512 MB ended in an OOM kill although MemAvailable
 * looked fine.
 */
uint64_t canfs_meminfo_spare_bytes(const struct canfs_meminfo *meminfo);

/* Of /proc/vmstat. */
struct canfs_vmstat {
	uint64_t
		missed_bytes; /* read since boot, though a file cache up to twice as large would still have had it */
	uint64_t
		background_bytes; /* with more than this dirty the kernel's flushers send, as fast as they can */
};

/* 0; -EPROTO if a line is missing or torn; or canfs_read_file()'s errors. *vmstat is then unchanged. */
int canfs_vmstat_parse(const char *text, struct canfs_vmstat *vmstat);
int canfs_vmstat_read(const char *root, struct canfs_vmstat *vmstat);

/*
 * *dirty_bytes: what processes of a cgroup (v2; path from the hierarchy's root) and those below it have written and the
 * kernel has not begun to send (file_dirty of memory.stat). Likewise; -ENOENT: no such cgroup, or none with a memory
 * controller.
 */
int canfs_cgroup_dirty_parse(const char *text, uint64_t *dirty_bytes);
int canfs_cgroup_dirty_read(const char *root, const char *cgroup, uint64_t *dirty_bytes);

#endif
