// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/prefetch/files.h"

#include <stdatomic.h>

#include "ganesha-fsal/prefetch/learn.h"
#include "ganesha-fsal/prefetch/table.h"

#define READ_MAX_BYTES ((uint32_t)64 << 20) /* more of one read is not looked at */

/* The accounts: files.h. */
#define EARNED_SHARE 20  /* of what is read in sequence, one in so many may be wasted */
#define SAVED_TIMES  256 /* ... the most that one cursor may be ahead: after long good conduct */
#define EARNED_BATCH ((int64_t)1 << 20)
#define GONE_READS                                                                                 \
	4096u /* of the file, since a cursor was hit: nobody will read what was fetched for it */

static struct canfs_shard *lock_shard(struct canfs_files *files, uint64_t hash)
{
	struct canfs_shard *shard = &files->shard[hash >> 56 & (files->shards - 1)];

	__builtin_prefetch(&shard->index[(uint32_t)hash & shard->index_mask]);
	pthread_mutex_lock(&shard->lock);
	return shard;
}

/* What the file may waste; less than 0: what it must earn. */
static int64_t balance(const struct canfs_file *file)
{
	return (int64_t)(file->sequential_bytes / EARNED_SHARE) - (int64_t)file->wasted_bytes;
}

static void pay_in(struct canfs_files *files, struct canfs_shard *shard)
{
	int64_t most = (int64_t)(SAVED_TIMES * files->ahead_max_bytes);
	int64_t credit =
		atomic_fetch_add_explicit(&files->credit, shard->earned, memory_order_relaxed) +
		shard->earned;

	if (credit > most)
		atomic_fetch_sub_explicit(&files->credit, credit - most, memory_order_relaxed);
	shard->earned = 0;
}

static void book(struct canfs_files *files, struct canfs_shard *shard, struct canfs_file *file,
	struct canfs_followed followed)
{
	file->sequential_bytes += followed.sequential;
	file->used_bytes += followed.used;
	file->wasted_bytes += followed.wasted;
	shard->stats.used_bytes += followed.used;
	shard->stats.wasted_bytes += followed.wasted;
	shard->earned += followed.used + followed.sequential / EARNED_SHARE;
	if (shard->earned >= EARNED_BATCH)
		pay_in(files, shard);
}

/* How far ahead, and how much of it at once, the accounts allow. */
static struct canfs_reach allowance(struct canfs_files *files, const struct canfs_file *file,
	const struct canfs_cursor *cursor, double willingness)
{
	int64_t own = balance(file), grace = files->config.unit_bytes / 4;
	uint64_t ahead = canfs_cursor_ahead(cursor, files->ahead_max_bytes);
	int64_t ahead_bytes = (int64_t)((double)ahead * willingness), most = ahead_bytes;

	if ((int64_t)file->wasted_bytes > grace) {
		if (own < 0)
			return (struct canfs_reach) { 0 };
		if (ahead_bytes > own && ahead_bytes > grace)
			ahead_bytes = own > grace ? own : grace;
	}
	if (atomic_load_explicit(&files->credit, memory_order_relaxed) < ahead_bytes)
		most = own - (int64_t)(file->fetched_bytes - file->used_bytes - file->wasted_bytes);
	return (struct canfs_reach) { .ahead_bytes = (uint64_t)ahead_bytes,
		.most_bytes = most > 0 ? (uint64_t)most : 0 };
}

static size_t advise(struct canfs_files *files, struct canfs_shard *shard, uint32_t slot,
	uint32_t n, uint64_t file_bytes, double willingness,
	struct canfs_advice advice[CANFS_ADVICE_MAX])
{
	struct canfs_file *file = &shard->file[slot];
	struct canfs_reach reach = allowance(files, file, &shard->cursor[n], willingness);
	struct canfs_piece piece[CANFS_ADVICE_MAX];
	uint64_t bytes = 0;
	size_t pieces;

	reach.piece_bytes = files->config.unit_bytes;
	reach.file_bytes = file_bytes;
	pieces = canfs_cursor_fetch(&shard->cursor[n], &reach, piece, CANFS_ADVICE_MAX);
	for (size_t i = 0; i < pieces; i++) {
		advice[i] = (struct canfs_advice) { .offset = piece[i].offset,
			.bytes = piece[i].bytes,
			.cursor = (uint32_t)(&shard->cursor[n] - files->cursor) };
		bytes += piece[i].bytes;
	}
	if (bytes > 0) {
		file->fetched_bytes += bytes;
		shard->stats.fetched_bytes += bytes;
		shard->earned -= (int64_t)bytes;
		pay_in(files, shard);
	}
	return pieces;
}

/* What a look at all cursors of a file finds. */
struct search {
	uint32_t best; /* whose read it is */
	uint64_t distance;
	unsigned int
		single; /* cursors with one read, which may be a stride together; newest last */
	struct {
		uint64_t offset;
		uint32_t n, stamp;
	} one[CANFS_FILE_CURSORS_MAX];
};

static void look_at(struct canfs_files *files, struct canfs_shard *shard, uint32_t slot,
	uint64_t offset, uint32_t bytes, struct search *search)
{
	const struct canfs_file *file = &shard->file[slot];

	search->distance = UINT64_MAX;
	search->single = 0;
	for (uint32_t n = slot + 1; n != 0; n = shard->link[n - 1].next) {
		struct canfs_cursor *cursor = &shard->cursor[n - 1];
		uint64_t distance = canfs_cursor_distance(
			cursor, offset, bytes, files->config.tolerance_max_bytes);

		if (distance < search->distance) {
			search->distance = distance;
			search->best = n - 1;
			if (distance == 0)
				return;
		}
		if (cursor->outstanding > 0 && canfs_cursor_idle(file, cursor, GONE_READS))
			canfs_table_end_cursor(shard, slot, cursor);
		if (cursor->heading == CANFS_LEARNING && cursor->seqcount == 1) {
			search->one[search->single].offset = cursor->last - CANFS_POSITION_ZERO;
			search->one[search->single].n = n - 1;
			search->one[search->single++].stamp = cursor->stamp;
		}
	}
}

static bool has_one_at(const struct search *search, uint64_t offset)
{
	for (unsigned int i = 0; i < search->single; i++) {
		if (search->one[i].offset == offset)
			return true;
	}
	return false;
}

/*
 * A stride too wide for one window: this read, one of the last reads that nobody knew, and two before them are evenly
 * spaced. Exactly so: among random reads that happens once in a million.
 */
static bool find_stride(const struct canfs_shard *shard, const struct canfs_file *file,
	const struct search *search, uint64_t offset, uint32_t *n, int64_t *step)
{
	for (unsigned int i = 0; i < search->single; i++) {
		uint64_t from = search->one[i].offset, apart = offset - from;

		if (file->reads - search->one[i].stamp > 2 ||
			shard->cursor[search->one[i].n].span > (apart > offset ? 0 - apart : apart))
			continue;
		if (has_one_at(search, from - apart) && has_one_at(search, from - 2 * apart)) {
			*n = search->one[i].n;
			*step = (int64_t)apart;
			return true;
		}
	}
	return false;
}

/* The cursor whose read this is. */
static uint32_t follow(struct canfs_files *files, struct canfs_shard *shard, uint32_t slot,
	uint64_t offset, uint32_t bytes)
{
	struct canfs_file *file = &shard->file[slot];
	struct search search;
	int64_t step;
	uint32_t n;

	file->reads++;
	file->referenced = true;
	if (file->cursors > 0) {
		look_at(files, shard, slot, offset, bytes, &search);
		if (search.distance != UINT64_MAX) {
			n = search.best;
			book(files, shard, file,
				canfs_cursor_follow(&shard->cursor[n], offset, bytes));
			shard->stats.matched++;
			goto hit;
		}
		if (search.single >= 3 && find_stride(shard, file, &search, offset, &n, &step)) {
			canfs_cursor_begin_stride(&shard->cursor[n], offset, bytes, step, 4);
			goto hit;
		}
	}
	n = canfs_table_new_cursor(shard, slot);
	canfs_cursor_begin(&shard->cursor[n], offset, bytes);
hit:
	shard->cursor[n].stamp = file->reads;
	shard->cursor[n].referenced = true;
	return n;
}

size_t canfs_files_read(struct canfs_files *files, uint64_t file, uint64_t offset, uint32_t bytes,
	uint64_t file_bytes, double willingness, struct canfs_advice advice[CANFS_ADVICE_MAX])
{
	uint64_t hash = canfs_table_hash(file);
	struct canfs_shard *shard;
	uint32_t slot, n;
	size_t pieces = 0;

	if (file_bytes > CANFS_OFFSET_MAX)
		file_bytes = CANFS_OFFSET_MAX;
	if (bytes == 0 || offset >= file_bytes)
		return 0;
	if (bytes > READ_MAX_BYTES)
		bytes = READ_MAX_BYTES;
	if (bytes > file_bytes - offset)
		bytes = (uint32_t)(file_bytes - offset);
	shard = lock_shard(files, hash);
	shard->stats.reads++;
	slot = canfs_table_find(shard, file, hash, true);
	n = follow(files, shard, slot, offset, bytes);
	if (shard->cursor[n].heading != CANFS_LEARNING && willingness > 0)
		pieces = advise(files, shard, slot, n, file_bytes,
			willingness < 1 ? willingness : 1, advice);
	pthread_mutex_unlock(&shard->lock);
	return pieces;
}

/* What was paid for it is paid back. */
static void refund(struct canfs_shard *shard, struct canfs_file *file, uint32_t bytes)
{
	file->fetched_bytes -= bytes;
	shard->stats.fetched_bytes -= bytes;
	shard->earned += bytes;
}

void canfs_files_not_fetched(
	struct canfs_files *files, uint64_t file, uint32_t cursor, uint64_t offset, uint64_t bytes)
{
	uint64_t hash = canfs_table_hash(file);
	struct canfs_shard *shard = lock_shard(files, hash);
	uint32_t slot = canfs_table_find(shard, file, hash, false);
	uint64_t n = cursor - (uint64_t)(shard->cursor - files->cursor);

	/* It may be another's by now. */
	if (slot != CANFS_NO_FILE && n < shard->files + shard->pool_begun &&
		shard->link[n].owner == slot)
		refund(shard, &shard->file[slot],
			canfs_cursor_not_fetched(&shard->cursor[n], offset, bytes));
	pthread_mutex_unlock(&shard->lock);
}

void canfs_files_changed(struct canfs_files *files, uint64_t file, uint64_t from_offset)
{
	uint64_t hash = canfs_table_hash(file);
	struct canfs_shard *shard;
	uint32_t slot;

	if (from_offset >= CANFS_OFFSET_MAX)
		return;
	shard = lock_shard(files, hash);
	slot = canfs_table_find(shard, file, hash, false);
	if (slot != CANFS_NO_FILE) {
		for (uint32_t n = slot + 1; n != 0; n = shard->link[n - 1].next)
			refund(shard, &shard->file[slot],
				canfs_cursor_not_fetched(&shard->cursor[n - 1], from_offset,
					CANFS_OFFSET_MAX - from_offset));
	}
	pthread_mutex_unlock(&shard->lock);
}

struct canfs_files_stats canfs_files_stats(struct canfs_files *files)
{
	struct canfs_files_stats sum = { .memory_bytes = files->memory_bytes };

	for (uint32_t i = 0; i < files->shards; i++) {
		struct canfs_shard *shard = &files->shard[i];

		pthread_mutex_lock(&shard->lock);
		sum.files += shard->files_used;
		sum.cursors += shard->files_used + shard->pool_used;
		sum.reads += shard->stats.reads;
		sum.matched += shard->stats.matched;
		sum.fetched_bytes += shard->stats.fetched_bytes;
		sum.used_bytes += shard->stats.used_bytes;
		sum.wasted_bytes += shard->stats.wasted_bytes;
		pthread_mutex_unlock(&shard->lock);
	}
	return sum;
}
