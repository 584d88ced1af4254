/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which client makes which other client wait: seconds that operations of one client waited for
 * those of another (shares.h), for the pairs with the longest waits of the last minute (pairs.h).
 * Operations cost nothing extra: a step reads the counters of the client table and of the disks.
 *
 *	table of clients --sample--.
 *	                            >-- step: accounts of each client --> pairs --> report
 *	disks, dirty pages --------'
 *
 * All disks of a server count as one. If there is no disk, as above GlusterFS, the disk's work is
 * computed from the clients' operations. Memory: CANFS_CLIENTS_MAX accounts and CANFS_PAIRS_MAX
 * pairs, less than 640 KiB.
 */
#ifndef CANFS_SERVER_WAITING_WAITING_H
#define CANFS_SERVER_WAITING_WAITING_H

#include "server/clients/clients.h"
#include "server/waiting/pairs.h"

/* Bullies per step, those with the most service. Waits for further clients are not recorded. */
#define CANFS_BULLIES_MAX 32

/* Work of the disks since monitoring started, and their properties. */
struct canfs_disk_sample {
	/* Number of disks. If it changes, the earlier counts are ignored. 0: no disk is visible. */
	unsigned int disks;
	uint64_t reads, read_bytes, writes, written_bytes, flush_msec;
	double dirty_bytes; /* of the whole machine, now; NaN: unknown */
	double positioning_sec, bytes_per_sec;
};

struct canfs_waiting;

struct canfs_waiting *canfs_waiting_new(void);          /* NULL: out of memory */
void canfs_waiting_free(struct canfs_waiting *waiting); /* NULL allowed */

/*
 * Evaluates the time since the last step, which should be at most about a second ago. The first
 * step only takes a sample. Only one thread may call this.
 */
void canfs_waiting_step(struct canfs_waiting *waiting, uint64_t now_usec,
	struct canfs_clients *clients, const struct canfs_disk_sample *disk);

/* The pairs of the last complete seconds; see canfs_pairs_list(). From any thread. */
size_t canfs_waiting_list(struct canfs_waiting *waiting, uint64_t now_usec, unsigned int seconds,
	struct canfs_pair_row rows[CANFS_PAIRS_MAX]);

#endif
