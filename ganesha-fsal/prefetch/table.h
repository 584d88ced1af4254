/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the active files and their cursors are kept: one shard of them, under a lock of its own.
 *
 *	hash --> place --> file, next to it its first cursor --> its other cursors, in the common pool
 *	         ... 16 places: the file read longest ago gives way to a new one
 *
 * As FreeBSD's nfsheur (Ellard & Seltzer, §6.3): open hashing with a bounded number of probes. There are half as many
 * places again as files, so that hardly any gives way before there are too many. A lookup is one cache miss: nothing
 * tells where a file is but its hash. All is allocated at the start; memory that is not touched costs nothing.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_TABLE_H
#define CANFS_GANESHA_FSAL_PREFETCH_TABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "ganesha-fsal/prefetch/cursor.h"
#include "ganesha-fsal/prefetch/files.h"

#define CANFS_FILE_CURSORS_MAX 64u /* of one file: a read is compared with all */
#define CANFS_FILE_PROBES      16u
#define CANFS_WATCHED_MAX      64u

struct canfs_file {
	uint64_t key;
	/* account.h */
	uint64_t fetched_bytes, used_bytes, wasted_bytes, suspected_bytes, sequential_bytes;
	uint32_t reads; /* 0: there is no file here */
	uint32_t stamp; /* the shard's reads at the file's last */
	uint32_t next;  /* the second cursor, as in canfs_pooled */
	uint8_t cursors;
	uint8_t random_run; /* the last reads, so many, went on nowhere in sequence */
	bool watched;       /* is in the shard's list */
	struct canfs_cursor first __attribute__((aligned(64)));
};

struct canfs_pooled {
	struct canfs_cursor cursor;
	uint32_t next;  /* of the same file: number in the shard; 0: none. Free ones, too */
	uint32_t owner; /* place of the file */
};

/* Cursors have numbers in their shard: that of their file's place, or `places` and more in the pool. */
struct canfs_shard {
	pthread_mutex_t lock;
	struct canfs_file *file;
	struct canfs_pooled *pool;
	uint32_t places, pooled;        /* how many there may be */
	uint32_t pool_begun, pool_free; /* ever used; first of the list of free ones */
	uint32_t pool_hand;
	uint32_t reads;
	uint64_t files_used, pool_used;
	uint32_t watched[CANFS_WATCHED_MAX]; /* places, a ring: account.h */
	uint32_t watched_first, watched_files;
	int64_t risk, trust; /* not yet booked on the server's accounts */
	struct canfs_files_stats stats;
} __attribute__((aligned(128)));

struct canfs_files {
	struct canfs_files_config config;
	uint64_t ahead_max_bytes; /* of one cursor */
	uint64_t memory_bytes;
	atomic_bool leave_plain;
	uint32_t shards;          /* a power of two */
	uint32_t places, cursors; /* of each: places, and numbers of cursors */
	struct canfs_shard *shard;
	_Alignas(64) _Atomic int64_t risk, trust; /* account.h */
};

uint64_t canfs_table_hash(uint64_t key);

/* Where the file should be. */
struct canfs_shard *canfs_table_shard(const struct canfs_files *files, uint64_t hash);
uint32_t canfs_table_place(const struct canfs_shard *shard, uint64_t hash);

/* The file, or NULL. */
struct canfs_file *canfs_table_find(struct canfs_shard *shard, uint64_t key, uint64_t hash);
/* The file, if need be a new one, with no cursors; another may give way to it. */
struct canfs_file *canfs_table_take(struct canfs_shard *shard, uint64_t key, uint64_t hash);

static inline uint32_t canfs_table_first(
	const struct canfs_shard *shard, const struct canfs_file *file)
{
	return (uint32_t)(file - shard->file);
}

static inline struct canfs_cursor *canfs_table_cursor(struct canfs_shard *shard, uint32_t n)
{
	return n < shard->places ? &shard->file[n].first : &shard->pool[n - shard->places].cursor;
}

/* The file's cursor after this one; 0: there is none. */
static inline uint32_t canfs_table_next(const struct canfs_shard *shard, uint32_t n)
{
	return n < shard->places ? shard->file[n].next : shard->pool[n - shard->places].next;
}

/*
 * A cursor for the file: its first, one of the pool, or `oldest` of its own (which was hit longest ago; those that have
 * learnt nothing first), or one that another file has not used for long. What it had is settled. Begin it.
 */
uint32_t canfs_table_new_cursor(
	struct canfs_shard *shard, struct canfs_file *file, uint32_t oldest);

/* Has the file had so many reads since this one was hit? */
static inline bool canfs_cursor_idle(
	const struct canfs_file *file, const struct canfs_cursor *cursor, uint32_t reads)
{
	return file->reads - cursor->stamp > reads;
}

#endif
