/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients load the server? A table of fixed size (CANFS_CLIENTS_MAX clients, about 68 KiB)
 * holds the clients with the highest load. The algorithm is Space-Saving (Metwally et al., ICDT
 * 2005). The table is split into sets, as a CPU cache is, so that an operation reads eight tags in
 * one cache line.
 *
 *	address --hash--> set | tag tag tag tag tag tag tag tag |
 *	                            |
 *	                            '-> slot: operations and bytes of reads and writes, and the time that they took
 *
 * A client that is not in its set replaces the client with the least standing and inherits that
 * standing. A newcomer must exceed the inherited standing, so a crowd of small clients cannot evict
 * a heavy one. Standing is the average load over CANFS_CLIENTS_TAU_SEC, so old load fades.
 *
 * canfs_clients_count() is for the data path, from any thread. A hit is two relaxed atomic
 * additions without a lock. A miss takes the lock if it is free, and otherwise counts into
 * "others". If a client is evicted during an operation, the operation may be counted for the
 * newcomer.
 *
 * The time that operations are in flight, per second of the clock, is the mean number in flight
 * (Little's law). One word holds that time and the number in flight. The start and the end of an
 * operation are therefore one addition each, and a reader gets a consistent pair:
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

/* Load is in bytes. Each operation adds this many bytes to its own. */
#define CANFS_CLIENTS_OPERATION_BYTES 16384

enum canfs_client_op { CANFS_CLIENT_READ, CANFS_CLIENT_WRITE, CANFS_CLIENT_OPS };

/* Kinds of operations that a client waits for. An unstable write waits at most for memory. */
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
	struct in6_addr address;     /* IPv4 as ::ffff:a.b.c.d; :: if of another family */
	struct canfs_client_sum sum; /* since the client entered the table */
	double operations_per_sec[CANFS_CLIENT_OPS]; /* averaged over CANFS_CLIENTS_TAU_SEC */
	double bytes_per_sec[CANFS_CLIENT_OPS];
	double load; /* bytes per second, of these rates */
};

struct canfs_clients;

/* NULL: out of memory. */
struct canfs_clients *canfs_clients_new(void);
void canfs_clients_free(struct canfs_clients *clients); /* NULL allowed */

/*
 * Operations of a client in flight, and counters of their effects. The pointer stays valid until
 * the table is freed, but its slot may be given to another client.
 */
struct canfs_client_load {
	_Atomic uint64_t in_flight[CANFS_CLIENT_WAITS];
	_Atomic uint64_t disk_reads,
		disk_read_bytes;      /* reads, of all its reads, that waited for the disk */
	_Atomic uint64_t ahead_bytes; /* read ahead because of its reads, wanted or not */
	_Atomic uint64_t stable_writes, stable_bytes; /* of all its writes */
	_Atomic uint64_t commits;
};

/* Counts an operation. Returns the load to pass to canfs_client_begin() and canfs_client_end(). */
struct canfs_client_load *canfs_clients_count(struct canfs_clients *clients,
	const struct sockaddr *address, enum canfs_client_op op, uint64_t bytes);

/* Returns the same load without counting an operation. For commits. */
struct canfs_client_load *canfs_clients_load(
	struct canfs_clients *clients, const struct sockaddr *address);

#define CANFS_CLIENT_TIME_SHIFT 16

/*
 * Call these when an operation starts and ends. A client may have at most 65535 operations in
 * flight.
 */
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
 * A read that takes at least this long counts as one that waited for a disk. A read from memory
 * takes a tenth of this time, a read from flash about this time. On a server short of CPU some
 * reads from memory take this long, too. The disk's own counters bound the resulting error.
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

/* A snapshot of a client's load, to compare with an earlier one. */
struct canfs_client_sample {
	struct in6_addr address;
	struct canfs_client_sum sum;
	uint64_t flown[CANFS_CLIENT_WAITS]; /* for canfs_client_flown_usec() */
	uint64_t disk_reads, disk_read_bytes, ahead_bytes, stable_writes, stable_bytes, commits;
};

/*
 * Time in flight between two samples of the same table slot. May be a few microseconds below 0; the
 * next difference is larger by the same amount.
 */
static inline double canfs_client_flown_usec(uint64_t now, uint64_t before)
{
	return (double)(int64_t)(now - before) / (1 << CANFS_CLIENT_TIME_SHIFT);
}

/* Samples all slots of the table. A free slot has the address "::". */
void canfs_clients_sample(struct canfs_clients *clients, uint64_t now_usec,
	struct canfs_client_sample samples[CANFS_CLIENTS_MAX]);

/*
 * Computes the mean number of operations in flight since the last measurement. Does nothing if that
 * was less than CANFS_CLIENTS_MEASURE_USEC ago.
 */
#define CANFS_CLIENTS_MEASURE_USEC 50000
void canfs_clients_measure(struct canfs_clients *clients, uint64_t now_usec);

/*
 * Mean number of operations in flight, of clients at other addresses, between the last two
 * measurements.
 */
double canfs_clients_others(struct canfs_clients *clients, const struct sockaddr *address);

/* Call this about once a second. Computes rates from the counts of the last elapsed_sec (> 0). */
void canfs_clients_tick(struct canfs_clients *clients, double elapsed_sec);

/*
 * Returns the number of rows filled: at most max, the highest load first. *others counts the
 * operations of evicted clients and of clients that found the table locked. others may be NULL;
 * rows may be NULL if max is 0.
 */
size_t canfs_clients_top(struct canfs_clients *clients, struct canfs_client_row *rows, size_t max,
	struct canfs_client_sum *others);

#endif
