// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/waiting/waiting.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct canfs_waiting {
	/* Used by the thread that steps. */
	uint64_t stepped_usec; /* 0: no step yet */
	struct canfs_disk_sample disk;
	struct canfs_client_sample before[CANFS_CLIENTS_MAX], now[CANFS_CLIENTS_MAX];
	struct canfs_interval_client interval[CANFS_CLIENTS_MAX];
	struct canfs_client_account account[CANFS_CLIENTS_MAX];

	pthread_mutex_t mutex; /* protects the members below */
	struct canfs_pairs pairs;
};

_Static_assert(sizeof(struct canfs_waiting) <= 640 << 10, "memory is bounded");

struct canfs_waiting *canfs_waiting_new(void)
{
	struct canfs_waiting *waiting = calloc(1, sizeof(*waiting));

	if (waiting)
		pthread_mutex_init(&waiting->mutex, NULL);
	return waiting;
}

void canfs_waiting_free(struct canfs_waiting *waiting)
{
	if (!waiting)
		return;
	pthread_mutex_destroy(&waiting->mutex);
	free(waiting);
}

/*
 * A counter that went backwards counts as unchanged. A client may have been evicted and have
 * returned, or the disks may have changed.
 */
static double growth(uint64_t now, uint64_t before)
{
	return now > before ? (double)(now - before) : 0;
}

static struct canfs_interval_client client_interval(
	const struct canfs_client_sample *now, const struct canfs_client_sample *before)
{
	struct canfs_interval_client interval = {
		.reads = growth(now->sum.operations[CANFS_CLIENT_READ],
			before->sum.operations[CANFS_CLIENT_READ]),
		.read_bytes = growth(
			now->sum.bytes[CANFS_CLIENT_READ], before->sum.bytes[CANFS_CLIENT_READ]),
		.disk_reads = growth(now->disk_reads, before->disk_reads),
		.disk_read_bytes = growth(now->disk_read_bytes, before->disk_read_bytes),
		.ahead_bytes = growth(now->ahead_bytes, before->ahead_bytes),
		.writes = growth(now->sum.operations[CANFS_CLIENT_WRITE],
			before->sum.operations[CANFS_CLIENT_WRITE]),
		.stable_writes = growth(now->stable_writes, before->stable_writes),
		.stable_bytes = growth(now->stable_bytes, before->stable_bytes),
		.commits = growth(now->commits, before->commits),
	};
	double written_bytes =
		growth(now->sum.bytes[CANFS_CLIENT_WRITE], before->sum.bytes[CANFS_CLIENT_WRITE]);

	if (written_bytes > interval.stable_bytes)
		interval.unstable_bytes = written_bytes - interval.stable_bytes;
	for (int wait = 0; wait < CANFS_CLIENT_WAITS; wait++) {
		double usec = canfs_client_flown_usec(now->flown[wait], before->flown[wait]);

		interval.flown_sec[wait] = usec > 0 ? usec / 1e6 : 0;
	}
	return interval;
}

static struct canfs_interval_disk disk_interval(
	const struct canfs_disk_sample *now, const struct canfs_disk_sample *before)
{
	return (struct canfs_interval_disk) {
		.read_bytes = growth(now->read_bytes, before->read_bytes),
		.writes = growth(now->writes, before->writes),
		.written_bytes = growth(now->written_bytes, before->written_bytes),
		.flush_sec = growth(now->flush_msec, before->flush_msec) / 1e3,
		.dirty_bytes = now->dirty_bytes,
		.positioning_sec = now->positioning_sec,
		.bytes_per_sec = now->bytes_per_sec,
	};
}

/* As for the type "virtual" in server/monitors/disk_types.c. */
#define BACKEND_POSITIONING_SEC 2e-3
#define BACKEND_BYTES_PER_SEC   300e6

/*
 * Work of a back end without visible disks: exactly the clients' requests, at the time of the
 * request. Unstable writes therefore wait for the back end itself, not for memory.
 */
static struct canfs_interval_disk backend_interval(
	struct canfs_interval_client clients[CANFS_CLIENTS_MAX])
{
	struct canfs_interval_disk backend = { .dirty_bytes = (double)NAN,
		.positioning_sec = BACKEND_POSITIONING_SEC,
		.bytes_per_sec = BACKEND_BYTES_PER_SEC };

	for (size_t i = 0; i < CANFS_CLIENTS_MAX; i++) {
		struct canfs_interval_client *client = &clients[i];

		backend.read_bytes += client->disk_read_bytes + client->ahead_bytes;
		backend.writes += client->writes;
		backend.written_bytes += client->stable_bytes + client->unstable_bytes;
		backend.flush_sec +=
			(client->commits + client->stable_writes) * backend.positioning_sec;
		client->flown_sec[CANFS_WAIT_STABLE_WRITE] += client->flown_sec[CANFS_WAIT_WRITE];
		client->flown_sec[CANFS_WAIT_WRITE] = 0;
	}
	return backend;
}

/*
 * Computes the operations of each client in the interval. Nothing is known yet of a client that is
 * new in its slot.
 */
static void take_intervals(struct canfs_waiting *waiting)
{
	for (size_t i = 0; i < CANFS_CLIENTS_MAX; i++) {
		const struct canfs_client_sample *now = &waiting->now[i];
		struct canfs_client_sample *before = &waiting->before[i];
		struct canfs_interval_client *interval = &waiting->interval[i];

		*interval = (struct canfs_interval_client) { .absent = IN6_IS_ADDR_UNSPECIFIED(
								     &now->address) };
		if (!IN6_ARE_ADDR_EQUAL(&now->address, &before->address))
			waiting->account[i] = (struct canfs_client_account) { 0 };
		else if (!interval->absent)
			*interval = client_interval(now, before);
		*before = *now;
	}
}

/* Finds the clients with the most service. Returns their number. */
static size_t find_bullies(const struct canfs_waiting *waiting, size_t bullies[CANFS_BULLIES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < CANFS_CLIENTS_MAX; i++) {
		double service = canfs_service_of(&waiting->account[i]);
		size_t at = count;

		if (service == 0)
			continue;
		while (at > 0 && canfs_service_of(&waiting->account[bullies[at - 1]]) < service)
			at--;
		if (at == CANFS_BULLIES_MAX)
			continue;
		count += count < CANFS_BULLIES_MAX;
		memmove(&bullies[at + 1], &bullies[at], (count - at - 1) * sizeof(bullies[0]));
		bullies[at] = i;
	}
	return count;
}

static bool has_waited(const struct canfs_client_account *account)
{
	for (int i = 0; i < CANFS_WAITING_OPERATIONS; i++) {
		if (account->waited_sec[i] > 0)
			return true;
	}
	return false;
}

static void add_victim(struct canfs_waiting *waiting, size_t victim, const size_t *bullies,
	size_t count, struct canfs_others all)
{
	const struct canfs_client_account *account = &waiting->account[victim];
	struct canfs_others others = { .service = all.service - canfs_service_of(account),
		.dirty_bytes = all.dirty_bytes - account->dirty_bytes };

	for (size_t i = 0; i < count; i++) {
		struct canfs_waits waits;

		if (bullies[i] == victim)
			continue;
		waits = canfs_shares_of(&waiting->account[bullies[i]], account, others);
		canfs_pairs_add(&waiting->pairs, &waiting->now[bullies[i]].address,
			&waiting->now[victim].address, &waits);
	}
}

static void add_pairs(struct canfs_waiting *waiting)
{
	size_t bullies[CANFS_BULLIES_MAX], count = find_bullies(waiting, bullies);
	struct canfs_others all = { 0 };

	for (size_t i = 0; i < CANFS_CLIENTS_MAX; i++) {
		all.service += canfs_service_of(&waiting->account[i]);
		all.dirty_bytes += waiting->account[i].dirty_bytes;
	}
	for (size_t i = 0; i < CANFS_CLIENTS_MAX; i++) {
		if (has_waited(&waiting->account[i]))
			add_victim(waiting, i, bullies, count, all);
	}
}

void canfs_waiting_step(struct canfs_waiting *waiting, uint64_t now_usec,
	struct canfs_clients *clients, const struct canfs_disk_sample *disk)
{
	double elapsed_sec = (double)(now_usec - waiting->stepped_usec) / 1e6;
	struct canfs_interval_disk interval;
	bool first = waiting->stepped_usec == 0 || disk->disks != waiting->disk.disks;

	if (now_usec <= waiting->stepped_usec)
		return;
	canfs_clients_sample(clients, now_usec, waiting->now);
	take_intervals(waiting);
	interval = disk->disks > 0 ? disk_interval(disk, &waiting->disk)
				   : backend_interval(waiting->interval);
	waiting->disk = *disk;
	waiting->stepped_usec = now_usec;
	if (first)
		return;
	canfs_shares_step(
		waiting->interval, waiting->account, CANFS_CLIENTS_MAX, &interval, elapsed_sec);
	pthread_mutex_lock(&waiting->mutex);
	canfs_pairs_begin(&waiting->pairs, now_usec / 1000000);
	add_pairs(waiting);
	pthread_mutex_unlock(&waiting->mutex);
}

size_t canfs_waiting_list(struct canfs_waiting *waiting, uint64_t now_usec, unsigned int seconds,
	struct canfs_pair_row rows[CANFS_PAIRS_MAX])
{
	size_t count;

	pthread_mutex_lock(&waiting->mutex);
	canfs_pairs_begin(&waiting->pairs, now_usec / 1000000);
	count = canfs_pairs_list(&waiting->pairs, seconds, rows);
	pthread_mutex_unlock(&waiting->mutex);
	return count;
}
