// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/account.h"

#define CLOCK_STEPS 8u  /* the hand stops there, and takes the next cursor */
#define NEW_IDLE    64u /* if a cursor learned nothing in so many reads of its file, reuse it */

/*
 * After RANDOM_RUN_MANY reads that continue no sequence, a file is read at random. Its reads then
 * need not be compared with more than RANDOM_RUN_MAX cursors. CANFS_FILE_CURSORS_MAX readers that
 * begin together are known by their third reads, which is before that.
 */
#define RANDOM_RUN_MANY (2 * CANFS_FILE_CURSORS_MAX)
#define RANDOM_RUN_MAX  16u

uint64_t canfs_table_hash(uint64_t key)
{
	key = (key ^ key >> 32) * 0xd6e8feb86659fd93u;
	key = (key ^ key >> 32) * 0xd6e8feb86659fd93u;
	return key ^ key >> 32;
}

struct canfs_shard *canfs_table_shard(const struct canfs_files *files, uint64_t hash)
{
	return &files->shard[hash & (files->shards - 1)];
}

uint32_t canfs_table_place(const struct canfs_shard *shard, uint64_t hash)
{
	return (uint32_t)((hash >> 32) * shard->places >> 32);
}

static uint32_t after(uint32_t place, const struct canfs_shard *shard)
{
	return place + 1 < shard->places ? place + 1 : 0;
}

static uint32_t probes(const struct canfs_shard *shard)
{
	return shard->places < CANFS_FILE_PROBES ? shard->places : CANFS_FILE_PROBES;
}

struct canfs_file *canfs_table_find(struct canfs_shard *shard, uint64_t key, uint64_t hash)
{
	uint32_t place = canfs_table_place(shard, hash);

	for (uint32_t i = probes(shard); i > 0; i--, place = after(place, shard)) {
		struct canfs_file *file = &shard->file[place];

		if (file->key == key && file->reads > 0)
			return file;
		if (file->reads == 0)
			return NULL;
	}
	return NULL;
}

static void free_pooled(struct canfs_shard *shard, struct canfs_file *file, uint32_t n)
{
	struct canfs_pooled *pooled = &shard->pool[n - shard->places];

	canfs_account_end(shard, file, &pooled->cursor);
	pooled->next = shard->pool_free;
	shard->pool_free = n;
	shard->pool_used--;
}

static void forget(struct canfs_shard *shard, struct canfs_file *file)
{
	uint32_t next;

	canfs_account_end(shard, file, &file->first);
	for (uint32_t n = file->next; n != 0; n = next) {
		next = canfs_table_next(shard, n);
		free_pooled(shard, file, n);
	}
}

struct canfs_file *canfs_table_take(struct canfs_shard *shard, uint64_t key, uint64_t hash)
{
	struct canfs_file *file = canfs_table_find(shard, key, hash), *oldest = NULL;
	uint32_t place = canfs_table_place(shard, hash);

	if (file)
		return file;
	for (uint32_t i = probes(shard); i > 0; i--, place = after(place, shard)) {
		file = &shard->file[place];
		if (file->reads == 0) {
			shard->files_used++;
			*file = (struct canfs_file) { .key = key };
			return file;
		}
		if (!oldest || shard->reads - file->stamp > shard->reads - oldest->stamp)
			oldest = file;
	}
	/* No place becomes empty, so that a file behind this one is still found. */
	forget(shard, oldest);
	*oldest = (struct canfs_file) { .key = key, .watched = oldest->watched };
	return oldest;
}

/* Removes a cursor of the pool from its file. */
static void unlink_pooled(struct canfs_shard *shard, uint32_t n)
{
	struct canfs_pooled *pooled = &shard->pool[n - shard->places];
	struct canfs_file *file = &shard->file[pooled->owner];
	uint32_t *link = &file->next;

	while (*link != n)
		link = &shard->pool[*link - shard->places].next;
	*link = pooled->next;
	file->cursors--;
	canfs_account_end(shard, file, &pooled->cursor);
}

/*
 * Takes a cursor of the pool that is nearly the least recently used: second chance, but not for
 * cursors that have learned nothing.
 */
static uint32_t steal(struct canfs_shard *shard)
{
	uint32_t i = shard->pool_hand, n;

	for (unsigned int step = 0; step < CLOCK_STEPS; step++) {
		struct canfs_cursor *cursor = &shard->pool[i].cursor;

		if (!cursor->referenced || cursor->heading == CANFS_LEARNING)
			break;
		cursor->referenced = false;
		i = i + 1 < shard->pooled ? i + 1 : 0;
	}
	n = shard->places + i;
	shard->pool_hand = i + 1 < shard->pooled ? i + 1 : 0;
	unlink_pooled(shard, n);
	return n;
}

static uint32_t take_pooled(struct canfs_shard *shard)
{
	uint32_t n;

	if (shard->pool_free != 0) {
		n = shard->pool_free;
		shard->pool_free = shard->pool[n - shard->places].next;
	} else if (shard->pool_begun < shard->pooled) {
		n = shard->places + shard->pool_begun++;
	} else {
		return steal(shard);
	}
	shard->pool_used++;
	return n;
}

uint32_t canfs_table_new_cursor(struct canfs_shard *shard, struct canfs_file *file, uint32_t oldest)
{
	uint32_t most = file->random_run < RANDOM_RUN_MANY ? CANFS_FILE_CURSORS_MAX
							   : RANDOM_RUN_MAX,
		 n;
	struct canfs_cursor *old;

	if (file->cursors == 0) {
		file->cursors = 1;
		return canfs_table_first(shard, file);
	}
	old = canfs_table_cursor(shard, oldest);
	if (file->cursors > most && oldest >= shard->places) {
		unlink_pooled(shard, oldest);
		free_pooled(shard, file, oldest);
		oldest = canfs_table_first(shard, file);
		old = &file->first;
	}
	if (shard->pooled == 0 || file->cursors >= most ||
		(old->heading == CANFS_LEARNING && canfs_cursor_idle(file, old, NEW_IDLE))) {
		canfs_account_end(shard, file, old);
		return oldest;
	}
	n = take_pooled(shard);
	shard->pool[n - shard->places].next = file->next;
	shard->pool[n - shard->places].owner = canfs_table_first(shard, file);
	file->next = n;
	file->cursors++;
	return n;
}
