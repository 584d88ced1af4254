// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/prefetch/account.h"

/* An entry of the index: some bits of the hash, which save the look at most other files, and slot + 1. */
#define SLOT_BITS 20u
#define SLOT_MASK ((1u << SLOT_BITS) - 1)
_Static_assert(CANFS_SHARD_FILES_MAX < SLOT_MASK, "a slot must fit an index entry");

#define CLOCK_STEPS 8u  /* the hand goes no further; then the next one gives way */
#define NEW_IDLE    64u /* a cursor that learnt nothing in so many reads of its file may go */

uint64_t canfs_table_hash(uint64_t key)
{
	key = (key ^ key >> 32) * 0xd6e8feb86659fd93u;
	key = (key ^ key >> 32) * 0xd6e8feb86659fd93u;
	return key ^ key >> 32;
}

static uint32_t entry_of(uint64_t hash, uint32_t slot)
{
	return (uint32_t)(hash >> 32) << SLOT_BITS | (slot + 1);
}

static uint32_t slot_of(uint32_t entry)
{
	return (entry & SLOT_MASK) - 1;
}

static void index_add(struct canfs_shard *shard, uint64_t hash, uint32_t slot)
{
	uint32_t i = (uint32_t)hash & shard->index_mask;

	while (shard->index[i] != 0)
		i = (i + 1) & shard->index_mask;
	shard->index[i] = entry_of(hash, slot);
}

/* Those behind it move up, unless they would come before where their search begins. */
static void index_remove(struct canfs_shard *shard, uint32_t slot)
{
	uint64_t hash = canfs_table_hash(shard->file[slot].key);
	uint32_t mask = shard->index_mask, hole = (uint32_t)hash & mask, i;

	while (slot_of(shard->index[hole]) != slot)
		hole = (hole + 1) & mask;
	for (i = (hole + 1) & mask; shard->index[i] != 0; i = (i + 1) & mask) {
		uint64_t key = shard->file[slot_of(shard->index[i])].key;
		uint32_t home = (uint32_t)canfs_table_hash(key) & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			shard->index[hole] = shard->index[i];
			hole = i;
		}
	}
	shard->index[hole] = 0;
}

static void forget_file(struct canfs_shard *shard, uint32_t slot)
{
	uint32_t next;

	canfs_account_end(shard, &shard->file[slot], &shard->cursor[slot]);
	for (uint32_t n = shard->link[slot].next; n != 0; n = next) {
		next = shard->link[n - 1].next;
		canfs_account_end(shard, &shard->file[slot], &shard->cursor[n - 1]);
		shard->link[n - 1].next = shard->pool_free;
		shard->pool_free = n;
		shard->pool_used--;
	}
	shard->link[slot].next = 0;
	index_remove(shard, slot);
}

/* Second chance: the least recently used, nearly. */
static uint32_t oldest_file(struct canfs_shard *shard)
{
	uint32_t slot = shard->hand;

	for (unsigned int i = 0; i < CLOCK_STEPS && shard->file[slot].referenced; i++) {
		shard->file[slot].referenced = false;
		slot = slot + 1 < shard->files ? slot + 1 : 0;
	}
	shard->hand = slot + 1 < shard->files ? slot + 1 : 0;
	return slot;
}

static uint32_t create_file(struct canfs_shard *shard, uint64_t key, uint64_t hash)
{
	uint32_t slot;

	if (shard->files_used < shard->files) {
		slot = shard->files_used++;
	} else {
		slot = oldest_file(shard);
		forget_file(shard, slot);
	}
	shard->file[slot] = (struct canfs_file) { .key = key };
	shard->cursor[slot] = (struct canfs_cursor) { 0 };
	shard->link[slot].owner = slot;
	index_add(shard, hash, slot);
	return slot;
}

uint32_t canfs_table_find(struct canfs_shard *shard, uint64_t key, uint64_t hash, bool create)
{
	uint32_t like = entry_of(hash, 0) & ~SLOT_MASK, entry;

	for (uint32_t i = (uint32_t)hash & shard->index_mask; (entry = shard->index[i]) != 0;
		i = (i + 1) & shard->index_mask) {
		uint32_t slot = slot_of(entry);

		if ((entry & ~SLOT_MASK) != like)
			continue;
		__builtin_prefetch(&shard->cursor[slot], 1);
		__builtin_prefetch(&shard->link[slot]);
		if (shard->file[slot].key == key)
			return slot;
	}
	return create ? create_file(shard, key, hash) : CANFS_NO_FILE;
}

/* Takes a cursor of the pool from the file that has it. */
static void unlink_cursor(struct canfs_shard *shard, uint32_t n)
{
	uint32_t slot = shard->link[n].owner, before = slot;

	while (shard->link[before].next != n + 1)
		before = shard->link[before].next - 1;
	shard->link[before].next = shard->link[n].next;
	shard->file[slot].cursors--;
	canfs_account_end(shard, &shard->file[slot], &shard->cursor[n]);
}

/* The least recently used of the pool, nearly; one that has learnt nothing has no second chance. */
static uint32_t steal_cursor(struct canfs_shard *shard)
{
	uint32_t first = shard->files, n = first + shard->pool_hand;

	for (unsigned int i = 0; i < CLOCK_STEPS && shard->cursor[n].referenced &&
				 shard->cursor[n].heading != CANFS_LEARNING;
		i++) {
		shard->cursor[n].referenced = false;
		n = n + 1 < shard->cursors ? n + 1 : first;
	}
	shard->pool_hand = n + 1 < shard->cursors ? n + 1 - first : 0;
	unlink_cursor(shard, n);
	return n;
}

/* The file's own that was hit longest ago; those that have learnt nothing come first. */
static uint32_t oldest_cursor(const struct canfs_shard *shard, uint32_t slot)
{
	const struct canfs_file *file = &shard->file[slot];
	uint32_t oldest = slot;
	uint64_t most = 0;

	for (uint32_t n = slot + 1; n != 0; n = shard->link[n - 1].next) {
		const struct canfs_cursor *cursor = &shard->cursor[n - 1];
		uint64_t idle = file->reads - cursor->stamp;

		if (cursor->heading == CANFS_LEARNING)
			idle += (uint64_t)1 << 32;
		if (idle >= most) {
			most = idle;
			oldest = n - 1;
		}
	}
	return oldest;
}

uint32_t canfs_table_new_cursor(struct canfs_shard *shard, uint32_t slot)
{
	struct canfs_file *file = &shard->file[slot];
	uint32_t n, old;

	if (file->cursors == 0) { /* its own */
		file->cursors = 1;
		return slot;
	}
	old = oldest_cursor(shard, slot);
	if (shard->cursors == shard->files || file->cursors >= CANFS_FILE_CURSORS_MAX ||
		(shard->cursor[old].heading == CANFS_LEARNING &&
			canfs_cursor_idle(file, &shard->cursor[old], NEW_IDLE))) {
		canfs_account_end(shard, file, &shard->cursor[old]);
		return old;
	}
	if (shard->pool_free != 0) {
		n = shard->pool_free - 1;
		shard->pool_free = shard->link[n].next;
		shard->pool_used++;
	} else if (shard->files + shard->pool_begun < shard->cursors) {
		n = shard->files + shard->pool_begun++;
		shard->pool_used++;
	} else {
		n = steal_cursor(shard);
	}
	shard->link[n] = (struct canfs_link) { .next = shard->link[slot].next, .owner = slot };
	shard->link[slot].next = n + 1;
	file->cursors++;
	return n;
}
