/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Computes for an interval which client waited for the disk work of which other client. The order
 * in which a disk served its queue is not recorded. The result is computed from the operations that
 * each client had in flight and from the work of the disk.
 *
 *	what the disk did            attributed to: service_sec of each client, by cause
 *	  reads -------------------> clients whose reads waited for the disk; bytes beyond those: read-ahead
 *	  writes ------------------> stable writes of the interval; the rest drains unstable writes: write-back
 *	  flushes -----------------> commits and stable writes, by their number; the time for data in the drive's
 *	                             cache: write-back
 *
 *	client B had operations in flight for W seconds; S is B's own service, T that of all clients:
 *
 *	  waited for others = min(W - S, W * (1 - S / T)), split among the others in proportion to their service
 *
 * W - S is the wait of a client with one operation at a time: it does not wait while it is served.
 * W * (1 - S / T) is the wait with many operations at a time: these also wait for each other, which
 * is not caused by another client. Each term is the smaller one in its own case. Unstable writes
 * wait for memory: for the dirty pages of others, in proportion to these.
 *
 * W is time of the client, not of its requests. Ten requests in flight wait one second per second,
 * as one request does. Otherwise the client with the deepest queue would be the first victim, and a
 * client that reads a little beside it would be a bully.
 *
 * Pure: no I/O, no clock, no lock, plain data in and out.
 */
#ifndef CANFS_SERVER_WAITING_SHARES_H
#define CANFS_SERVER_WAITING_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include "server/clients/clients.h"

/* Kinds of disk work that a bully causes. No client waits for read-ahead or for most write-back. */
enum canfs_wait_cause {
	CANFS_CAUSE_READ,
	CANFS_CAUSE_READ_AHEAD,
	CANFS_CAUSE_WRITE_BACK,
	CANFS_CAUSE_SYNC, /* commits and stable writes */
	CANFS_WAIT_CAUSES
};

/* The kind of operation that waited: canfs_client_wait, with both kinds of writes merged. */
enum canfs_wait_operation {
	CANFS_WAITING_READ,
	CANFS_WAITING_WRITE,
	CANFS_WAITING_COMMIT,
	CANFS_WAITING_OPERATIONS
};

/* Work of the disk in the interval, and its properties. */
struct canfs_interval_disk {
	double read_bytes;
	double writes, written_bytes;
	double flush_sec;       /* waiting time of its flushes */
	double dirty_bytes;     /* of the whole machine, now; NaN: unknown */
	double positioning_sec; /* of one request on an idle disk */
	double bytes_per_sec;   /* sequential */
};

/* Work of a client in the interval. */
struct canfs_interval_client {
	bool absent; /* no such client, and its account is all zero */
	double flown_sec[CANFS_CLIENT_WAITS];
	double reads, read_bytes;
	double disk_reads, disk_read_bytes; /* of all reads, those that waited for the disk */
	double ahead_bytes;                 /* read ahead because of this client */
	double writes, unstable_bytes;
	double stable_writes, stable_bytes;
	double commits;
};

/* A client's state from interval to interval. All zero at first. */
struct canfs_client_account {
	double dirty_bytes;     /* written unstably and not yet on the disk */
	double drained_bytes;   /* of these, written to the disk in this interval */
	double drained_per_sec; /* recent mean */
	double syncs_per_sec;   /* commits and stable writes, recent mean */
	double ahead_per_sec;   /* bytes to be read ahead, recent mean */
	/*
	 * Seconds of disk time per second, recent mean. A mean, because a request is counted when
	 * it ends, but was waited for before.
	 */
	double service[CANFS_WAIT_CAUSES];
	double waited_sec[CANFS_WAITING_OPERATIONS]; /* for others, in this interval */
	double waited_memory_sec; /* part of waited_sec[CANFS_WAITING_WRITE]: for memory */
};

#define CANFS_SERVICE_TAU_SEC 0.2
#define CANFS_CAUSE_TAU_SEC   0.5 /* from a cause to the resulting disk work */

/* Updates the accounts of `count` clients with an interval of elapsed_sec (> 0). */
void canfs_shares_step(const struct canfs_interval_client *clients,
	struct canfs_client_account *accounts, size_t count, const struct canfs_interval_disk *disk,
	double elapsed_sec);

/*
 * Seconds that one client, the victim, waited for another, by operation and by cause. Both arrays
 * have the same sum.
 */
struct canfs_waits {
	double operation[CANFS_WAITING_OPERATIONS];
	double cause[CANFS_WAIT_CAUSES];
};

/* Sums over all accounts except the victim's. */
struct canfs_others {
	double service, dirty_bytes;
};

/* Seconds that the victim waited for the bully. Call this after canfs_shares_step(). */
struct canfs_waits canfs_shares_of(const struct canfs_client_account *bully,
	const struct canfs_client_account *victim, struct canfs_others others);

double canfs_service_of(const struct canfs_client_account *account);

#endif
