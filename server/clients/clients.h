/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients load the server? A table of fixed size (CANFS_CLIENTS_MAX clients, about 68 KiB)
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
 * The time that its operations are in flight, in a second of the clock, is how many of them are (Little's law). One word of a
 * client has both, so that the beginning and the end of an operation are one addition each, and a reader of it sees them
 * together, with what is in flight just now:
 *
 *	63                                              16 15         0
 *	| sum of ends - sum of beginnings, usec, mod 2^48 | in flight |     + in flight * now = the time until now
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

/* What a client may wait for. A write that is not stable waits for memory only, if at all. */
enum canfs_client_wait {
	CANFS_WAIT_READ,
	CANFS_WAIT_WRITE,
	CANFS_WAIT_STABLE_WRITE,
	CANFS_WAIT_COMMIT,
	CANFS_CLIENT_WAITS
};

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

/* What is in flight of a client, and what came of it; stays as long as the table, if it may be another client's then. */
struct canfs_client_load {
	_Atomic uint64_t in_flight[CANFS_CLIENT_WAITS];
	_Atomic uint64_t disk_reads,
		disk_read_bytes;      /* of its reads those that waited for the disk */
	_Atomic uint64_t ahead_bytes; /* read ahead as it read, whether it asks for them or not */
	_Atomic uint64_t stable_writes, stable_bytes; /* of its writes */
	_Atomic uint64_t commits;
};

/* Returns where the operation is to begin and to end. */
struct canfs_client_load *canfs_clients_count(struct canfs_clients *clients,
	const struct sockaddr *address, enum canfs_client_op op, uint64_t bytes);

/* The same for an operation that is not counted: a commit. */
struct canfs_client_load *canfs_clients_load(
	struct canfs_clients *clients, const struct sockaddr *address);

#define CANFS_CLIENT_TIME_SHIFT 16

/* An operation begins, and ends. Of one client at most 65535 may be in flight. */
static inline void canfs_client_begin(
	struct canfs_client_load *load, enum canfs_client_wait wait, uint64_t now_usec)
{
	atomic_fetch_add_explicit(&load->in_flight[wait], 1 - (now_usec << CANFS_CLIENT_TIME_SHIFT),
		memory_order_relaxed);
}

static inline void canfs_client_end(
	struct canfs_client_load *load, enum canfs_client_wait wait, uint64_t now_usec)
{
	atomic_fetch_add_explicit(&load->in_flight[wait], (now_usec << CANFS_CLIENT_TIME_SHIFT) - 1,
		memory_order_relaxed);
}

/*
 * A read that took at least so long has waited for a disk, as far as its time can tell: out of memory one takes a tenth of it, from
 * flash about as long. Where a processor is short, some that have not pass for it; the disk's own counters bound what comes of that.
 */
#define CANFS_DISK_READ_USEC 500

static inline void canfs_client_note_disk_read(struct canfs_client_load *load, uint64_t bytes)
{
	atomic_fetch_add_explicit(&load->disk_reads, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&load->disk_read_bytes, bytes, memory_order_relaxed);
}

static inline void canfs_client_note_ahead(struct canfs_client_load *load, uint64_t bytes)
{
	atomic_fetch_add_explicit(&load->ahead_bytes, bytes, memory_order_relaxed);
}

static inline void canfs_client_note_stable(struct canfs_client_load *load, uint64_t bytes)
{
	atomic_fetch_add_explicit(&load->stable_writes, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&load->stable_bytes, bytes, memory_order_relaxed);
}

static inline void canfs_client_note_commit(struct canfs_client_load *load)
{
	atomic_fetch_add_explicit(&load->commits, 1, memory_order_relaxed);
}

/* A client's load, to be compared with an earlier one. */
struct canfs_client_sample {
	struct in6_addr address;
	struct canfs_client_sum sum;
	uint64_t flown[CANFS_CLIENT_WAITS]; /* canfs_client_flown_usec() knows what it is */
	uint64_t disk_reads, disk_read_bytes, ahead_bytes, stable_writes, stable_bytes, commits;
};

/* Between two samples of one place of the table: may be a few microseconds below 0, which the next one makes up for. */
static inline double canfs_client_flown_usec(uint64_t now, uint64_t before)
{
	return (double)(int64_t)(now - before) / (1 << CANFS_CLIENT_TIME_SHIFT);
}

/* Of all places of the table; one that is free has the address "::". */
void canfs_clients_sample(struct canfs_clients *clients, uint64_t now_usec,
	struct canfs_client_sample samples[CANFS_CLIENTS_MAX]);

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
