// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/revoked.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct slot {
	uint64_t file, version;
	const void *address; /* NULL: the slot is empty */
};

struct canfs_revoked {
	pthread_mutex_t lock;
	_Atomic unsigned int count; /* of used slots */
	struct slot slot[CANFS_REVOKED_SLOTS];
};

struct canfs_revoked *canfs_revoked_new(void)
{
	struct canfs_revoked *revoked = calloc(1, sizeof(*revoked));

	if (revoked)
		pthread_mutex_init(&revoked->lock, NULL);
	return revoked;
}

void canfs_revoked_free(struct canfs_revoked *revoked)
{
	if (revoked)
		pthread_mutex_destroy(&revoked->lock);
	free(revoked);
}

bool canfs_revoked_any(const struct canfs_revoked *revoked)
{
	return atomic_load(&revoked->count) != 0;
}

static struct slot *slot_of(struct canfs_revoked *revoked, uint64_t file)
{
	return &revoked->slot[file % CANFS_REVOKED_SLOTS];
}

void canfs_revoked_add(
	struct canfs_revoked *revoked, uint64_t file, const void *address, uint64_t version)
{
	struct slot *slot = slot_of(revoked, file);

	if (!address)
		return;
	pthread_mutex_lock(&revoked->lock);
	if (!slot->address)
		atomic_fetch_add(&revoked->count, 1);
	*slot = (struct slot) { .file = file, .address = address, .version = version };
	pthread_mutex_unlock(&revoked->lock);
}

static bool find(struct canfs_revoked *revoked, uint64_t file, const void *address,
	uint64_t *version, bool forget)
{
	struct slot *slot = slot_of(revoked, file);
	bool found;

	if (!address)
		return false;
	pthread_mutex_lock(&revoked->lock);
	found = slot->address == address && slot->file == file;
	if (found)
		*version = slot->version;
	if (found && forget) {
		slot->address = NULL;
		atomic_fetch_sub(&revoked->count, 1);
	}
	pthread_mutex_unlock(&revoked->lock);
	return found;
}

bool canfs_revoked_find(
	struct canfs_revoked *revoked, uint64_t file, const void *address, uint64_t *version)
{
	return find(revoked, file, address, version, false);
}

bool canfs_revoked_take(
	struct canfs_revoked *revoked, uint64_t file, const void *address, uint64_t *version)
{
	return find(revoked, file, address, version, true);
}
