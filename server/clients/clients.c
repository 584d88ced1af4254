// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/clients/clients.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "common/address.h"
#include "pricing/ghost.h"

struct sum {
	_Atomic uint64_t operations[CANFS_CLIENT_OPS];
	_Atomic uint64_t bytes[CANFS_CLIENT_OPS];
};

/* Any thread updates sum and load. The table's mutex protects the other members. */
struct slot {
	struct sum sum;
	struct canfs_client_load load;
	uint64_t measured;               /* flown_of_all() at the last measurement */
	double in_flight;                /* mean number of operations until then */
	struct canfs_client_sum at_tick; /* the sum at the last tick */
	struct canfs_client_row row;     /* without its sum */
	double standing;                 /* bytes per second */
};

struct set {
	_Alignas(64) _Atomic uint64_t tag[CANFS_CLIENTS_WAYS]; /* 0: free */
	struct slot slot[CANFS_CLIENTS_WAYS];
};

struct canfs_clients {
	struct set set[CANFS_CLIENTS_SETS];
	struct sum others;
	struct canfs_client_load others_load;
	uint64_t others_measured;
	double in_flight; /* mean number of operations, others included */
	uint64_t measured_usec;
	pthread_mutex_t mutex;
};

struct canfs_clients *canfs_clients_new(void)
{
	struct canfs_clients *clients =
		aligned_alloc(_Alignof(struct canfs_clients), sizeof(*clients));

	if (!clients)
		return NULL;
	memset(clients, 0, sizeof(*clients));
	pthread_mutex_init(&clients->mutex, NULL);
	return clients;
}

void canfs_clients_free(struct canfs_clients *clients)
{
	if (!clients)
		return;
	pthread_mutex_destroy(&clients->mutex);
	free(clients);
}

/* Never 0. The constants are those of SplitMix64. */
static uint64_t tag_of(const struct in6_addr *address)
{
	uint64_t half[2], hash;

	memcpy(half, address, sizeof(half));
	hash = half[0] * UINT64_C(0x9e3779b97f4a7c15) ^ half[1];
	hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
	return (hash ^ hash >> 31) | 1;
}

static struct set *set_of(struct canfs_clients *clients, uint64_t tag)
{
	return &clients->set[(tag >> 32) % CANFS_CLIENTS_SETS];
}

static void add(struct sum *sum, enum canfs_client_op op, uint64_t bytes)
{
	atomic_fetch_add_explicit(&sum->operations[op], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&sum->bytes[op], bytes, memory_order_relaxed);
}

static struct canfs_client_sum read_sum(const struct sum *sum)
{
	struct canfs_client_sum now;

	for (int op = 0; op < CANFS_CLIENT_OPS; op++) {
		now.operations[op] =
			atomic_load_explicit(&sum->operations[op], memory_order_relaxed);
		now.bytes[op] = atomic_load_explicit(&sum->bytes[op], memory_order_relaxed);
	}
	return now;
}

/* Resets sum to 0. Counts that other threads add meanwhile are not lost. */
static struct canfs_client_sum take_sum(struct sum *sum)
{
	struct canfs_client_sum taken;

	for (int op = 0; op < CANFS_CLIENT_OPS; op++) {
		taken.operations[op] =
			atomic_exchange_explicit(&sum->operations[op], 0, memory_order_relaxed);
		taken.bytes[op] =
			atomic_exchange_explicit(&sum->bytes[op], 0, memory_order_relaxed);
	}
	return taken;
}

static double load_of(double operations, double bytes)
{
	return bytes + operations * CANFS_CLIENTS_OPERATION_BYTES;
}

/* Standing plus the load since the last tick, at most about a second. */
static double weight_of(const struct slot *slot)
{
	struct canfs_client_sum now = read_sum(&slot->sum);
	double weight = slot->standing;

	for (int op = 0; op < CANFS_CLIENT_OPS; op++)
		weight += load_of((double)(now.operations[op] - slot->at_tick.operations[op]),
			(double)(now.bytes[op] - slot->at_tick.bytes[op]));
	return weight;
}

static int least_way(const struct set *set)
{
	double least = INFINITY;
	int way = 0;

	for (int i = 0; i < CANFS_CLIENTS_WAYS; i++) {
		double weight = weight_of(&set->slot[i]);

		if (set->tag[i] == 0)
			return i;
		if (weight < least) {
			least = weight;
			way = i;
		}
	}
	return way;
}

/* Time in flight until now of past and present operations, for canfs_client_flown_usec(). */
static uint64_t flown(const struct canfs_client_load *load, int wait, uint64_t now_usec)
{
	const uint64_t counted = (UINT64_C(1) << CANFS_CLIENT_TIME_SHIFT) - 1;
	uint64_t word = atomic_load_explicit(&load->in_flight[wait], memory_order_relaxed);

	return (word & ~counted) + (word & counted) * (now_usec << CANFS_CLIENT_TIME_SHIFT);
}

static uint64_t flown_of_all(const struct canfs_client_load *load, uint64_t now_usec)
{
	uint64_t sum = 0;

	for (int wait = 0; wait < CANFS_CLIENT_WAITS; wait++)
		sum += flown(load, wait, now_usec);
	return sum;
}

/* Finds or creates the client's slot. NULL: the lock is taken. */
static struct slot *admit(struct canfs_clients *clients, struct set *set, uint64_t tag,
	const struct in6_addr *address)
{
	struct canfs_client_sum gone;
	struct slot *slot = NULL;
	int way;

	if (pthread_mutex_trylock(&clients->mutex) != 0)
		return NULL;
	for (int i = 0; i < CANFS_CLIENTS_WAYS; i++) {
		if (set->tag[i] == tag) {
			slot = &set->slot[i];
			goto out;
		}
	}
	way = least_way(set);
	slot = &set->slot[way];
	slot->standing = weight_of(slot);
	atomic_store_explicit(&set->tag[way], 0, memory_order_relaxed);
	gone = take_sum(&slot->sum);
	for (int op = 0; op < CANFS_CLIENT_OPS; op++) {
		clients->others.operations[op] += gone.operations[op];
		clients->others.bytes[op] += gone.bytes[op];
	}
	slot->measured = flown_of_all(&slot->load, clients->measured_usec);
	slot->in_flight = 0;
	slot->at_tick = (struct canfs_client_sum) { 0 };
	slot->row = (struct canfs_client_row) { .address = *address };
	atomic_store_explicit(&set->tag[way], tag, memory_order_release);
out:
	pthread_mutex_unlock(&clients->mutex);
	return slot;
}

/* NULL: the client has no slot and the lock is taken. */
static struct slot *find_or_admit(struct canfs_clients *clients, const struct sockaddr *address)
{
	struct in6_addr plain;
	struct set *set;
	uint64_t tag;

	(void)canfs_read_address(address, &plain);
	tag = tag_of(&plain);
	set = set_of(clients, tag);
	for (int i = 0; i < CANFS_CLIENTS_WAYS; i++) {
		if (atomic_load_explicit(&set->tag[i], memory_order_acquire) == tag)
			return &set->slot[i];
	}
	return admit(clients, set, tag, &plain);
}

struct canfs_client_load *canfs_clients_count(struct canfs_clients *clients,
	const struct sockaddr *address, enum canfs_client_op op, uint64_t bytes)
{
	struct slot *slot = find_or_admit(clients, address);

	add(slot ? &slot->sum : &clients->others, op, bytes);
	return slot ? &slot->load : &clients->others_load;
}

struct canfs_client_load *canfs_clients_load(
	struct canfs_clients *clients, const struct sockaddr *address)
{
	struct slot *slot = find_or_admit(clients, address);

	return slot ? &slot->load : &clients->others_load;
}

/* Mean number in flight since *measured, which is set to now. */
static double in_flight(const struct canfs_client_load *load, uint64_t *measured, uint64_t now_usec,
	double elapsed_usec)
{
	uint64_t now = flown_of_all(load, now_usec);
	double mean = canfs_client_flown_usec(now, *measured) / elapsed_usec;

	*measured = now;
	return fmax(mean, 0);
}

static void measure(struct canfs_clients *clients, uint64_t now_usec, double elapsed_usec)
{
	clients->in_flight =
		in_flight(&clients->others_load, &clients->others_measured, now_usec, elapsed_usec);
	for (int i = 0; i < CANFS_CLIENTS_SETS; i++) {
		for (int way = 0; way < CANFS_CLIENTS_WAYS; way++) {
			struct slot *slot = &clients->set[i].slot[way];

			slot->in_flight =
				in_flight(&slot->load, &slot->measured, now_usec, elapsed_usec);
			clients->in_flight += slot->in_flight;
		}
	}
}

void canfs_clients_measure(struct canfs_clients *clients, uint64_t now_usec)
{
	pthread_mutex_lock(&clients->mutex);
	if (now_usec - clients->measured_usec >= CANFS_CLIENTS_MEASURE_USEC) {
		measure(clients, now_usec, (double)(now_usec - clients->measured_usec));
		clients->measured_usec = now_usec;
	}
	pthread_mutex_unlock(&clients->mutex);
}

double canfs_clients_others(struct canfs_clients *clients, const struct sockaddr *address)
{
	struct in6_addr plain;
	const struct set *set;
	double others;
	uint64_t tag;

	(void)canfs_read_address(address, &plain);
	tag = tag_of(&plain);
	set = set_of(clients, tag);
	pthread_mutex_lock(&clients->mutex);
	others = clients->in_flight;
	for (int i = 0; i < CANFS_CLIENTS_WAYS; i++) {
		if (set->tag[i] == tag)
			others -= set->slot[i].in_flight;
	}
	pthread_mutex_unlock(&clients->mutex);
	return fmax(others, 0);
}

static void sample_slot(
	const struct slot *slot, uint64_t now_usec, struct canfs_client_sample *sample)
{
	const struct canfs_client_load *load = &slot->load;

	sample->address = slot->row.address;
	sample->sum = read_sum(&slot->sum);
	for (int wait = 0; wait < CANFS_CLIENT_WAITS; wait++)
		sample->flown[wait] = flown(load, wait, now_usec);
	sample->disk_reads = load->disk_reads;
	sample->disk_read_bytes = load->disk_read_bytes;
	sample->ahead_bytes = load->ahead_bytes;
	sample->stable_writes = load->stable_writes;
	sample->stable_bytes = load->stable_bytes;
	sample->commits = load->commits;
}

void canfs_clients_sample(struct canfs_clients *clients, uint64_t now_usec,
	struct canfs_client_sample samples[CANFS_CLIENTS_MAX])
{
	pthread_mutex_lock(&clients->mutex);
	for (int i = 0; i < CANFS_CLIENTS_SETS; i++) {
		for (int way = 0; way < CANFS_CLIENTS_WAYS; way++)
			sample_slot(&clients->set[i].slot[way], now_usec,
				&samples[i * CANFS_CLIENTS_WAYS + way]);
	}
	pthread_mutex_unlock(&clients->mutex);
}

static void tick_slot(struct slot *slot, double elapsed_sec, double share)
{
	struct canfs_client_sum now = read_sum(&slot->sum);
	struct canfs_client_row *row = &slot->row;
	double recent = 0;

	row->load = 0;
	for (int op = 0; op < CANFS_CLIENT_OPS; op++) {
		double operations =
			(double)(now.operations[op] - slot->at_tick.operations[op]) / elapsed_sec;
		double bytes = (double)(now.bytes[op] - slot->at_tick.bytes[op]) / elapsed_sec;

		row->operations_per_sec[op] += share * (operations - row->operations_per_sec[op]);
		row->bytes_per_sec[op] += share * (bytes - row->bytes_per_sec[op]);
		row->load += load_of(row->operations_per_sec[op], row->bytes_per_sec[op]);
		recent += load_of(operations, bytes);
	}
	slot->standing += share * (recent - slot->standing);
	slot->at_tick = now;
}

void canfs_clients_tick(struct canfs_clients *clients, double elapsed_sec)
{
	double share = 1 - exp(-elapsed_sec / CANFS_CLIENTS_TAU_SEC);

	if (!(elapsed_sec > 0))
		return;
	pthread_mutex_lock(&clients->mutex);
	for (int i = 0; i < CANFS_CLIENTS_SETS; i++) {
		for (int way = 0; way < CANFS_CLIENTS_WAYS; way++)
			tick_slot(&clients->set[i].slot[way], elapsed_sec, share);
	}
	pthread_mutex_unlock(&clients->mutex);
}

/* Idle clients come last, sorted by their earlier bytes. */
static int by_load(const void *a, const void *b)
{
	const struct canfs_client_row *left = a, *right = b;
	uint64_t lefts = left->sum.bytes[0] + left->sum.bytes[1];
	uint64_t rights = right->sum.bytes[0] + right->sum.bytes[1];

	if (left->load != right->load)
		return left->load < right->load ? 1 : -1;
	return (lefts < rights) - (lefts > rights);
}

size_t canfs_clients_top(struct canfs_clients *clients, struct canfs_client_row *rows, size_t max,
	struct canfs_client_sum *others)
{
	struct canfs_client_row all[CANFS_CLIENTS_MAX];
	size_t count = 0;

	pthread_mutex_lock(&clients->mutex);
	for (int i = 0; i < CANFS_CLIENTS_SETS; i++) {
		const struct set *set = &clients->set[i];

		for (int way = 0; way < CANFS_CLIENTS_WAYS; way++) {
			if (set->tag[way] == 0)
				continue;
			all[count] = set->slot[way].row;
			all[count++].sum = read_sum(&set->slot[way].sum);
		}
	}
	if (others)
		*others = read_sum(&clients->others);
	pthread_mutex_unlock(&clients->mutex);
	qsort(all, count, sizeof(all[0]), by_load);
	if (count > max)
		count = max;
	if (count != 0)
		memcpy(rows, all, count * sizeof(rows[0]));
	return count;
}
