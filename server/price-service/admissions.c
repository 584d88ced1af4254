// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/price-service/admissions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "common/address.h"
#include "common/hash.h"

#define PRIVILEGED_PORTS 1024

struct admission {
	struct in6_addr address;
	const void *export; /* NULL: free */
	uint64_t seen_usec;
	bool privileged;
};

struct canfs_admissions {
	pthread_mutex_t mutex;
	struct admission admission[CANFS_ADMISSION_SETS][CANFS_ADMISSION_WAYS];
};

/* address: IPv4 as ::ffff:a.b.c.d. */
struct client {
	struct in6_addr address;
	in_port_t port;
};

struct canfs_admissions *canfs_admissions_new(void)
{
	struct canfs_admissions *new = calloc(1, sizeof(*new));

	if (new)
		pthread_mutex_init(&new->mutex, NULL);
	return new;
}

void canfs_admissions_free(struct canfs_admissions *admissions)
{
	if (!admissions)
		return;
	pthread_mutex_destroy(&admissions->mutex);
	free(admissions);
}

static bool read_address(const struct sockaddr *address, struct client *client)
{
	/* The port is at the same offset in both families. */
	client->port = ntohs(((const struct sockaddr_in *)address)->sin_port);
	return canfs_read_address(address, &client->address);
}

static struct admission *set_of(
	struct canfs_admissions *admissions, const struct in6_addr *address, const void *export)
{
	uint64_t halves[2], hash;

	memcpy(halves, address, sizeof(halves));
	hash = canfs_hash(halves[0] ^ canfs_hash(halves[1] ^ canfs_hash((uintptr_t) export)));
	return admissions->admission[hash % CANFS_ADMISSION_SETS];
}

static struct admission *find(
	struct admission *set, const struct in6_addr *address, const void *export)
{
	for (int i = 0; i < CANFS_ADMISSION_WAYS; i++) {
		if (set[i].export == export && IN6_ARE_ADDR_EQUAL(&set[i].address, address))
			return &set[i];
	}
	return NULL;
}

static struct admission *least_recent(struct admission *set)
{
	struct admission *least = set;

	for (int i = 1; i < CANFS_ADMISSION_WAYS; i++) {
		if (set[i].seen_usec < least->seen_usec)
			least = &set[i];
	}
	return least;
}

void canfs_admissions_note(struct canfs_admissions *admissions, const struct sockaddr *address,
	const void *export, bool privileged, uint64_t now_usec)
{
	struct admission *set, *admission;
	struct client client;

	if (!read_address(address, &client))
		return;
	pthread_mutex_lock(&admissions->mutex);
	set = set_of(admissions, &client.address, export);
	admission = find(set, &client.address, export);
	if (!admission)
		admission = least_recent(set);
	*admission = (struct admission) { .address = client.address,
		.export = export,
		.seen_usec = now_usec,
		.privileged = privileged };
	pthread_mutex_unlock(&admissions->mutex);
}

void canfs_admissions_forget(struct canfs_admissions *admissions, const void *export)
{
	struct admission *admission = admissions->admission[0];

	pthread_mutex_lock(&admissions->mutex);
	for (size_t i = 0; i < CANFS_ADMISSION_SETS * CANFS_ADMISSION_WAYS; i++) {
		if (admission[i].export == export)
			admission[i] = (struct admission) { .seen_usec = 0 };
	}
	pthread_mutex_unlock(&admissions->mutex);
}

bool canfs_admissions_has(struct canfs_admissions *admissions, const struct sockaddr *address,
	const void *export, uint64_t now_usec)
{
	const struct admission *admission;
	struct client client;
	bool has;

	if (!read_address(address, &client))
		return false;
	pthread_mutex_lock(&admissions->mutex);
	admission = find(set_of(admissions, &client.address, export), &client.address, export);
	has = admission && now_usec - admission->seen_usec < CANFS_ADMISSION_USEC &&
	      (!admission->privileged || client.port < PRIVILEGED_PORTS);
	pthread_mutex_unlock(&admissions->mutex);
	return has;
}
