// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/files.h"

#include "ganesha-fsal/read/prefetch/account.h"
#include "ganesha-fsal/read/prefetch/learn.h"

#define READ_MAX_BYTES ((uint32_t)64 << 20) /* further bytes of one read are ignored */

/* Reads of the file since a cursor was hit. */
#define DOUBT_READS 16u   /* per pending cursor: then its reader may have left */
#define GONE_READS  4096u /* then its reader has left */
#define STRAY_READS 64u   /* then it is no reader's cursor */
#define IDLE_FACTOR                                                                                \
	2u /* times the length of the stream so far: others may read so much meanwhile */
#define STRIDE_READS 2u /* since the read before it in a stride: the two may have swapped places */
#define START_BYTES  ((uint64_t)1 << 20) /* a stream is known by then, or after START_READS */
#define STEADY_READS 48u                 /* shuffled reads are known sooner */
#define START_READS  16u
#define NO_CURSOR    UINT32_MAX

/* Four files in five are at their place or at the next one. */
static void fetch_lines(const struct canfs_shard *shard, uint64_t hash)
{
	const struct canfs_file *file = &shard->file[canfs_table_place(shard, hash)];

	__builtin_prefetch(file, 1);
	__builtin_prefetch(&file->first, 1);
	__builtin_prefetch(file + 1, 1);
	__builtin_prefetch(&file[1].first, 1);
}

static struct canfs_shard *lock_shard(struct canfs_files *files, uint64_t hash)
{
	struct canfs_shard *shard = canfs_table_shard(files, hash);

	fetch_lines(shard, hash);
	pthread_mutex_lock(&shard->lock);
	return shard;
}

/*
 * Returns where the cursor stops: at the end of the file, or where another reader of the file
 * began.
 */
static uint64_t end_of(struct canfs_shard *shard, struct canfs_file *file,
	const struct canfs_cursor *cursor, uint64_t file_bytes)
{
	uint64_t end = canfs_cursor_end(cursor, file_bytes);
	uint32_t n = canfs_table_first(shard, file);

	do {
		const struct canfs_cursor *other = canfs_table_cursor(shard, n);

		if (other != cursor && file->reads - other->stamp <= GONE_READS)
			end = canfs_cursor_end_before(cursor, other, end);
		n = canfs_table_next(shard, n);
	} while (n != 0);
	return end;
}

static size_t advise(struct canfs_files *files, struct canfs_shard *shard, struct canfs_file *file,
	uint32_t n, uint64_t file_bytes, double scale, struct canfs_advice advice[CANFS_ADVICE_MAX])
{
	struct canfs_cursor *cursor = canfs_table_cursor(shard, n);
	struct canfs_reach reach = {
		.ahead_bytes = canfs_account_ahead(files, file, cursor, scale),
		.piece_bytes = files->config.unit_bytes,
	};
	struct canfs_piece piece[CANFS_ADVICE_MAX];
	uint32_t before = cursor->outstanding;
	size_t pieces;

	if (!canfs_cursor_wants(cursor, reach.ahead_bytes))
		return 0;
	reach.end = end_of(shard, file, cursor, file_bytes);
	pieces = canfs_cursor_fetch(cursor, &reach, piece, CANFS_ADVICE_MAX);
	if (pieces > 0) {
		canfs_account_fetched(files, shard, file, cursor->outstanding - before);
		canfs_account_watch(shard, file);
	}
	for (size_t i = 0; i < pieces; i++)
		advice[i] = (struct canfs_advice) { .offset = piece[i].offset,
			.bytes = piece[i].bytes,
			.cursor = (uint32_t)(shard - files->shard) * files->cursors + n };
	return pieces;
}

/* The result of a search of all cursors of a file. */
struct search {
	uint32_t best; /* the cursor that the read belongs to */
	uint64_t distance;
	uint32_t oldest;      /* for canfs_table_new_cursor() */
	unsigned int pending; /* cursors with outstanding bytes */
	unsigned int single;  /* cursors with one read; together they may be a stride */
	struct {
		uint64_t offset;
		uint32_t n, stamp;
	} one[CANFS_FILE_CURSORS_MAX];
};

/* Returns the bytes fetched, and neither used nor given up. */
static uint64_t pending_bytes(const struct canfs_file *file)
{
	return file->fetched_bytes - file->used_bytes - file->wasted_bytes;
}

/*
 * Suspects the cursors whose reader has not come for long. Each cursor is given the same number of
 * reads. A cursor that was followed for long is given more: until the others have read all
 * outstanding bytes. The disk may have served the others first.
 */
static void suspect(struct canfs_shard *shard, struct canfs_file *file, unsigned int pending)
{
	uint64_t expected_bytes = pending_bytes(file);
	uint32_t n = canfs_table_first(shard, file);

	do {
		struct canfs_cursor *cursor = canfs_table_cursor(shard, n);
		uint32_t idle = file->reads - cursor->stamp;
		uint64_t idle_max = IDLE_FACTOR * (uint64_t)cursor->run;

		if (idle_max > expected_bytes)
			idle_max = expected_bytes;
		if (idle > DOUBT_READS * (pending < 3 ? pending + 1 : 4) &&
			idle * (uint64_t)cursor->span > idle_max)
			canfs_account_suspect(shard, file, cursor);
		if (idle > GONE_READS)
			canfs_account_end(shard, file, cursor);
		n = canfs_table_next(shard, n);
	} while (n != 0);
}

static void search_cursors(struct canfs_files *files, struct canfs_shard *shard,
	struct canfs_file *file, uint64_t offset, uint32_t bytes, struct search *search)
{
	uint32_t n = canfs_table_first(shard, file);
	uint64_t longest = 0;

	do {
		struct canfs_cursor *cursor = canfs_table_cursor(shard, n);
		uint64_t distance = canfs_cursor_distance(
			cursor, offset, bytes, files->config.tolerance_max_bytes);
		uint64_t idle = file->reads - cursor->stamp;

		if (distance < search->distance) {
			search->distance = distance;
			search->best = n;
			if (distance == 0)
				return;
		}
		if (cursor->heading == CANFS_LEARNING) {
			idle |= (uint64_t)1 << 32;
			if (cursor->seqcount == 1) {
				search->one[search->single].offset = canfs_learn_offset(cursor);
				search->one[search->single].n = n;
				search->one[search->single++].stamp = cursor->stamp;
			}
		} else if (cursor->outstanding > 0) {
			search->pending++;
		}
		if (idle >= longest) {
			longest = idle;
			search->oldest = n;
		}
		n = canfs_table_next(shard, n);
	} while (n != 0);
	if (search->pending > 0)
		suspect(shard, file, search->pending);
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
 * Finds a stride that is too wide for one window: this read, one of the last unmatched reads, and
 * two before them are evenly spaced. The spacing must be exact; among random reads that happens
 * once in a million. Returns the cursor of the other read, begun anew, or NO_CURSOR.
 */
static uint32_t find_stride(struct canfs_shard *shard, const struct canfs_file *file,
	const struct search *search, uint64_t offset, uint32_t bytes)
{
	for (unsigned int i = 0; i < search->single; i++) {
		uint32_t n = search->one[i].n;
		uint64_t from = search->one[i].offset, apart = offset - from;

		if (file->reads - search->one[i].stamp <= STRIDE_READS &&
			has_one_at(search, from - apart) && has_one_at(search, from - 2 * apart) &&
			canfs_cursor_begin_stride(canfs_table_cursor(shard, n), offset, bytes,
				(int64_t)apart, file->reads))
			return n;
	}
	return NO_CURSOR;
}

/*
 * True if the read is in no sequence, and not among the first of its file, where sequences begin.
 */
static bool is_random(const struct canfs_cursor *cursor, uint64_t offset, uint32_t bytes)
{
	return cursor->heading == CANFS_LEARNING && offset >= START_BYTES &&
	       offset >= START_READS * (uint64_t)bytes;
}

/*
 * Random reads of a small file are near some cursor now and then. They differ from others because
 * they continue no sequence.
 */
static void note_way(struct canfs_file *file, bool in_sequence)
{
	if (in_sequence)
		file->random_run = 0;
	else if (file->random_run < UINT8_MAX)
		file->random_run++;
}

/*
 * Returns the cursor that the read belongs to. *fetched: the bytes of the read that were fetched
 * ahead.
 */
static uint32_t follow(struct canfs_files *files, struct canfs_shard *shard,
	struct canfs_file *file, uint64_t offset, uint32_t bytes, uint32_t *fetched)
{
	uint32_t reach = files->config.tolerance_max_bytes, n = NO_CURSOR;
	struct search search; /* too large to be cleared each time */
	struct canfs_followed followed;
	struct canfs_cursor *cursor;

	search.distance = UINT64_MAX;
	search.oldest = 0;
	search.single = 0;
	search.pending = 0;
	*fetched = 0;
	if (file->cursors > 0)
		search_cursors(files, shard, file, offset, bytes, &search);
	if (search.distance != UINT64_MAX) {
		cursor = canfs_table_cursor(shard, search.best);
		cursor->stamp = file->reads;
		cursor->referenced = true;
		canfs_account_hit(shard, file, cursor);
		followed = canfs_cursor_follow(cursor, offset, bytes, reach);
		canfs_account_followed(files, shard, file, followed);
		note_way(file, followed.sequential > 0);
		*fetched = followed.used;
		shard->stats.matched++;
		return search.best;
	}
	note_way(file, false);
	if (search.single >= 3)
		n = find_stride(shard, file, &search, offset, bytes);
	if (n == NO_CURSOR) {
		n = canfs_table_new_cursor(shard, file, search.oldest);
		canfs_cursor_begin(canfs_table_cursor(shard, n), offset, bytes, file->reads);
	}
	return n;
}

void canfs_files_leave_plain(struct canfs_files *files, bool leave)
{
	atomic_store_explicit(&files->leave_plain, leave, memory_order_relaxed);
}

/*
 * True if the file has other readers. Cursors that were left by reads that overtook each other do
 * not count.
 */
static bool has_others(struct canfs_shard *shard, struct canfs_file *file, uint32_t n)
{
	uint32_t other = canfs_table_first(shard, file);

	if (file->cursors == 1)
		return false;
	do {
		if (other != n &&
			file->reads - canfs_table_cursor(shard, other)->stamp <= STRAY_READS)
			return true;
		other = canfs_table_next(shard, other);
	} while (other != 0);
	return false;
}

/* True if the order is known, and the bytes that are read need not be counted. */
static bool is_steady(const struct canfs_cursor *cursor)
{
	return cursor->seqcount >= STEADY_READS && canfs_cursor_is_past_fetched(cursor);
}

size_t canfs_files_read(struct canfs_files *files, uint64_t file, uint64_t offset, uint32_t bytes,
	uint64_t file_bytes, double scale, bool in_order,
	struct canfs_advice advice[CANFS_ADVICE_MAX], struct canfs_files_found *found)
{
	uint64_t hash = canfs_table_hash(file);
	struct canfs_shard *shard;
	struct canfs_file *active;
	uint32_t n, fetched;
	size_t pieces = 0;
	bool plain;

	if (file_bytes > CANFS_OFFSET_MAX)
		file_bytes = CANFS_OFFSET_MAX;
	if (found)
		*found = (struct canfs_files_found) { .plain = false };
	if (bytes == 0 || offset >= file_bytes)
		return 0;
	if (bytes > READ_MAX_BYTES)
		bytes = READ_MAX_BYTES;
	if (bytes > file_bytes - offset)
		bytes = (uint32_t)(file_bytes - offset);
	shard = lock_shard(files, hash);
	active = canfs_table_take(shard, file, hash);
	active->stamp = ++shard->reads;
	if (++active->reads == 0) /* 0 stands for an empty place */
		active->reads = 1;
	shard->stats.reads++;
	n = follow(files, shard, active, offset, bytes, &fetched);
	plain = canfs_cursor_is_plain(canfs_table_cursor(shard, n)) &&
		(in_order || !has_others(shard, active, n));
	if (found)
		*found = (struct canfs_files_found) { .fetched = fetched,
			.awaited = pending_bytes(active) > 0,
			.random = is_random(canfs_table_cursor(shard, n), offset, bytes),
			.steady = plain && is_steady(canfs_table_cursor(shard, n)),
			.plain = plain };
	if (scale > 0 &&
		!(plain && atomic_load_explicit(&files->leave_plain, memory_order_relaxed)))
		pieces = advise(files, shard, active, n, file_bytes, scale < 1 ? scale : 1, advice);
	pthread_mutex_unlock(&shard->lock);
	return pieces;
}

/*
 * Returns the cursor with this number of canfs_advice, of a file in the locked shard. NULL: the
 * file has lost the cursor, which may belong to another file by now.
 */
static struct canfs_cursor *find_cursor(const struct canfs_files *files, struct canfs_shard *shard,
	const struct canfs_file *file, uint32_t number)
{
	uint32_t n = number - (uint32_t)(shard - files->shard) * files->cursors;
	uint32_t first = !file ? 0 : canfs_table_first(shard, file);

	if (!file || n >= files->cursors ||
		(n < shard->places ? n : shard->pool[n - shard->places].owner) != first)
		return NULL;
	return canfs_table_cursor(shard, n);
}

void canfs_files_not_fetched(
	struct canfs_files *files, uint64_t file, uint32_t cursor, uint64_t offset, uint64_t bytes)
{
	uint64_t hash = canfs_table_hash(file);
	struct canfs_shard *shard = lock_shard(files, hash);
	struct canfs_file *active = canfs_table_find(shard, file, hash);
	struct canfs_cursor *found = find_cursor(files, shard, active, cursor);

	if (found && offset < CANFS_OFFSET_MAX && bytes <= CANFS_OFFSET_MAX - offset)
		canfs_account_refund(
			shard, active, found, canfs_cursor_not_fetched(found, offset, bytes));
	pthread_mutex_unlock(&shard->lock);
}

void canfs_files_was_there(
	struct canfs_files *files, uint64_t file, uint32_t cursor, uint64_t bytes)
{
	uint64_t hash = canfs_table_hash(file);
	struct canfs_shard *shard = lock_shard(files, hash);
	struct canfs_file *active = canfs_table_find(shard, file, hash);
	struct canfs_cursor *found = find_cursor(files, shard, active, cursor);

	if (found)
		canfs_account_refund(shard, active, found, canfs_cursor_was_there(found, bytes));
	pthread_mutex_unlock(&shard->lock);
}

void canfs_files_changed(struct canfs_files *files, uint64_t file, uint64_t from_offset)
{
	uint64_t hash = canfs_table_hash(file);
	struct canfs_shard *shard = lock_shard(files, hash);
	struct canfs_file *active = canfs_table_find(shard, file, hash);
	uint32_t n = !active ? 0 : canfs_table_first(shard, active);

	if (active && from_offset < CANFS_OFFSET_MAX) {
		do {
			struct canfs_cursor *cursor = canfs_table_cursor(shard, n);

			canfs_account_refund(shard, active, cursor,
				canfs_cursor_not_fetched(
					cursor, from_offset, CANFS_OFFSET_MAX - from_offset));
			n = canfs_table_next(shard, n);
		} while (n != 0);
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
