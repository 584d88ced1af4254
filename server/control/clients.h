/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients load the server? A table of fixed size (CANFS_CLIENTS_MAX clients, about 42 KiB)
 * that keeps the heavy ones however many there are: Space-Saving (Metwally et al., ICDT 2005),
 * in sets, as a cache, so that one operation looks at eight tags in one cache line.
 *
 *	address --hash--> set | tag tag tag tag tag tag tag tag |
 *	                            |
 *	                            '-> slot: operations and bytes of reads and writes
 *
 * A client that is not in its set takes the place of the one with the least standing, and inherits
 * that standing: it has to be passed, so that a crowd of small clients cannot push out a heavy one.
 * Standing is an average of the load over CANFS_CLIENTS_TAU_SEC, so that yesterday's load gives way.
 *
 * canfs_clients_count() is for the data path, from any thread: a hit is two relaxed atomic additions
 * without a lock; a miss takes the lock if it is free, and else counts into "others". An operation
 * that meets the eviction of its client may be counted for the newcomer.
 */
#ifndef CANFS_SERVER_CONTROL_CLIENTS_H
#define CANFS_SERVER_CONTROL_CLIENTS_H

#include <netinet/in.h>
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

void canfs_clients_count(struct canfs_clients *clients, const struct sockaddr *address,
	enum canfs_client_op op, uint64_t bytes);

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
