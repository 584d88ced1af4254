// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/waiting/shares.h"

#include <math.h>

/* Service time of an operation that waits for no other client and no disk. */
#define MEMORY_OPERATION_SEC 100e-6
#define MEMORY_BYTES_PER_SEC 500e6

/* The kernel sorts queued writes, so a write needs only part of the positioning time. */
#define SORTED_POSITIONING 0.5

/*
 * A sync flushes the drive's cache before and after the record that commits a journal transaction.
 */
#define FLUSHES_OF_SYNC 2

/* A decaying mean below these counts as 0. */
#define SERVICE_MIN 1e-6
#define AHEAD_MIN   4096.0 /* bytes per second */

static double part(double of, double whole)
{
	return whole > 0 ? of / whole : 0;
}

/* Sums over all clients, needed before the work can be divided. */
struct totals {
	double disk_reads, disk_read_bytes, read_bytes;
	double stable_bytes;
	double dirty_bytes; /* including bytes written in the interval */
	double syncs_per_sec, ahead_per_sec;
};

static struct totals sum_up(const struct canfs_interval_client *clients,
	struct canfs_client_account *accounts, size_t count, double elapsed_sec)
{
	double weight = 1 - exp(-elapsed_sec / CANFS_CAUSE_TAU_SEC);
	struct totals all = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct canfs_interval_client *client = &clients[i];
		struct canfs_client_account *account = &accounts[i];
		double syncs;

		if (client->absent)
			continue;
		syncs = (client->commits + client->stable_writes) / elapsed_sec;
		account->dirty_bytes += client->unstable_bytes;
		account->syncs_per_sec += weight * (syncs - account->syncs_per_sec);
		account->ahead_per_sec +=
			weight * (client->ahead_bytes / elapsed_sec - account->ahead_per_sec);
		all.disk_reads += client->disk_reads;
		all.disk_read_bytes += client->disk_read_bytes;
		all.read_bytes += client->read_bytes;
		all.stable_bytes += client->stable_bytes;
		all.dirty_bytes += account->dirty_bytes;
		all.syncs_per_sec += account->syncs_per_sec;
		all.ahead_per_sec += account->ahead_per_sec;
	}
	return all;
}

/* Divides the disk's work of the interval. */
struct division {
	struct totals all;
	double ahead_bytes;     /* read beyond what clients waited for */
	double drained_bytes;   /* of all dirty bytes */
	double drained_per_sec; /* recent mean */
	double write_sec_per_byte;
	double sync_sec;       /* flushes, and journal writes, which are no client's data */
	double flush_data_sec; /* part of the flushes: write-back from the drive's cache */
};

static struct division divide(const struct canfs_interval_disk *disk, struct totals all)
{
	struct division division = { .all = all };
	double write_sec = disk->writes * disk->positioning_sec * SORTED_POSITIONING +
			   disk->written_bytes / disk->bytes_per_sec;
	double left_bytes = disk->written_bytes;

	division.ahead_bytes = fmax(disk->read_bytes - all.disk_read_bytes, 0);
	division.write_sec_per_byte = part(write_sec, disk->written_bytes);
	left_bytes = fmax(left_bytes - all.stable_bytes, 0);
	division.drained_bytes = fmin(left_bytes, all.dirty_bytes);
	left_bytes -= division.drained_bytes;
	division.sync_sec = left_bytes * division.write_sec_per_byte;
	return division;
}

/*
 * Splits the dirty bytes that reached the disk between clients, in proportion to their dirty bytes.
 */
static void drain(const struct canfs_interval_client *clients,
	struct canfs_client_account *accounts, size_t count, struct division *division,
	double elapsed_sec)
{
	double weight = 1 - exp(-elapsed_sec / CANFS_CAUSE_TAU_SEC);

	for (size_t i = 0; i < count; i++) {
		struct canfs_client_account *account = &accounts[i];

		if (clients[i].absent)
			continue;
		account->drained_bytes = division->drained_bytes *
					 part(account->dirty_bytes, division->all.dirty_bytes);
		account->dirty_bytes -= account->drained_bytes;
		account->drained_per_sec +=
			weight * (account->drained_bytes / elapsed_sec - account->drained_per_sec);
		division->drained_per_sec += account->drained_per_sec;
	}
}

/*
 * Splits the time of flushes between the syncs that requested them and the cached data that they
 * write, which is write-back.
 */
static void divide_flushes(const struct canfs_interval_disk *disk, struct division *division)
{
	double data = division->drained_per_sec / disk->bytes_per_sec;
	double syncs = division->all.syncs_per_sec * FLUSHES_OF_SYNC * disk->positioning_sec;

	division->flush_data_sec = disk->flush_sec * part(data, data + syncs);
	division->sync_sec += disk->flush_sec - division->flush_data_sec;
}

/* Scales reads that seem to have waited for the disk down to what the disk has read. */
static double read_scale(const struct canfs_interval_disk *disk, const struct totals *all)
{
	return all->disk_read_bytes > disk->read_bytes
		       ? part(disk->read_bytes, all->disk_read_bytes)
		       : 1;
}

/*
 * The client's share of the bytes read ahead. If their owners are unknown, clients share them in
 * proportion to what they read.
 */
static double ahead_part(const struct canfs_interval_client *client,
	const struct canfs_client_account *account, const struct totals *all)
{
	if (all->ahead_per_sec >= AHEAD_MIN)
		return account->ahead_per_sec / all->ahead_per_sec;
	return all->disk_read_bytes > 0 ? part(client->disk_read_bytes, all->disk_read_bytes)
					: part(client->read_bytes, all->read_bytes);
}

static void serve(const struct canfs_interval_client *client, struct canfs_client_account *account,
	const struct canfs_interval_disk *disk, const struct division *division, double weight,
	double elapsed_sec)
{
	const struct totals *all = &division->all;
	double flush_data = division->flush_data_sec *
			    part(account->drained_per_sec, division->drained_per_sec);
	double sync = division->sync_sec * part(account->syncs_per_sec, all->syncs_per_sec);
	double service_sec[CANFS_WAIT_CAUSES] = {
		[CANFS_CAUSE_READ] = read_scale(disk, all) *
				     (client->disk_reads * disk->positioning_sec +
					     client->disk_read_bytes / disk->bytes_per_sec),
		[CANFS_CAUSE_READ_AHEAD] = ahead_part(client, account, all) *
					   division->ahead_bytes / disk->bytes_per_sec,
		[CANFS_CAUSE_WRITE_BACK] =
			account->drained_bytes * division->write_sec_per_byte + flush_data,
		[CANFS_CAUSE_SYNC] = client->stable_bytes * division->write_sec_per_byte + sync,
	};

	for (int cause = 0; cause < CANFS_WAIT_CAUSES; cause++) {
		account->service[cause] +=
			weight * (service_sec[cause] / elapsed_sec - account->service[cause]);
		if (account->service[cause] < SERVICE_MIN)
			account->service[cause] = 0;
	}
}

/*
 * Limits the accounts to the machine's dirty memory. Pages that were overwritten before write-back,
 * or discarded, were counted and never drain.
 */
static void bound_dirty(struct canfs_client_account *accounts, size_t count, double dirty_bytes)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += accounts[i].dirty_bytes;
	if (!(sum > dirty_bytes))
		return;
	for (size_t i = 0; i < count; i++)
		accounts[i].dirty_bytes *= dirty_bytes / sum;
}

double canfs_service_of(const struct canfs_client_account *account)
{
	double sum = 0;

	for (int cause = 0; cause < CANFS_WAIT_CAUSES; cause++)
		sum += account->service[cause];
	return sum;
}

/*
 * own_sec: time needed without other clients. own_part: the client's share of what it waited for.
 */
static double waited(double flown_sec, double own_sec, double own_part, double elapsed_sec)
{
	double held_up_sec = fmin(flown_sec, elapsed_sec);

	return fmax(fmin(held_up_sec - own_sec, held_up_sec * (1 - own_part)), 0);
}

static void wait(const struct canfs_interval_client *client, struct canfs_client_account *account,
	const struct canfs_interval_disk *disk, double service, double dirty_bytes,
	double elapsed_sec)
{
	double own_part = part(canfs_service_of(account), service);
	double disk_read_sec = client->disk_reads * disk->positioning_sec +
			       client->disk_read_bytes / disk->bytes_per_sec;
	double stable_sec = client->stable_writes * disk->positioning_sec +
			    client->stable_bytes / disk->bytes_per_sec;
	double memory_read_sec =
		fmax(client->reads - client->disk_reads, 0) * MEMORY_OPERATION_SEC +
		fmax(client->read_bytes - client->disk_read_bytes, 0) / MEMORY_BYTES_PER_SEC;
	double memory_write_sec =
		fmax(client->writes - client->stable_writes, 0) * MEMORY_OPERATION_SEC +
		client->unstable_bytes / MEMORY_BYTES_PER_SEC;

	account->waited_sec[CANFS_WAITING_READ] = waited(client->flown_sec[CANFS_WAIT_READ],
		disk_read_sec + memory_read_sec, own_part, elapsed_sec);
	account->waited_memory_sec = waited(client->flown_sec[CANFS_WAIT_WRITE], memory_write_sec,
		part(account->dirty_bytes, dirty_bytes), elapsed_sec);
	account->waited_sec[CANFS_WAITING_WRITE] =
		account->waited_memory_sec + waited(client->flown_sec[CANFS_WAIT_STABLE_WRITE],
						     stable_sec, own_part, elapsed_sec);
	account->waited_sec[CANFS_WAITING_COMMIT] = waited(client->flown_sec[CANFS_WAIT_COMMIT],
		client->commits * disk->positioning_sec, own_part, elapsed_sec);
}

void canfs_shares_step(const struct canfs_interval_client *clients,
	struct canfs_client_account *accounts, size_t count, const struct canfs_interval_disk *disk,
	double elapsed_sec)
{
	double weight = 1 - exp(-elapsed_sec / CANFS_SERVICE_TAU_SEC);
	struct division division = divide(disk, sum_up(clients, accounts, count, elapsed_sec));
	double service = 0, dirty_bytes = 0;

	drain(clients, accounts, count, &division, elapsed_sec);
	divide_flushes(disk, &division);
	for (size_t i = 0; i < count; i++) {
		if (!clients[i].absent)
			serve(&clients[i], &accounts[i], disk, &division, weight, elapsed_sec);
	}
	bound_dirty(accounts, count, disk->dirty_bytes);
	for (size_t i = 0; i < count; i++) {
		service += canfs_service_of(&accounts[i]);
		dirty_bytes += accounts[i].dirty_bytes;
	}
	for (size_t i = 0; i < count; i++) {
		if (!clients[i].absent)
			wait(&clients[i], &accounts[i], disk, service, dirty_bytes, elapsed_sec);
	}
}

struct canfs_waits canfs_shares_of(const struct canfs_client_account *bully,
	const struct canfs_client_account *victim, struct canfs_others others)
{
	double of_disk = part(1, others.service);
	double of_memory = part(bully->dirty_bytes, others.dirty_bytes);
	double memory_sec = victim->waited_memory_sec * of_memory, disk_sec = 0;
	struct canfs_waits waits = { 0 };

	for (int i = 0; i < CANFS_WAITING_OPERATIONS; i++) {
		double sec = victim->waited_sec[i];

		if (i == CANFS_WAITING_WRITE)
			sec -= victim->waited_memory_sec;
		disk_sec += sec;
		waits.operation[i] = sec * canfs_service_of(bully) * of_disk;
	}
	for (int cause = 0; cause < CANFS_WAIT_CAUSES; cause++)
		waits.cause[cause] = disk_sec * bully->service[cause] * of_disk;
	waits.operation[CANFS_WAITING_WRITE] += memory_sec;
	waits.cause[CANFS_CAUSE_WRITE_BACK] += memory_sec;
	return waits;
}
