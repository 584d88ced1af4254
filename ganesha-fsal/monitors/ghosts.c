// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/monitors/ghosts.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LISTS      16u /* as many as the low bits of a key that are free */
#define LINE_BYTES 64

/* The first line is what all workers touch. */
struct list {
	_Alignas(LINE_BYTES) _Atomic uint64_t threshold; /* a copy of the ghost's */
	_Atomic uint64_t seen_pages;                     /* since the last forecast */
	_Atomic uint64_t missed_reads;
	_Alignas(LINE_BYTES) pthread_mutex_t mutex;
	struct canfs_ghost *ghost;
};

struct canfs_ghosts {
	struct list lists[LISTS];
	uint64_t seed;
	size_t memory_bytes;
	struct canfs_ghost_tally window;
};

static void unlock(struct list *list)
{
	atomic_store_explicit(
		&list->threshold, canfs_ghost_threshold(list->ghost), memory_order_relaxed);
	pthread_mutex_unlock(&list->mutex);
}

static void access_list(struct list *list, uint64_t key)
{
	if (pthread_mutex_trylock(&list->mutex) != 0) {
		atomic_fetch_add_explicit(&list->missed_reads, 1, memory_order_relaxed);
		return;
	}
	canfs_ghost_access(list->ghost, key);
	unlock(list);
}

void canfs_ghosts_feed(struct canfs_ghosts *ghosts, uint64_t file, uint64_t offset, uint64_t length)
{
	struct canfs_ghost_walk walk;
	uint64_t key;

	if (ghosts == NULL)
		return;
	canfs_ghost_walk_init(&walk, ghosts->seed, file, offset, length);
	/* Any list will do: they are summed up. One that depends on the file keeps workers apart. */
	atomic_fetch_add_explicit(&ghosts->lists[walk.file % LISTS].seen_pages,
		walk.end_page - walk.page, memory_order_relaxed);
	while (canfs_ghost_walk_next(&walk, &key)) {
		struct list *list = &ghosts->lists[key % LISTS];

		if (key < atomic_load_explicit(&list->threshold, memory_order_relaxed))
			access_list(list, key);
	}
}

void canfs_ghosts_resize(struct canfs_ghosts *ghosts, uint64_t cache_bytes)
{
	for (unsigned int i = 0; i < LISTS; i++) {
		struct list *list = &ghosts->lists[i];

		pthread_mutex_lock(&list->mutex);
		canfs_ghost_resize(list->ghost, cache_bytes / LISTS);
		unlock(list);
	}
}

struct canfs_ghost_forecast canfs_ghosts_forecast(struct canfs_ghosts *ghosts, double elapsed_sec)
{
	struct canfs_ghost_tally *window = &ghosts->window;

	canfs_ghost_fade(window, exp(-elapsed_sec / CANFS_GHOSTS_TAU_SEC));
	for (unsigned int i = 0; i < LISTS; i++) {
		struct list *list = &ghosts->lists[i];

		window->seen += (double)atomic_exchange_explicit(
			&list->seen_pages, 0, memory_order_relaxed);
		pthread_mutex_lock(&list->mutex);
		canfs_ghost_take(list->ghost, window);
		unlock(list);
	}
	return canfs_ghost_forecast(window);
}

struct canfs_ghosts_usage canfs_ghosts_usage(struct canfs_ghosts *ghosts)
{
	struct canfs_ghosts_usage usage = { .used_bytes = sizeof(*ghosts),
		.memory_bytes = ghosts->memory_bytes };

	for (unsigned int i = 0; i < LISTS; i++) {
		struct list *list = &ghosts->lists[i];

		pthread_mutex_lock(&list->mutex);
		usage.used_bytes += canfs_ghost_used_bytes(list->ghost);
		unlock(list);
		usage.missed_reads +=
			atomic_load_explicit(&list->missed_reads, memory_order_relaxed);
	}
	return usage;
}

int canfs_ghosts_new(struct canfs_ghosts **ghosts, size_t memory_bytes, uint64_t seed)
{
	struct canfs_ghosts *new;
	int error = 0;

	if (memory_bytes < CANFS_GHOSTS_MEMORY_MIN_BYTES ||
		memory_bytes > CANFS_GHOSTS_MEMORY_MAX_BYTES)
		return -EINVAL;
	new = aligned_alloc(LINE_BYTES, sizeof(*new));
	if (new == NULL)
		return -ENOMEM;
	*new = (struct canfs_ghosts) { .seed = seed, .memory_bytes = memory_bytes };
	for (unsigned int i = 0; i < LISTS; i++) {
		struct list *list = &new->lists[i];

		pthread_mutex_init(&list->mutex, NULL);
		if (error == 0)
			error = canfs_ghost_new(
				&list->ghost, (memory_bytes - sizeof(*new)) / LISTS, seed);
		if (error == 0)
			list->threshold = canfs_ghost_threshold(list->ghost);
	}
	if (error != 0) {
		canfs_ghosts_free(new);
		return error;
	}
	*ghosts = new;
	return 0;
}

void canfs_ghosts_free(struct canfs_ghosts *ghosts)
{
	if (ghosts == NULL)
		return;
	for (unsigned int i = 0; i < LISTS; i++) {
		canfs_ghost_free(ghosts->lists[i].ghost);
		pthread_mutex_destroy(&ghosts->lists[i].mutex);
	}
	free(ghosts);
}
