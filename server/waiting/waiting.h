/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who makes whom wait: seconds that the operations of one client waited for those of another (shares.h), for the heaviest pairs
 * of the last minute (pairs.h). A step costs nothing per operation: it is made of what the table of clients has counted since
 * the one before, and of what the disks have.
 *
 *	table of clients --sample--.
 *	                            >-- step: accounts of each client --> pairs --> report
 *	disks, dirty pages --------'
 *
 * All disks of a server count as one. Where there is none, as above GlusterFS, the clients' operations stand for what the back end
 * does. Memory: CANFS_CLIENTS_MAX accounts, CANFS_PAIRS_MAX pairs, less than 640 KiB.
 */
#ifndef CANFS_SERVER_WAITING_WAITING_H
#define CANFS_SERVER_WAITING_WAITING_H

#include "server/clients/clients.h"
#include "server/waiting/pairs.h"

/* Bullies that are told apart in one step; what more clients have of the disk is nobody's. */
#define CANFS_BULLIES_MAX 32

/* What the disks have done since they are watched; and what they are. */
struct canfs_disk_sample {
	/* How many these are: if it changes, what they did before is of no interest. 0: what is behind the exports cannot be seen. */
	unsigned int disks;
	uint64_t reads, read_bytes, writes, written_bytes, flush_msec;
	double dirty_bytes; /* of the whole machine, now; NaN: not known */
	double positioning_sec, bytes_per_sec;
};

struct canfs_waiting;

struct canfs_waiting *canfs_waiting_new(void);          /* NULL: no memory */
void canfs_waiting_free(struct canfs_waiting *waiting); /* NULL allowed */
size_t canfs_waiting_bytes(void);

/* What came since the last step, which is at most about a second ago; the first one only remembers. Of one thread. */
void canfs_waiting_step(struct canfs_waiting *waiting, uint64_t now_usec,
	struct canfs_clients *clients, const struct canfs_disk_sample *disk);

/* The pairs of the last whole seconds, as canfs_pairs_list(). From any thread. */
size_t canfs_waiting_list(struct canfs_waiting *waiting, uint64_t now_usec, unsigned int seconds,
	struct canfs_pair_row rows[CANFS_PAIRS_MAX]);

#endif
