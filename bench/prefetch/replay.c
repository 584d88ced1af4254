// SPDX-License-Identifier: LGPL-3.0-or-later
#include "bench/prefetch/replay.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define CHUNK_PAGES 512u /* 2 MB */

/*
 * The number of the read that prefetched the page (from 1; 0: not prefetched), and whether the page
 * was read.
 */
struct page {
	uint32_t fetched;
	bool read;
};

struct chunk {
	uint64_t file, number;
	struct page page[CHUNK_PAGES];
};

struct canfs_replay {
	struct canfs_files *files;
	unsigned int arrival_reads;
	struct canfs_replay_result result;
	size_t chunks, capacity; /* a power of two */
	struct chunk **chunk;
};

struct canfs_replay *canfs_replay_new(struct canfs_files *files, unsigned int arrival_reads)
{
	struct canfs_replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return NULL;
	*replay = (struct canfs_replay) {
		.files = files, .arrival_reads = arrival_reads, .capacity = 1024
	};
	replay->chunk = calloc(replay->capacity, sizeof(struct chunk *));
	if (!replay->chunk) {
		free(replay);
		return NULL;
	}
	return replay;
}

void canfs_replay_free(struct canfs_replay *replay)
{
	if (!replay)
		return;
	for (size_t i = 0; i < replay->capacity; i++)
		free(replay->chunk[i]);
	free(replay->chunk);
	free(replay);
}

static struct chunk **place_of(
	struct chunk **chunk, size_t capacity, uint64_t file, uint64_t number)
{
	size_t i = (size_t)((file * 0x9e3779b97f4a7c15u + number) * 0xd6e8feb86659fd93u >> 20);

	for (;; i++) {
		struct chunk **place = &chunk[i & (capacity - 1)];

		if (!*place || ((*place)->file == file && (*place)->number == number))
			return place;
	}
}

static int grow(struct canfs_replay *replay)
{
	size_t capacity = 2 * replay->capacity;
	struct chunk **chunk = calloc(capacity, sizeof(struct chunk *));

	if (!chunk)
		return -ENOMEM;
	for (size_t i = 0; i < replay->capacity; i++) {
		struct chunk *moved = replay->chunk[i];

		if (moved)
			*place_of(chunk, capacity, moved->file, moved->number) = moved;
	}
	free(replay->chunk);
	replay->chunk = chunk;
	replay->capacity = capacity;
	return 0;
}

static struct page *page_of(struct canfs_replay *replay, uint64_t file, uint64_t page)
{
	struct chunk **place;

	if (2 * replay->chunks >= replay->capacity && grow(replay) != 0)
		return NULL;
	place = place_of(replay->chunk, replay->capacity, file, page / CHUNK_PAGES);
	if (!*place) {
		*place = calloc(1, sizeof(**place));
		if (!*place)
			return NULL;
		(*place)->file = file;
		(*place)->number = page / CHUNK_PAGES;
		replay->chunks++;
	}
	return &(*place)->page[page % CHUNK_PAGES];
}

static void read_page(struct canfs_replay *replay, struct page *page)
{
	struct canfs_replay_result *result = &replay->result;

	if (page->read)
		return;
	page->read = true;
	result->read++;
	if (page->fetched == 0)
		return;
	result->wasted--;
	if (result->reads - page->fetched >= replay->arrival_reads)
		result->covered++;
	else
		result->late++;
}

static void fetch_page(struct canfs_replay *replay, struct page *page)
{
	if (page->read || page->fetched != 0)
		return;
	page->fetched = (uint32_t)replay->result.reads;
	replay->result.prefetched++;
	replay->result.wasted++;
}

/* Calls the function for each page of these bytes. Returns 0 or -ENOMEM. */
static int each_page(struct canfs_replay *replay, uint64_t file, uint64_t offset, uint64_t bytes,
	void (*call)(struct canfs_replay *, struct page *))
{
	uint64_t end = offset + bytes;

	for (uint64_t n = offset / CANFS_REPLAY_PAGE_BYTES; n * CANFS_REPLAY_PAGE_BYTES < end;
		n++) {
		struct page *page = page_of(replay, file, n);

		if (!page)
			return -ENOMEM;
		call(replay, page);
	}
	return 0;
}

int canfs_replay_read(struct canfs_replay *replay, uint64_t file, uint64_t offset, uint32_t bytes,
	uint64_t file_bytes)
{
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	size_t n = canfs_files_read(
		replay->files, file, offset, bytes, file_bytes, 1, false, advice, NULL);
	uint64_t before, fetched;
	int ret;

	replay->result.reads++;
	replay->result.advice += n;
	if (offset >= file_bytes)
		return 0;
	ret = each_page(replay, file, offset,
		bytes < file_bytes - offset ? bytes : file_bytes - offset, read_page);
	for (size_t i = 0; i < n && ret == 0; i++) {
		if (advice[i].bytes == 0 || advice[i].offset >= file_bytes ||
			advice[i].bytes > file_bytes - advice[i].offset)
			return -EINVAL;
		before = replay->result.prefetched;
		ret = each_page(replay, file, advice[i].offset, advice[i].bytes, fetch_page);
		fetched = (replay->result.prefetched - before) * CANFS_REPLAY_PAGE_BYTES;
		if (fetched < advice[i].bytes)
			canfs_files_was_there(
				replay->files, file, advice[i].cursor, advice[i].bytes - fetched);
	}
	return ret;
}

struct canfs_replay_result canfs_replay_result(const struct canfs_replay *replay)
{
	return replay->result;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}

double canfs_replay_coverage(const struct canfs_replay_result *result)
{
	return share(result->covered, result->read);
}

double canfs_replay_waste(const struct canfs_replay_result *result)
{
	return share(result->wasted, result->read + result->wasted);
}
