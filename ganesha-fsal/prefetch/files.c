// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/prefetch/files.h"

#include "ganesha-fsal/prefetch/account.h"
#include "ganesha-fsal/prefetch/learn.h"

#define READ_MAX_BYTES ((uint32_t)64 << 20) /* more of one read is not looked at */

/* Reads of the file since a cursor was hit. */
#define DOUBT_READS 64u   /* nobody may read what was fetched for it */
#define GONE_READS  4096u /* nobody will */

static struct canfs_shard *lock_shard(struct canfs_files *files, uint64_t hash)
{
	struct canfs_shard *shard = &files->shard[hash >> 56 & (files->shards - 1)];

	__builtin_prefetch(&shard->index[(uint32_t)hash & shard->index_mask]);
	pthread_mutex_lock(&shard->lock);
	return shard;
}

static size_t advise(struct canfs_files *files, struct canfs_shard *shard, uint32_t slot,
	uint32_t n, uint64_t file_bytes, double willingness,
	struct canfs_advice advice[CANFS_ADVICE_MAX])
{
	struct canfs_file *file = &shard->file[slot];
	struct canfs_cursor *cursor = &shard->cursor[n];
	struct canfs_reach reach = {
		.ahead_bytes = canfs_account_ahead(files, file, cursor, willingness),
		.piece_bytes = files->config.unit_bytes,
		.file_bytes = file_bytes,
	};
	struct canfs_piece piece[CANFS_ADVICE_MAX];
	uint32_t before = cursor->outstanding;
	size_t pieces;

	pieces = canfs_cursor_fetch(cursor, &reach, piece, CANFS_ADVICE_MAX);
	if (pieces > 0)
		canfs_account_fetched(files, shard, file, cursor->outstanding - before);
	for (size_t i = 0; i < pieces; i++)
		advice[i] = (struct canfs_advice) { .offset = piece[i].offset,
			.bytes = piece[i].bytes,
			.cursor = (uint32_t)(cursor - files->cursor) };
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
	struct canfs_file *file = &shard->file[slot];

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
		if (cursor->outstanding > 0 && canfs_cursor_idle(file, cursor, DOUBT_READS))
			canfs_account_doubt(shard, file, cursor);
		if (cursor->outstanding > 0 && canfs_cursor_idle(file, cursor, GONE_READS))
			canfs_account_end(shard, file, cursor);
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
			shard->cursor[n].stamp = file->reads;
			canfs_account_hit(shard, file, &shard->cursor[n]);
			canfs_account_followed(files, shard, file,
				canfs_cursor_follow(&shard->cursor[n], offset, bytes,
					files->config.tolerance_max_bytes));
			shard->stats.matched++;
			goto hit;
		}
		if (search.single >= 3 && find_stride(shard, file, &search, offset, &n, &step) &&
			canfs_cursor_begin_stride(&shard->cursor[n], offset, bytes, step, 4))
			goto hit;
	}
	n = canfs_table_new_cursor(shard, slot);
	shard->cursor[n].stamp = file->reads;
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

/*
 * A cursor as advice names it, in its file's shard, which is locked. NULL: the file has lost it, and it may be another's
 * by now.
 */
static struct canfs_cursor *find_cursor(struct canfs_files *files, struct canfs_shard *shard,
	uint64_t file, uint64_t hash, uint32_t cursor, uint32_t *slot)
{
	uint64_t n = cursor - (uint64_t)(shard->cursor - files->cursor);

	*slot = canfs_table_find(shard, file, hash, false);
	if (*slot == CANFS_NO_FILE || n >= shard->cursors || shard->link[n].owner != *slot)
		return NULL;
	return &shard->cursor[n];
}

void canfs_files_not_fetched(
	struct canfs_files *files, uint64_t file, uint32_t cursor, uint64_t offset, uint64_t bytes)
{
	uint64_t hash = canfs_table_hash(file);
	struct canfs_shard *shard = lock_shard(files, hash);
	uint32_t slot;
	struct canfs_cursor *found = find_cursor(files, shard, file, hash, cursor, &slot);

	if (found != NULL && offset < CANFS_OFFSET_MAX && bytes <= CANFS_OFFSET_MAX - offset)
		canfs_account_refund(shard, &shard->file[slot], found,
			canfs_cursor_not_fetched(found, offset, bytes));
	pthread_mutex_unlock(&shard->lock);
}

void canfs_files_was_there(
	struct canfs_files *files, uint64_t file, uint32_t cursor, uint64_t bytes)
{
	uint64_t hash = canfs_table_hash(file);
	struct canfs_shard *shard = lock_shard(files, hash);
	uint32_t slot;
	struct canfs_cursor *found = find_cursor(files, shard, file, hash, cursor, &slot);

	if (found != NULL)
		canfs_account_refund(
			shard, &shard->file[slot], found, canfs_cursor_was_there(found, bytes));
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
			canfs_account_refund(shard, &shard->file[slot], &shard->cursor[n - 1],
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
