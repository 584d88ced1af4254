/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Internals of the table of holders, shared by holders.c (who holds a delegation of which file) and
 * holders_recall.c (which operations conflict, and the recalls that follow).
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_HOLDERS_INTERNAL_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_HOLDERS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <uthash.h>

#include "ganesha-fsal/delegations/core/holders.h"
#include "ganesha-fsal/delegations/core/listing.h"
#include "ganesha-fsal/delegations/core/within.h"

#define SHARDS          64     /* a lock each */
#define SLOTS           4096   /* indexed by file ID; two files may share one */
#define SETTLE_USEC     100000 /* by then, the server has begun each request that it has read */
#define SETTLE_MAX_USEC 5000000
#define GONE_SLOTS      64 /* indexed by client ID; of two in one slot, the later one counts */

struct holder {
	struct holder *next; /* holder of the same file, which may have several readers */
	struct canfs_nfs_client client;
	struct canfs_server_state server;
	const void *recall_arg;
	struct canfs_recall_ticks recall;
};

struct file {
	UT_hash_handle hh;
	uint64_t name, parent;
	struct holder *first;
	uint64_t recalled_usec; /* 0: never */
	uint64_t returned_usec; /* by the last holder; 0: there are holders */
	struct canfs_nfs_client last;
	unsigned int missing; /* requests that have not reached the FSAL: in flight or refused */
	uint64_t named_usec;  /* when the last counted request named the file */
	bool writes;
	bool is_overtaken;
	bool is_lost;
	uint8_t key_bytes;
	char key[CANFS_HOLDERS_KEY_MAX];
};

struct slot {
	_Atomic uint64_t conflict_usec; /* the last one; 0: never */
	_Atomic unsigned int changes;   /* in progress */
};

struct shard {
	pthread_mutex_t lock;
	struct file *files;
};

struct canfs_holders {
	_Atomic size_t count;
	_Atomic uint64_t granted, refused, recalled;
	struct shard shard[SHARDS];
	struct canfs_listing listing;
	struct slot slot[SLOTS];
	_Atomic uint64_t gone[GONE_SLOTS];
};

static inline struct slot *slot_of(struct canfs_holders *holders, uint64_t file)
{
	return &holders->slot[file / SHARDS % SLOTS];
}

static inline void free_file(struct shard *shard, struct file *file)
{
	HASH_DEL(shard->files, file);
	free(file);
}

/* Returns the shard of the file, locked. */
static inline struct shard *lock_shard(struct canfs_holders *holders, uint64_t file)
{
	struct shard *shard = &holders->shard[file % SHARDS];

	pthread_mutex_lock(&shard->lock);
	return shard;
}

static inline struct file *find(struct shard *shard, uint64_t name)
{
	struct file *file;

	HASH_FIND(hh, shard->files, &name, sizeof(name), file);
	return file;
}

/* In the middle of a COMPOUND, the client ID is not always known. */
static inline bool is_same(struct canfs_nfs_client a, struct canfs_nfs_client b)
{
	return a.id && b.id ? a.id == b.id : a.address == b.address;
}

static inline bool others_have_it(const struct file *file, struct canfs_nfs_client client)
{
	for (const struct holder *holder = file->first; holder; holder = holder->next) {
		if (!is_same(holder->client, client))
			return true;
	}
	return false;
}

/*
 * Perhaps the server has not yet processed all WRITEs of the last holder. An operation that changes
 * the file is itself counted in `changes`, so the count is ignored for writes.
 */
static inline bool settles(struct canfs_holders *holders, const struct file *file,
	enum canfs_access access, uint64_t now_usec)
{
	bool is_changing =
		access != CANFS_WRITES && atomic_load(&slot_of(holders, file->name)->changes) != 0;

	return file->returned_usec != 0 &&
	       canfs_is_within(file->returned_usec,
		       is_changing || file->missing != 0 ? SETTLE_MAX_USEC : SETTLE_USEC, now_usec);
}

#endif
