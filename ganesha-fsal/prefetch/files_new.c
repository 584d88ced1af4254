// SPDX-License-Identifier: LGPL-3.0-or-later
/* The table's memory. */
#include "ganesha-fsal/prefetch/files.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "ganesha-fsal/prefetch/account.h"

#define SHARDS_MAX      256u
#define SHARD_FILES_MIN 64u

const struct canfs_files_config canfs_files_defaults = { .files = 1000000,
	.cursors = 1000000,
	.unit_bytes = 4 << 20,
	.units_ahead = 2,
	.tolerance_max_bytes = 2 << 20 };

static bool between(uint32_t value, uint32_t least, uint32_t most)
{
	return value >= least && value <= most;
}

static bool is_valid(const struct canfs_files_config *config)
{
	return between(config->files, 1, CANFS_FILES_MAX) &&
	       between(config->cursors, 0, CANFS_FILES_MAX) &&
	       between(config->unit_bytes, 64 << 10, 64 << 20) &&
	       between(config->units_ahead, 1, 8) &&
	       between(config->tolerance_max_bytes, 64 << 10, 16 << 20);
}

/* Space for n things of a size; rounded up to a cache line. */
static size_t room(uint64_t *bytes, size_t n, size_t size)
{
	size_t at = *bytes;

	*bytes += (n * size + 63) / 64 * 64;
	return at;
}

static uint32_t power_of_two_from(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

/*
 * Files are spread by their hash: some shards get more than their part. Four standard deviations of room more, and
 * hardly a file has to go while there are not too many.
 */
static uint32_t shard_files(uint32_t files, uint32_t shards)
{
	uint32_t part = (files + shards - 1) / shards;

	return shards == 1 ? part : part + (uint32_t)(4 * sqrt(part));
}

static void make_shards(
	struct canfs_files *files, uint32_t files_each, uint32_t pool_each, uint32_t index_each)
{
	for (uint32_t i = 0; i < files->shards; i++) {
		struct canfs_shard *shard = &files->shard[i];
		uint32_t cursors_each = files_each + pool_each;

		pthread_mutex_init(&shard->lock, NULL);
		shard->files = files_each;
		shard->cursors = cursors_each;
		shard->index_mask = index_each - 1;
		shard->index = files->index + (size_t)i * index_each;
		shard->file = files->file + (size_t)i * files_each;
		shard->cursor = files->cursor + (size_t)i * cursors_each;
		shard->link = files->link + (size_t)i * cursors_each;
	}
}

int canfs_files_new(struct canfs_files **files, const struct canfs_files_config *config)
{
	struct canfs_files new = { .config = *config, .shards = SHARDS_MAX };
	uint32_t files_each, pool_each, index_each;
	size_t file, cursor, link, index, shard;
	char *memory;

	if (!is_valid(config))
		return -EINVAL;
	while (new.shards > 1 && config->files / new.shards < SHARD_FILES_MIN)
		new.shards /= 2;
	files_each = shard_files(config->files, new.shards);
	pool_each = (config->cursors + new.shards - 1) / new.shards;
	index_each = power_of_two_from(files_each + files_each / 2);

	room(&new.memory_bytes, 1, sizeof(new));
	new.memory_bytes = (new.memory_bytes + 127) / 128 * 128; /* a shard's alignment */
	shard = room(&new.memory_bytes, new.shards, sizeof(struct canfs_shard));
	file = room(&new.memory_bytes, (size_t) new.shards *files_each, sizeof(struct canfs_file));
	cursor = room(&new.memory_bytes, (size_t) new.shards *(files_each + pool_each),
		sizeof(struct canfs_cursor));
	link = room(&new.memory_bytes, (size_t) new.shards *(files_each + pool_each),
		sizeof(struct canfs_link));
	index = room(&new.memory_bytes, (size_t) new.shards *index_each, sizeof(uint32_t));

	/* Zero, and not there before it is touched. Huge pages: a lookup goes anywhere, and the TLB is small. */
	memory = mmap(NULL, new.memory_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	(void)madvise(memory, new.memory_bytes, MADV_HUGEPAGE); /* no harm without */
	new.shard = (struct canfs_shard *)(memory + shard);
	new.file = (struct canfs_file *)(memory + file);
	new.cursor = (struct canfs_cursor *)(memory + cursor);
	new.link = (struct canfs_link *)(memory + link);
	new.index = (uint32_t *)(memory + index);
	new.ahead_max_bytes = (uint64_t)config->unit_bytes * config->units_ahead;
	canfs_account_open(&new);
	*files = (struct canfs_files *)memory;
	**files = new;
	make_shards(*files, files_each, pool_each, index_each);
	return 0;
}

void canfs_files_free(struct canfs_files *files)
{
	if (files == NULL)
		return;
	for (uint32_t i = 0; i < files->shards; i++)
		pthread_mutex_destroy(&files->shard[i].lock);
	munmap(files, files->memory_bytes);
}
