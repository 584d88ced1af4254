/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Counters of the NFS mounts, from /proc/self/mountstats (statvers 1.0 and 1.1). All of them are
 * cumulative since mount; mounts that share a super block show the same ones.
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_MOUNTSTATS_H
#define CANFS_CLIENT_AGENT_KERNEL_MOUNTSTATS_H

#include "client-agent/kernel/mounts.h"

struct canfs_op_stats {
	uint64_t ops;
	uint64_t transmissions;
	uint64_t timeouts;
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint64_t queue_msec;
	uint64_t rtt_msec; /* sum over ops; congestion shows in that of COMMIT */
	uint64_t execute_msec;
	uint64_t errors; /* 0 on kernels that do not count them */
};

/* Sums over the connections of a mount (nconnect); only TCP ones are counted. */
struct canfs_xprt_stats {
	uint64_t connections;
	uint64_t sends;
	uint64_t backlog; /* at each send, how many requests waited for a slot: a sum over sends */
	uint64_t max_slots; /* the most slots that any of them ever used at once */
};

struct canfs_mountstats {
	bool found; /* false: all else is 0 */
	uint64_t age_sec;
	uint64_t normal_read_bytes; /* by read(2) ... */
	uint64_t normal_write_bytes;
	uint64_t direct_read_bytes; /* ... with O_DIRECT ... */
	uint64_t direct_write_bytes;
	uint64_t server_read_bytes; /* ... and what the server saw of it */
	uint64_t server_write_bytes;
	uint64_t begun_write_bytes;   /* whole pages, as their sending begins */
	struct canfs_xprt_stats xprt; /* all 0 if the kernel shows none that we know */
	struct canfs_op_stats read;
	struct canfs_op_stats write;
	struct canfs_op_stats commit;
};

/*
 * stats[i] is set for mounts->mount[i], matched by source and mount point (of several stacked on one place: in their order).
 * A mount with a torn or malformed line that we need ("bytes:", READ, WRITE or COMMIT) is not found. The last of several equal lines
 * counts. Counts of bytes and requests must be possible: a negative number, or one above INT64_MAX (a sum that ran below 0), makes the
 * line malformed. Any other impossible or missing number is 0. Returns the number of malformed lines. The text that a server sends about
 * itself is never taken for lines of the kernel.
 */
unsigned int canfs_mountstats_parse(
	const char *text, const struct canfs_mounts *mounts, struct canfs_mountstats *stats);

/*
 * The same on root + /proc/self/mountstats, however long that is: a thousand NFSv4 mounts make 6 MB. 0,
 * or canfs_read_lines()'s error, with the mounts not found that came after it.
 */
int canfs_mountstats_read(
	const char *root, const struct canfs_mounts *mounts, struct canfs_mountstats *stats);

/*
 * Reads the file again to find out why mounts->mount[i] is not found. Returns the name of the missing or unusable line; "device" is
 * the first line of a section. NULL: the mount is found, or the file cannot be read.
 */
const char *canfs_mountstats_lack(const char *root, const struct canfs_mounts *mounts, size_t i);

#endif
