// SPDX-License-Identifier: LGPL-3.0-or-later
/* Allocates the table of active files. */
#include "ganesha-fsal/read/prefetch/files.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "ganesha-fsal/read/prefetch/account.h"

#define SHARDS_MAX      256u
#define SHARD_FILES_MIN 64u

const struct canfs_files_config canfs_files_defaults = { .files = 1000000,
	.cursors = 750000,
	.unit_bytes = 4 << 20,
	.units_ahead = 4,
	.tolerance_max_bytes = 2 << 20 };

struct canfs_files_config canfs_files_config_for(uint32_t files)
{
	struct canfs_files_config config = canfs_files_defaults;

	config.files = files;
	config.cursors = files / 4 * 3;
	return config;
}

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

/*
 * Adds space for n members of a size, aligned as a shard, which needs the largest alignment.
 * Returns its offset.
 */
static size_t add_part(uint64_t *bytes, size_t n, size_t size)
{
	size_t at = *bytes;

	*bytes += (n * size + 127) / 128 * 128;
	return at;
}

static void make_shards(
	struct canfs_files *files, struct canfs_file *file, struct canfs_pooled *pool)
{
	uint32_t pooled = files->cursors - files->places;

	for (uint32_t i = 0; i < files->shards; i++) {
		struct canfs_shard *shard = &files->shard[i];

		pthread_mutex_init(&shard->lock, NULL);
		shard->places = files->places;
		shard->pooled = pooled;
		shard->file = file + (size_t)i * files->places;
		shard->pool = pool + (size_t)i * pooled;
	}
}

static uint32_t part(uint32_t n, uint32_t shards)
{
	return (n + shards - 1) / shards;
}

int canfs_files_new(struct canfs_files **files, const struct canfs_files_config *config)
{
	struct canfs_files new = { .config = *config, .shards = SHARDS_MAX };
	size_t file, pool, shard;
	char *memory;

	if (!is_valid(config))
		return -EINVAL;
	while (new.shards > 1 && config->files / new.shards < SHARD_FILES_MIN)
		new.shards /= 2;
	new.places = part(config->files, new.shards);
	new.places += new.places / 2;
	new.cursors = new.places + part(config->cursors, new.shards);

	add_part(&new.memory_bytes, 1, sizeof(new));
	shard = add_part(&new.memory_bytes, new.shards, sizeof(struct canfs_shard));
	file = add_part(
		&new.memory_bytes, (size_t) new.shards *new.places, sizeof(struct canfs_file));
	pool = add_part(&new.memory_bytes, (size_t) new.shards *(new.cursors - new.places),
		sizeof(struct canfs_pooled));

	/* All zero. A page takes no memory before it is touched. */
	memory = mmap(NULL, new.memory_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	/*
	 * Files are scattered: with huge pages, a few hundred files would take all of the memory.
	 */
	(void)madvise(memory, new.memory_bytes, MADV_NOHUGEPAGE);
	new.shard = (struct canfs_shard *)(memory + shard);
	new.ahead_max_bytes = (uint64_t)config->unit_bytes * config->units_ahead;
	canfs_account_open(&new);
	*files = (struct canfs_files *)memory;
	**files = new;
	make_shards(*files, (struct canfs_file *)(memory + file),
		(struct canfs_pooled *)(memory + pool));
	return 0;
}

void canfs_files_free(struct canfs_files *files)
{
	if (!files)
		return;
	for (uint32_t i = 0; i < files->shards; i++)
		pthread_mutex_destroy(&files->shard[i].lock);
	munmap(files, files->memory_bytes);
}
