// SPDX-License-Identifier: LGPL-3.0-or-later
/* Which operations conflict with which delegations, and the recalls that follow. */
#include "ganesha-fsal/delegations/core/holders.h"

#include <pthread.h>
#include <stdatomic.h>

#include <uthash.h>

#include "ganesha-fsal/delegations/core/holders_internal.h"

#define RECALL_USEC 1000000

static _Atomic uint64_t *gone_slot(struct canfs_holders *holders, uint64_t client)
{
	return &holders->gone[client % GONE_SLOTS];
}

void canfs_holders_gone(struct canfs_holders *holders, struct canfs_nfs_client client)
{
	atomic_store(gone_slot(holders, client.id), client.id);
}

static bool is_gone(struct canfs_holders *holders, uint64_t client)
{
	return client != 0 && atomic_load(gone_slot(holders, client)) == client;
}

static void is_there(struct canfs_holders *holders, uint64_t client)
{
	if (is_gone(holders, client))
		atomic_store(gone_slot(holders, client), 0);
}

static void ask_back(
	struct canfs_holders *holders, struct file *file, const struct canfs_recall *recall)
{
	if (!file->first ||
		(file->recalled_usec != 0 && recall->now_usec - file->recalled_usec < RECALL_USEC))
		return;
	file->recalled_usec = recall->now_usec;
	atomic_fetch_add(&holders->recalled, 1);
	recall->ask(file->first->recall_arg, file->key, file->key_bytes);
}

static void ask_back_all(struct canfs_holders *holders, uint64_t parent,
	struct canfs_nfs_client client, const struct canfs_recall *recall)
{
	struct file *file, *next;

	for (int i = 0; i < SHARDS; i++) {
		struct shard *shard = lock_shard(holders, (uint64_t)i);

		HASH_ITER(hh, shard->files, file, next)
		{
			if (file->parent == parent && file->writes && others_have_it(file, client))
				ask_back(holders, file, recall);
		}
		pthread_mutex_unlock(&shard->lock);
	}
}

static bool conflicts_with(struct canfs_holders *holders, const struct file *file,
	struct canfs_nfs_client client, enum canfs_access access, uint64_t now_usec)
{
	/*
	 * Also after the return: the server accepts WRITEs of a revoked delegation until it knows
	 * of the revocation.
	 */
	bool writes_too_late = file->is_overtaken && access == CANFS_WRITES;

	if (!file->first)
		return settles(holders, file, access, now_usec) &&
		       (writes_too_late || !is_same(file->last, client));
	return writes_too_late ||
	       ((access == CANFS_WRITES || file->writes) && others_have_it(file, client));
}

bool canfs_holders_conflict(struct canfs_holders *holders, uint64_t name,
	struct canfs_nfs_client client, enum canfs_access access, const struct canfs_recall *recall)
{
	struct shard *shard;
	struct file *file;
	uint64_t parent = 0;
	bool conflicts;

	if (client.id == 0 && !client.address)
		return false; /* the server itself */
	is_there(holders, client.id);
	shard = lock_shard(holders, name);
	file = find(shard, name);
	conflicts = file && conflicts_with(holders, file, client, access, recall->now_usec);
	if (conflicts) {
		ask_back(holders, file, recall);
		parent = file->parent;
	}
	pthread_mutex_unlock(&shard->lock);
	if (conflicts)
		atomic_store(&slot_of(holders, name)->conflict_usec, recall->now_usec);
	if (conflicts && access == CANFS_LOOKS &&
		canfs_listing_note(&holders->listing, name, parent, recall->now_usec))
		ask_back_all(holders, parent, client, recall);
	return conflicts;
}

void canfs_holders_begin_change(struct canfs_holders *holders, uint64_t file)
{
	atomic_fetch_add(&slot_of(holders, file)->changes, 1);
}

void canfs_holders_end_change(struct canfs_holders *holders, uint64_t file)
{
	atomic_fetch_sub(&slot_of(holders, file)->changes, 1);
}

bool canfs_holders_overtake(struct canfs_holders *holders, uint64_t name)
{
	struct shard *shard = lock_shard(holders, name);
	bool is_changing = atomic_load(&slot_of(holders, name)->changes) != 0;
	struct file *file = find(shard, name);

	if (file && file->first && !is_changing)
		file->is_overtaken = true;
	pthread_mutex_unlock(&shard->lock);
	return !is_changing;
}

static void tick_holder(struct canfs_holders *holders, const struct file *file,
	struct holder *holder, const struct canfs_server *server)
{
	canfs_recall_tick(&holder->recall, &holder->server, server, file->is_overtaken,
		is_gone(holders, holder->client.id));
}

/* Forgets the file if it has settled. */
static void tick_settling(
	struct canfs_holders *holders, struct shard *shard, struct file *file, uint64_t now_usec)
{
	if (file->first || settles(holders, file, CANFS_LOOKS, now_usec))
		return;
	free_file(shard, file);
	atomic_fetch_sub(&holders->count, 1);
}

void canfs_holders_tick(
	struct canfs_holders *holders, uint64_t now_usec, const struct canfs_server *server)
{
	struct file *file, *next;

	for (int i = 0; canfs_holders_count(holders) != 0 && i < SHARDS; i++) {
		struct shard *shard = lock_shard(holders, (uint64_t)i);

		HASH_ITER(hh, shard->files, file, next)
		{
			for (struct holder *holder = file->first; holder; holder = holder->next)
				tick_holder(holders, file, holder, server);
			tick_settling(holders, shard, file, now_usec);
		}
		pthread_mutex_unlock(&shard->lock);
	}
}
