/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whose service did those wait for who waited in an interval? Nobody records the order in which a disk served its queue: it is
 * told from what each client had in flight, and what the disk did.
 *
 *	what the disk did            whose it was: service_sec of each client, by cause
 *	  reads -------------------> as their reads that waited for the disk; what it read beyond those: read-ahead
 *	  writes ------------------> stable writes as they come; the rest drains what each has written unstably: write-back
 *	  flushes -----------------> commits and stable writes, as many as each has; but write-back, as far as a flush took so
 *	                             long for the data that it found in the drive's cache
 *
 *	how long B had operations in flight, W, with S for B's own service and T for that of all:
 *
 *	  waited for others = min(W - S, W * (1 - S / T)), for each in proportion to its service
 *
 * The first is what one operation at a time waits: not while it is served itself. The second is what many at a time wait: for
 * each other, too, which is nobody else's doing. Both are the smaller one in the other's case. Writes that are not stable wait
 * for memory: for the dirty pages of others, in proportion to these.
 *
 * W is time of the client, not of its requests: with ten in flight it waits one second a second, as with one. Else who has the
 * deepest queue would be the first of the victims, and a client that reads a little beside it one of the bullies.
 *
 * Pure: no I/O, no clock, no lock, plain data in and out.
 */
#ifndef CANFS_SERVER_WAITING_SHARES_H
#define CANFS_SERVER_WAITING_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include "server/clients/clients.h"

/* What was waited for. Nobody waits for read-ahead and for most write-back. */
enum canfs_wait_cause {
	CANFS_CAUSE_READ,
	CANFS_CAUSE_READ_AHEAD,
	CANFS_CAUSE_WRITE_BACK,
	CANFS_CAUSE_SYNC, /* commits and stable writes */
	CANFS_WAIT_CAUSES
};

/* What waited: canfs_client_wait, with both kinds of writes together. */
enum canfs_wait_operation {
	CANFS_WAITING_READ,
	CANFS_WAITING_WRITE,
	CANFS_WAITING_COMMIT,
	CANFS_WAITING_OPERATIONS
};

/* What the disk did in the interval, and what it is. */
struct canfs_interval_disk {
	double read_bytes;
	double writes, written_bytes;
	double flush_sec;       /* waited for its flushes */
	double dirty_bytes;     /* of the whole machine, now; NaN: not known */
	double positioning_sec; /* of one request by itself */
	double bytes_per_sec;   /* in sequence */
};

/* What a client did in the interval. */
struct canfs_interval_client {
	bool absent; /* there is no such client, and its account is all zero: most places of a table are empty */
	double flown_sec[CANFS_CLIENT_WAITS];
	double reads, read_bytes;
	double disk_reads, disk_read_bytes; /* of these the ones that waited for the disk */
	double ahead_bytes;                 /* that were read ahead on its account */
	double writes, unstable_bytes;
	double stable_writes, stable_bytes;
	double commits;
};

/* What is kept of a client from interval to interval; all zero at first. */
struct canfs_client_account {
	double dirty_bytes;     /* written unstably, and not by the disk yet */
	double drained_bytes;   /* of these the disk has written in this interval */
	double drained_per_sec; /* recently */
	double syncs_per_sec;   /* commits and stable writes, recently */
	double ahead_per_sec;   /* bytes to be read ahead, recently */
	/* Of the disk, in a second, recently: a request is seen to have been served when it ends, and was waited for before. */
	double service[CANFS_WAIT_CAUSES];
	double waited_sec[CANFS_WAITING_OPERATIONS]; /* for others, in this interval */
	double waited_memory_sec;                    /* of that, for memory */
};

#define CANFS_SERVICE_TAU_SEC 0.2
#define CANFS_CAUSE_TAU_SEC   0.5 /* from a cause to what the disk does for it */

/* Brings the accounts of `count` clients up to date with an interval of elapsed_sec (> 0). */
void canfs_shares_step(const struct canfs_interval_client *clients,
	struct canfs_client_account *accounts, size_t count, const struct canfs_interval_disk *disk,
	double elapsed_sec);

/* What one client, the victim, waited for another, in seconds: by what waited, and by what it waited for. Both have the same sum. */
struct canfs_waits {
	double operation[CANFS_WAITING_OPERATIONS];
	double cause[CANFS_WAIT_CAUSES];
};

/* Sums over the accounts of all, but for the victim's own. */
struct canfs_others {
	double service, dirty_bytes;
};

/* What the victim waited for the bully; of the accounts after a step. */
struct canfs_waits canfs_shares_of(const struct canfs_client_account *bully,
	const struct canfs_client_account *victim, struct canfs_others others);

double canfs_service_of(const struct canfs_client_account *account);

#endif
