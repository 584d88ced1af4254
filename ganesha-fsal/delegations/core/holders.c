// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/holders.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define uthash_nonfatal_oom(element) ((element)->is_lost = true)
#define HASH_NONFATAL_OOM            1
#include <uthash.h>

#include "ganesha-fsal/delegations/core/holders_internal.h"

#define REST_USEC      30000000
#define OVERTAKEN_USEC 1000000 /* a return counts only requests named this recently as missing */

struct canfs_holders *canfs_holders_new(void)
{
	struct canfs_holders *holders = calloc(1, sizeof(*holders));

	for (int i = 0; holders && i < SHARDS; i++)
		pthread_mutex_init(&holders->shard[i].lock, NULL);
	if (holders)
		canfs_listing_init(&holders->listing);
	return holders;
}

void canfs_holders_free(struct canfs_holders *holders)
{
	struct file *file, *next_file;
	struct holder *next;

	for (int i = 0; holders && i < SHARDS; i++) {
		HASH_ITER(hh, holders->shard[i].files, file, next_file)
		{
			for (struct holder *holder = file->first; holder; holder = next) {
				next = holder->next;
				free(holder);
			}
			free_file(&holders->shard[i], file);
		}
		pthread_mutex_destroy(&holders->shard[i].lock);
	}
	if (holders)
		canfs_listing_fini(&holders->listing);
	free(holders);
}

static struct file *find_or_add(struct shard *shard, const struct canfs_delegation *delegation)
{
	struct file *file = find(shard, delegation->file);

	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->name = delegation->file;
	file->parent = delegation->parent;
	file->key_bytes = (uint8_t)delegation->key_bytes;
	memcpy(file->key, delegation->key, delegation->key_bytes);
	HASH_ADD(hh, shard->files, name, sizeof(file->name), file);
	if (!file->is_lost)
		return file;
	free(file);
	return NULL;
}

static bool has_it(const struct file *file, struct canfs_nfs_client client)
{
	for (const struct holder *holder = file->first; holder; holder = holder->next) {
		if (is_same(holder->client, client))
			return true;
	}
	return false;
}

static void be_held_again(struct canfs_holders *holders, struct file *file)
{
	file->returned_usec = file->recalled_usec = 0;
	file->missing = 0;
	file->writes = file->is_overtaken = false;
	atomic_fetch_sub(&holders->count, 1);
}

static int add_holder(
	struct canfs_holders *holders, struct file *file, const struct canfs_delegation *delegation)
{
	struct holder *holder;

	if (settles(holders, file, CANFS_LOOKS, delegation->now_usec))
		return -EBUSY;
	/*
	 * A client has at most one delegation of a file: the server would lose count of a second
	 * one.
	 */
	if (has_it(file, delegation->client))
		return -EBUSY;
	if ((delegation->writes || file->writes) && others_have_it(file, delegation->client))
		return -EBUSY;
	holder = calloc(1, sizeof(*holder));
	if (!holder)
		return -ENOMEM;
	if (file->returned_usec != 0)
		be_held_again(holders, file);
	holder->client = delegation->client;
	holder->server = delegation->server;
	holder->recall_arg = delegation->recall_arg;
	holder->next = file->first;
	file->first = holder;
	file->writes |= delegation->writes;
	return 0;
}

/*
 * True: another client recently wanted the file, or its directory is being listed. A delegation
 * granted now would conflict again when that client retries.
 */
static bool is_wanted(struct canfs_holders *holders, const struct canfs_delegation *delegation)
{
	uint64_t conflict_usec = atomic_load(&slot_of(holders, delegation->file)->conflict_usec);

	if (conflict_usec != 0 && canfs_is_within(conflict_usec, REST_USEC, delegation->now_usec))
		return true;
	return canfs_listing_is_on(&holders->listing, delegation->parent, delegation->now_usec);
}

/* No request is in flight for a delegation that was not used. */
#define NOT_USED 0

/* Removes the holder from the list. Returns NULL if there is none. */
static struct holder *take_holder(struct file *file, struct canfs_server_state server)
{
	for (struct holder **link = &file->first; *link; link = &(*link)->next) {
		struct holder *holder = *link;

		if (holder->server.recall_begun != server.recall_begun)
			continue;
		*link = holder->next;
		return holder;
	}
	return NULL;
}

/* Returns true if there was one. */
static bool remove_holder(struct canfs_holders *holders, uint64_t name,
	struct canfs_server_state server, uint64_t now_usec, struct canfs_returned *returned)
{
	struct shard *shard = lock_shard(holders, name);
	struct file *file = find(shard, name);
	struct holder *holder = file ? take_holder(file, server) : NULL;
	bool had = holder, is_last = had && !file->first;
	bool is_settling = is_last && file->writes && now_usec != NOT_USED;

	if (holder) {
		*returned = (struct canfs_returned) { holder->client, file->is_overtaken };
		canfs_note_channel_up(&holder->server); /* the next tick would be too late */
	}
	if (is_settling) {
		if (!canfs_is_within(file->named_usec, OVERTAKEN_USEC, now_usec))
			file->missing = 0;
		file->returned_usec = now_usec;
		file->last = holder->client;
	} else if (is_last) {
		free_file(shard, file);
	}
	pthread_mutex_unlock(&shard->lock);
	if (had && !is_settling)
		atomic_fetch_sub(&holders->count, 1);
	free(holder);
	return had;
}

static int add(struct canfs_holders *holders, const struct canfs_delegation *delegation)
{
	struct canfs_returned returned;
	struct shard *shard;
	struct file *file;
	int ret = -ENOMEM;

	if (delegation->key_bytes > CANFS_HOLDERS_KEY_MAX)
		return -EINVAL;
	if (delegation->is_opened || is_wanted(holders, delegation))
		return -EBUSY;
	if (atomic_fetch_add(&holders->count, 1) >= CANFS_HOLDERS_MAX) {
		atomic_fetch_sub(&holders->count, 1);
		return -ENOSPC;
	}
	shard = lock_shard(holders, delegation->file);
	file = find_or_add(shard, delegation);
	if (file)
		ret = add_holder(holders, file, delegation);
	if (file && !file->first && file->returned_usec == 0)
		free_file(shard, file);
	pthread_mutex_unlock(&shard->lock);
	if (ret != 0)
		atomic_fetch_sub(&holders->count, 1);
	/*
	 * Changes that begin now see the delegation. Refuse it if an earlier change is still in
	 * progress.
	 */
	else if (atomic_load(&slot_of(holders, delegation->file)->changes) != 0) {
		remove_holder(holders, delegation->file, delegation->server, NOT_USED, &returned);
		ret = -EBUSY;
	}
	return ret;
}

int canfs_holders_add(struct canfs_holders *holders, const struct canfs_delegation *delegation)
{
	int ret = add(holders, delegation);

	atomic_fetch_add(ret == 0 ? &holders->granted : &holders->refused, 1);
	return ret;
}

bool canfs_holders_remove(struct canfs_holders *holders, uint64_t file,
	struct canfs_server_state server, uint64_t now_usec, struct canfs_returned *returned)
{
	return remove_holder(holders, file, server, now_usec, returned);
}

bool canfs_holders_settles(struct canfs_holders *holders, uint64_t name, uint64_t now_usec)
{
	struct shard *shard = lock_shard(holders, name);
	const struct file *file = find(shard, name);
	bool is_settling = file && settles(holders, file, CANFS_LOOKS, now_usec);

	pthread_mutex_unlock(&shard->lock);
	return is_settling;
}

static enum canfs_named when_named(struct canfs_holders *holders, const struct file *file,
	struct canfs_nfs_client client, uint64_t now_usec)
{
	if (file->writes && has_it(file, client))
		return CANFS_NAMED_BEFORE;
	return settles(holders, file, CANFS_LOOKS, now_usec) && is_same(file->last, client)
		       ? CANFS_NAMED_AFTER
		       : CANFS_NOT_COUNTED;
}

enum canfs_named canfs_holders_named(struct canfs_holders *holders, uint64_t name,
	struct canfs_nfs_client client, uint64_t now_usec)
{
	struct shard *shard = lock_shard(holders, name);
	struct file *file = find(shard, name);
	enum canfs_named named =
		file ? when_named(holders, file, client, now_usec) : CANFS_NOT_COUNTED;

	if (named != CANFS_NOT_COUNTED) {
		file->missing++;
		file->named_usec = now_usec;
	}
	pthread_mutex_unlock(&shard->lock);
	return named;
}

void canfs_holders_arrived(struct canfs_holders *holders, uint64_t name)
{
	struct shard *shard = lock_shard(holders, name);
	struct file *file = find(shard, name);

	if (file && file->missing > 0)
		file->missing--;
	pthread_mutex_unlock(&shard->lock);
}

size_t canfs_holders_count(const struct canfs_holders *holders)
{
	return atomic_load(&holders->count);
}

struct canfs_holders_counters canfs_holders_counters(const struct canfs_holders *holders)
{
	return (struct canfs_holders_counters) { .held = canfs_holders_count(holders),
		.granted = atomic_load(&holders->granted),
		.refused = atomic_load(&holders->refused),
		.recalled = atomic_load(&holders->recalled) };
}
