/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients load the server? A table of fixed size (CANFS_CLIENTS_MAX clients, about 48 KiB)
 * that keeps the heavy ones however many there are: Space-Saving (Metwally et al., ICDT 2005),
 * in sets, as a cache, so that one operation looks at eight tags in one cache line.
 *
 *	address --hash--> set | tag tag tag tag tag tag tag tag |
 *	                            |
 *	                            '-> slot: operations and bytes of reads and writes, and the time that they took
 *
 * A client that is not in its set takes the place of the one with the least standing, and inherits
 * that standing: it has to be passed, so that a crowd of small clients cannot push out a heavy one.
 * Standing is an average of the load over CANFS_CLIENTS_TAU_SEC, so that yesterday's load gives way.
 *
 * canfs_clients_count() is for the data path, from any thread: a hit is two relaxed atomic additions
 * without a lock; a miss takes the lock if it is free, and else counts into "others". An operation
 * that meets the eviction of its client may be counted for the newcomer.
 *
 * The time that its operations took, in a second of the clock, is how many of a client's are in flight (Little's law).
 */
#ifndef CANFS_SERVER_CLIENTS_CLIENTS_H
#define CANFS_SERVER_CLIENTS_CLIENTS_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CANFS_CLIENTS_SETS    32
#define CANFS_CLIENTS_WAYS    8
#define CANFS_CLIENTS_MAX     (CANFS_CLIENTS_SETS * CANFS_CLIENTS_WAYS)
#define CANFS_CLIENTS_TAU_SEC 10

/* Load is in bytes; an operation counts as so many in addition to its own. */
#define CANFS_CLIENTS_OPERATION_BYTES 16384

enum canfs_client_op { CANFS_CLIENT_READ, CANFS_CLIENT_WRITE, CANFS_CLIENT_OPS };

struct canfs_client_sum {
	uint64_t operations[CANFS_CLIENT_OPS];
	uint64_t bytes[CANFS_CLIENT_OPS];
};

struct canfs_client_row {
	struct in6_addr address;     /* IPv4 as ::ffff:a.b.c.d; :: if it is of another family */
	struct canfs_client_sum sum; /* since it is in the table */
	double operations_per_sec[CANFS_CLIENT_OPS]; /* averaged over CANFS_CLIENTS_TAU_SEC */
	double bytes_per_sec[CANFS_CLIENT_OPS];
	double load; /* of these, in bytes per second */
};

struct canfs_clients;

/* NULL: no memory. */
struct canfs_clients *canfs_clients_new(void);
void canfs_clients_free(struct canfs_clients *clients); /* NULL allowed */

/* Of all operations of a client; stays as long as the table, if it may be another client's then. */
struct canfs_client_time {
	_Atomic uint64_t usec;
};

/* Returns where the operation's time is to be added once it is over. */
struct canfs_client_time *canfs_clients_count(struct canfs_clients *clients,
	const struct sockaddr *address, enum canfs_client_op op, uint64_t bytes);

/* The same for an operation that is not counted: a commit. */
struct canfs_client_time *canfs_clients_time(
	struct canfs_clients *clients, const struct sockaddr *address);

static inline void canfs_clients_took(struct canfs_client_time *time, uint64_t usec)
{
	atomic_fetch_add_explicit(&time->usec, usec, memory_order_relaxed);
}

/* Makes of the times how many operations are in flight, unless it was done within CANFS_CLIENTS_MEASURE_USEC. */
#define CANFS_CLIENTS_MEASURE_USEC 50000
void canfs_clients_measure(struct canfs_clients *clients, uint64_t now_usec);

/* How many operations of clients at other addresses were in flight on average, from one measurement to the last. */
double canfs_clients_others(struct canfs_clients *clients, const struct sockaddr *address);

/* To be called about once a second: makes rates of what was counted in elapsed_sec (> 0). */
void canfs_clients_tick(struct canfs_clients *clients, double elapsed_sec);

/*
 * The up to max rows of the highest load, highest first; returns how many. *others is what was
 * counted for clients that are not in the table (any more). Both NULL allowed with max 0.
 */
size_t canfs_clients_top(struct canfs_clients *clients, struct canfs_client_row *rows, size_t max,
	struct canfs_client_sum *others);

/* What the table takes of memory. */
size_t canfs_clients_bytes(void);

#endif
