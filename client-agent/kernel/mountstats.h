/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Counters of the NFS mounts, from /proc/self/mountstats (statvers 1.0 and 1.1). All counters are
 * cumulative since the mount. Mounts that share a super block show the same counters.
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
	uint64_t rtt_msec; /* sum over ops; the RTT of COMMIT shows congestion */
	uint64_t execute_msec;
	uint64_t errors; /* 0 on kernels that do not count them */
};

/* Sums over the connections of a mount (nconnect). Only TCP connections are counted. */
struct canfs_xprt_stats {
	uint64_t connections;
	uint64_t sends;
	uint64_t backlog;   /* sum over sends: requests that waited for a slot at that send */
	uint64_t max_slots; /* the most slots that any connection ever used at once */
};

struct canfs_mountstats {
	bool found; /* false: all other members are 0 */
	uint64_t age_sec;
	uint64_t normal_read_bytes; /* by read(2) ... */
	uint64_t normal_write_bytes;
	uint64_t direct_read_bytes; /* ... with O_DIRECT ... */
	uint64_t direct_write_bytes;
	uint64_t server_read_bytes; /* ... and sent to or received from the server */
	uint64_t server_write_bytes;
	uint64_t begun_write_bytes;   /* whole pages, counted when their sending begins */
	struct canfs_xprt_stats xprt; /* all 0 if the kernel shows no known transport */
	struct canfs_op_stats read;
	struct canfs_op_stats write;
	struct canfs_op_stats commit;
};

/*
 * Sets stats[i] for mounts->mount[i], matched by source and mount point. Mounts stacked on one
 * mount point match in their order. Returns the number of malformed lines.
 *
 * A mount is not found if one of its needed lines ("bytes:", READ, WRITE or COMMIT) is torn or
 * malformed. If a line occurs several times, the last one counts. A count of bytes or requests that
 * is negative or above INT64_MAX (a sum that ran below 0) makes the line malformed. Any other
 * impossible or missing number is 0. Text that a server sends about itself is never parsed as lines
 * of the kernel.
 */
unsigned int canfs_mountstats_parse(
	const char *text, const struct canfs_mounts *mounts, struct canfs_mountstats *stats);

/*
 * Does the same for root + /proc/self/mountstats, of any length: a thousand NFSv4 mounts make 6 MB.
 * Returns 0, or an error of canfs_read_lines(). On an error, mounts after that point are not found.
 */
int canfs_mountstats_read(
	const char *root, const struct canfs_mounts *mounts, struct canfs_mountstats *stats);

/*
 * Reads the file again to find out why mounts->mount[i] was not found. Returns the name of the
 * missing or unusable line. "device" is the first line of a section. Returns NULL if the mount is
 * found, or if the file cannot be read.
 */
const char *canfs_mountstats_lack(const char *root, const struct canfs_mounts *mounts, size_t i);

#endif
