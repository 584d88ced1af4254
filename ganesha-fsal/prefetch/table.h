/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the active files and their cursors are kept: one shard of them, under a lock of its own. All is allocated
 * at the start (untouched memory costs nothing); nothing is searched for longer than some steps.
 *
 *	hash --> index (open addressing) --> slot --> file[slot], cursor[slot]     a file's own first cursor
 *	                                               link[slot] --> cursor[n] --> ... its others, of the pool
 *
 * The three lines of a lookup are two cache misses one after the other: file and first cursor are fetched at once.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_TABLE_H
#define CANFS_GANESHA_FSAL_PREFETCH_TABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "ganesha-fsal/prefetch/cursor.h"
#include "ganesha-fsal/prefetch/files.h"

#define CANFS_FILE_CURSORS_MAX 64u /* what one lookup may have to look through */
#define CANFS_NO_FILE          UINT32_MAX
#define CANFS_SHARD_FILES_MAX  1000000u

struct canfs_file {
	uint64_t key;
	uint64_t fetched_bytes, used_bytes, wasted_bytes, doubtful_bytes,
		sequential_bytes; /* account.h */
	uint32_t reads;
	uint8_t cursors; /* 0: its first is not begun */
	bool referenced; /* read since the hand of the clock went by */
} __attribute__((aligned(64)));

struct canfs_link {
	uint32_t next;  /* cursor of the same file + 1; 0: none. Free ones are a list, too */
	uint32_t owner; /* slot of the file */
};

struct canfs_shard {
	pthread_mutex_t lock;
	uint32_t *index;
	struct canfs_file *file;
	struct canfs_cursor *cursor;
	struct canfs_link *link;
	uint32_t index_mask, files,
		cursors; /* how many there may be; the files' own are among the cursors */
	uint32_t files_used, hand;
	uint32_t pool_used, pool_begun, pool_free, pool_hand;
	int64_t risk, trust; /* not yet booked on the server's accounts */
	struct canfs_files_stats stats;
} __attribute__((aligned(128)));

struct canfs_files {
	struct canfs_files_config config;
	uint64_t ahead_max_bytes; /* of one cursor */
	uint64_t memory_bytes;
	uint32_t shards; /* a power of two */
	uint32_t *index;
	struct canfs_file *file;
	struct canfs_cursor *cursor;
	struct canfs_link *link;
	struct canfs_shard *shard;
	_Alignas(64) _Atomic int64_t risk, trust; /* account.h */
};

/* The file's slot; with `create` it is made, and the least recently read may give way. CANFS_NO_FILE: none. */
uint32_t canfs_table_find(struct canfs_shard *shard, uint64_t key, uint64_t hash, bool create);

/* The hash of a file; its upper bits choose the shard. */
uint64_t canfs_table_hash(uint64_t key);

/*
 * A cursor for the file, of the pool, of its own that serve least, or of another file. What it had is settled. Begin
 * it.
 */
uint32_t canfs_table_new_cursor(struct canfs_shard *shard, uint32_t slot);

/* Has the file had so many reads since this one was hit? */
static inline bool canfs_cursor_idle(
	const struct canfs_file *file, const struct canfs_cursor *cursor, uint32_t reads)
{
	return file->reads - cursor->stamp > reads;
}

#endif
