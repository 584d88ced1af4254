// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/holders.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define uthash_nonfatal_oom(element) ((element)->is_lost = true)
#define HASH_NONFATAL_OOM            1
#include <uthash.h>

#define SHARDS      64 /* a lock each */
#define RECALL_USEC 1000000

struct holder {
	struct holder *next; /* of the same file: several may read */
	struct canfs_nfs_client client;
	time_t *recall_begun;
	unsigned int count; /* a client may have one for each of its owners */
};

struct file {
	UT_hash_handle hh;
	uint64_t name;
	struct holder *first;
	uint64_t recalled_usec; /* 0: never */
	bool writes;
	bool is_lost;
};

struct shard {
	pthread_mutex_t lock;
	struct file *files;
};

struct canfs_holders {
	_Atomic size_t count;
	struct shard shard[SHARDS];
};

struct canfs_holders *canfs_holders_new(void)
{
	struct canfs_holders *holders = calloc(1, sizeof(*holders));

	for (int i = 0; holders && i < SHARDS; i++)
		pthread_mutex_init(&holders->shard[i].lock, NULL);
	return holders;
}

static void free_file(struct shard *shard, struct file *file)
{
	HASH_DEL(shard->files, file);
	free(file);
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
	free(holders);
}

/* With its lock. */
static struct shard *lock_shard(struct canfs_holders *holders, uint64_t file)
{
	struct shard *shard = &holders->shard[file % SHARDS];

	pthread_mutex_lock(&shard->lock);
	return shard;
}

static struct file *find(struct shard *shard, uint64_t name)
{
	struct file *file;

	HASH_FIND(hh, shard->files, &name, sizeof(name), file);
	return file;
}

static struct file *find_or_add(struct shard *shard, uint64_t name)
{
	struct file *file = find(shard, name);

	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->name = name;
	HASH_ADD(hh, shard->files, name, sizeof(file->name), file);
	if (!file->is_lost)
		return file;
	free(file);
	return NULL;
}

/* Of an operation in the middle of a COMPOUND the number is not always known. */
static bool is_same(struct canfs_nfs_client a, struct canfs_nfs_client b)
{
	return a.id && b.id ? a.id == b.id : a.address == b.address;
}

static bool others_have_it(const struct file *file, struct canfs_nfs_client client)
{
	for (const struct holder *holder = file->first; holder; holder = holder->next) {
		if (!is_same(holder->client, client))
			return true;
	}
	return false;
}

static int add_holder(
	struct file *file, struct canfs_nfs_client client, bool writes, time_t *recall_begun)
{
	struct holder *holder;

	if ((writes || file->writes) && others_have_it(file, client))
		return -EBUSY;
	for (holder = file->first; holder && holder->client.id != client.id; holder = holder->next)
		;
	if (!holder) {
		holder = calloc(1, sizeof(*holder));
		if (!holder)
			return -ENOMEM;
		holder->client = client;
		holder->next = file->first;
		file->first = holder;
	}
	holder->recall_begun = recall_begun;
	holder->count++;
	file->writes |= writes;
	return 0;
}

int canfs_holders_add(struct canfs_holders *holders, uint64_t name, struct canfs_nfs_client client,
	bool writes, time_t *recall_begun)
{
	struct shard *shard;
	struct file *file;
	int ret = -ENOMEM;

	if (atomic_fetch_add(&holders->count, 1) >= CANFS_HOLDERS_MAX) {
		atomic_fetch_sub(&holders->count, 1);
		return -ENOSPC;
	}
	shard = lock_shard(holders, name);
	file = find_or_add(shard, name);
	if (file)
		ret = add_holder(file, client, writes, recall_begun);
	if (file && !file->first)
		free_file(shard, file);
	pthread_mutex_unlock(&shard->lock);
	if (ret != 0)
		atomic_fetch_sub(&holders->count, 1);
	return ret;
}

/* Was there one? */
static bool remove_holder(struct file *file, uint64_t client_id)
{
	for (struct holder **link = &file->first; *link; link = &(*link)->next) {
		struct holder *holder = *link;

		if (holder->client.id != client_id)
			continue;
		if (--holder->count == 0) {
			*link = holder->next;
			free(holder);
		}
		return true;
	}
	return false;
}

bool canfs_holders_remove(struct canfs_holders *holders, uint64_t name, uint64_t client_id)
{
	struct shard *shard = lock_shard(holders, name);
	struct file *file = find(shard, name);
	bool had = file && remove_holder(file, client_id);

	if (had && !file->first)
		free_file(shard, file);
	pthread_mutex_unlock(&shard->lock);
	if (had)
		atomic_fetch_sub(&holders->count, 1);
	return had;
}

size_t canfs_holders_count(const struct canfs_holders *holders)
{
	return atomic_load(&holders->count);
}

static void ask_back(struct file *file, struct canfs_recall *recall)
{
	recall->is_due =
		file->recalled_usec == 0 || recall->now_usec - file->recalled_usec >= RECALL_USEC;
	for (struct holder *holder = file->recalled_usec == 0 ? file->first : NULL; holder;
		holder = holder->next) {
		if (*holder->recall_begun == 0)
			*holder->recall_begun = recall->now_sec;
		*holder->recall_begun -= recall->lease_sec;
	}
	if (recall->is_due)
		file->recalled_usec = recall->now_usec;
}

bool canfs_holders_conflict(struct canfs_holders *holders, uint64_t name,
	struct canfs_nfs_client client, bool writes, struct canfs_recall *recall)
{
	struct shard *shard;
	struct file *file;
	bool conflicts;

	recall->is_due = false;
	if (!client.id && !client.address)
		return false;
	shard = lock_shard(holders, name);
	file = find(shard, name);
	conflicts = file && (writes || file->writes) && others_have_it(file, client);
	if (conflicts)
		ask_back(file, recall);
	pthread_mutex_unlock(&shard->lock);
	return conflicts;
}
