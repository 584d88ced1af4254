// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/ghosts.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LINE_BYTES 64
#define COUNTERS   16u

/* All workers write these, so each has a cache line of its own. */
struct counter {
	_Alignas(LINE_BYTES) _Atomic uint64_t pages;
};

struct canfs_ghosts {
	_Alignas(LINE_BYTES) _Atomic uint64_t threshold; /* copy of the list's; rarely written */
	uint64_t seed;
	size_t memory_bytes;
	struct canfs_ghost *list; /* under the mutex */
	_Alignas(LINE_BYTES) pthread_mutex_t mutex;
	_Atomic uint64_t missed_reads;
	struct canfs_ghost_tally window;
	struct counter seen[COUNTERS]; /* since the last forecast */
};

static void unlock(struct canfs_ghosts *ghosts)
{
	uint64_t threshold = canfs_ghost_threshold(ghosts->list);

	if (threshold != atomic_load_explicit(&ghosts->threshold, memory_order_relaxed))
		atomic_store_explicit(&ghosts->threshold, threshold, memory_order_relaxed);
	pthread_mutex_unlock(&ghosts->mutex);
}

/* Handles a read from its first sampled page on. */
static void access_list(struct canfs_ghosts *ghosts, struct canfs_ghost_walk *walk, uint64_t key)
{
	if (pthread_mutex_trylock(&ghosts->mutex) != 0) {
		atomic_fetch_add_explicit(&ghosts->missed_reads, 1, memory_order_relaxed);
		return;
	}
	do
		canfs_ghost_access(ghosts->list, key);
	while (canfs_ghost_walk_next(walk, &key));
	unlock(ghosts);
}

void canfs_ghosts_note_read(
	struct canfs_ghosts *ghosts, uint64_t file, uint64_t offset, uint64_t length)
{
	struct canfs_ghost_walk walk;
	uint64_t key, threshold;

	if (!ghosts)
		return;
	threshold = atomic_load_explicit(&ghosts->threshold, memory_order_relaxed);
	canfs_ghost_walk_init(&walk, ghosts->seed, file, offset, length);
	/*
	 * Any counter will do, because all are added up. Choosing it by file keeps workers on
	 * different cache lines.
	 */
	atomic_fetch_add_explicit(&ghosts->seen[walk.file % COUNTERS].pages,
		walk.end_page - walk.page, memory_order_relaxed);
	while (canfs_ghost_walk_next(&walk, &key)) {
		if (key < threshold) {
			access_list(ghosts, &walk, key);
			return;
		}
	}
}

void canfs_ghosts_resize(struct canfs_ghosts *ghosts, uint64_t cache_bytes)
{
	pthread_mutex_lock(&ghosts->mutex);
	canfs_ghost_resize(ghosts->list, cache_bytes);
	unlock(ghosts);
}

struct canfs_ghost_forecast canfs_ghosts_forecast(struct canfs_ghosts *ghosts, double elapsed_sec)
{
	struct canfs_ghost_tally *window = &ghosts->window;

	canfs_ghost_fade(window, exp(-elapsed_sec / CANFS_GHOSTS_TAU_SEC));
	for (unsigned int i = 0; i < COUNTERS; i++)
		window->seen += (double)atomic_exchange_explicit(
			&ghosts->seen[i].pages, 0, memory_order_relaxed);
	pthread_mutex_lock(&ghosts->mutex);
	canfs_ghost_take(ghosts->list, window);
	unlock(ghosts);
	return canfs_ghost_forecast(window);
}

struct canfs_ghosts_usage canfs_ghosts_usage(struct canfs_ghosts *ghosts)
{
	struct canfs_ghosts_usage usage = { .used_bytes = sizeof(*ghosts),
		.memory_bytes = ghosts->memory_bytes,
		.missed_reads = atomic_load_explicit(&ghosts->missed_reads, memory_order_relaxed) };

	pthread_mutex_lock(&ghosts->mutex);
	usage.used_bytes += canfs_ghost_used_bytes(ghosts->list);
	unlock(ghosts);
	return usage;
}

int canfs_ghosts_new(struct canfs_ghosts **ghosts, size_t memory_bytes, uint64_t seed)
{
	struct canfs_ghosts *new;
	int ret;

	if (memory_bytes < CANFS_GHOSTS_MEMORY_MIN_BYTES ||
		memory_bytes > CANFS_GHOSTS_MEMORY_MAX_BYTES)
		return -EINVAL;
	new = aligned_alloc(LINE_BYTES, sizeof(*new));
	if (!new)
		return -ENOMEM;
	*new = (struct canfs_ghosts) { .seed = seed, .memory_bytes = memory_bytes };
	ret = canfs_ghost_new(&new->list, memory_bytes - sizeof(*new), seed);
	if (ret != 0) {
		free(new);
		return ret;
	}
	new->threshold = canfs_ghost_threshold(new->list);
	pthread_mutex_init(&new->mutex, NULL);
	*ghosts = new;
	return 0;
}

void canfs_ghosts_free(struct canfs_ghosts *ghosts)
{
	if (!ghosts)
		return;
	canfs_ghost_free(ghosts->list);
	pthread_mutex_destroy(&ghosts->mutex);
	free(ghosts);
}
