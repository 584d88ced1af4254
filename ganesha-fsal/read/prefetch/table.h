/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The memory of the active files and their cursors: one shard, under a lock of its own.
 *
 *	hash --> place --> file, next to it its first cursor --> its other cursors, in the common pool
 *	         ... 16 places: the file read longest ago is replaced by a new one
 *
 * Like FreeBSD's nfsheur (Ellard & Seltzer, §6.3): open hashing with a bounded number of probes.
 * There are 1.5 places per file, so that hardly any file is replaced before there are too many
 * files. A lookup costs one cache miss, because only the hash tells where a file is. All memory is
 * allocated at the start. Untouched memory costs nothing.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_TABLE_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_TABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "ganesha-fsal/read/prefetch/cursor.h"
#include "ganesha-fsal/read/prefetch/files.h"

#define CANFS_FILE_CURSORS_MAX 64u /* per file: a read is compared with all of them */
#define CANFS_FILE_PROBES      16u
#define CANFS_WATCHED_MAX      64u

struct canfs_file {
	uint64_t key;
	/* account.h */
	uint64_t fetched_bytes, used_bytes, wasted_bytes, suspected_bytes, sequential_bytes;
	uint32_t reads; /* 0: the place is empty */
	uint32_t stamp; /* the shard's read count at the file's last read */
	uint32_t next;  /* number of the second cursor, as in canfs_pooled */
	uint8_t cursors;
	uint8_t random_run; /* how many of the last reads continued no sequence */
	bool watched;       /* is in the shard's ring */
	struct canfs_cursor first __attribute__((aligned(64)));
};

struct canfs_pooled {
	struct canfs_cursor cursor;
	uint32_t next;  /* next cursor of the file, or next free: number in the shard; 0: none */
	uint32_t owner; /* place of the file */
};

/*
 * Cursors have numbers in their shard. The number of a file's first cursor is the file's place.
 * Cursors in the pool have `places` and more.
 */
struct canfs_shard {
	pthread_mutex_t lock;
	struct canfs_file *file;
	struct canfs_pooled *pool;
	uint32_t places, pooled;        /* how many there may be at most */
	uint32_t pool_begun, pool_free; /* how many were ever used; the first free one */
	uint32_t pool_hand;
	uint32_t reads;
	uint64_t files_used, pool_used;
	uint32_t watched[CANFS_WATCHED_MAX]; /* places, a ring: account.h */
	uint32_t watched_first, watched_files;
	int64_t risk, trust; /* not yet booked to the server's accounts */
	struct canfs_files_stats stats;
} __attribute__((aligned(128)));

struct canfs_files {
	struct canfs_files_config config;
	uint64_t ahead_max_bytes; /* of one cursor */
	uint64_t memory_bytes;
	atomic_bool leave_plain;
	uint32_t shards;          /* a power of two */
	uint32_t places, cursors; /* per shard: places, and numbers of cursors */
	struct canfs_shard *shard;
	_Alignas(64) _Atomic int64_t risk, trust; /* account.h */
};

uint64_t canfs_table_hash(uint64_t key);

/* Return the shard of a file, and the place in it where the search begins. */
struct canfs_shard *canfs_table_shard(const struct canfs_files *files, uint64_t hash);
uint32_t canfs_table_place(const struct canfs_shard *shard, uint64_t hash);

/* Returns the file, or NULL. */
struct canfs_file *canfs_table_find(struct canfs_shard *shard, uint64_t key, uint64_t hash);
/* Returns the file. A new file has no cursors, and may replace another file. */
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

/* Returns the file's cursor after this one; 0: none. */
static inline uint32_t canfs_table_next(const struct canfs_shard *shard, uint32_t n)
{
	return n < shard->places ? shard->file[n].next : shard->pool[n - shard->places].next;
}

/*
 * Returns a cursor for the file: its first, one of the pool, its own cursor `oldest`, or one that
 * another file has not used for long. oldest: of the cursors that have learned nothing, or else of
 * all, the one hit longest ago. The old account of the cursor is settled. The caller must begin the
 * cursor.
 */
uint32_t canfs_table_new_cursor(
	struct canfs_shard *shard, struct canfs_file *file, uint32_t oldest);

/* True if the file had more than `reads` reads since the cursor was hit. */
static inline bool canfs_cursor_idle(
	const struct canfs_file *file, const struct canfs_cursor *cursor, uint32_t reads)
{
	return file->reads - cursor->stamp > reads;
}

#endif
