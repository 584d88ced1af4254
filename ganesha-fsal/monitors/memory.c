// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Memory: "the price of memory increases if the existing set of pages yields a high cache hit rate or
 * there are a large number of dirty pages that have triggered write-back" (CA-NFS §3.3).
 *
 *	utilization = max(dirty and write-back over the kernel's dirty limit,
 *	                  effective utilization of the read cache: pricing/ghost.h)
 */
#include "ganesha-fsal/monitors/cache_size.h"
#include "ganesha-fsal/monitors/ghosts.h"
#include "ganesha-fsal/monitors/monitors.h"
#include "ganesha-fsal/monitors/source.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The cache's size moves slowly, and a large server's memory.stat takes the kernel a while. */
#define RESIZE_SEC 1.0

struct memory {
	const char *root;
	struct canfs_ghosts *ghosts;
	double since_resize_sec;
	struct canfs_memory_view view; /* but its usage */
};

int canfs_parse_vmstat(const char *text, struct canfs_dirty_pages *pages)
{
	return canfs_parse_named(text, "nr_dirty ", &pages->dirty) &&
			       canfs_parse_named(text, "nr_writeback ", &pages->writeback) &&
			       canfs_parse_named(text, "nr_dirty_threshold ", &pages->limit)
		       ? 0
		       : -EPROTO;
}

int canfs_memory_open(void **state, const struct canfs_monitor_setup *setup)
{
	struct memory *memory = malloc(sizeof(*memory));

	if (memory == NULL)
		return -ENOMEM;
	*memory = (struct memory) { .root = setup->root,
		.ghosts = setup->ghosts,
		.since_resize_sec = INFINITY,
		.view = { .dirty_share = NAN, .has_ghosts = setup->ghosts != NULL } };
	*state = memory;
	return 0;
}

void canfs_memory_close(void *state)
{
	free(state);
}

/* Without a size of the cache nothing can be said of its use: the ghosts go on with the last one. */
static double cache_utilization(struct memory *memory, double elapsed_sec)
{
	struct canfs_memory_view *view = &memory->view;
	uint64_t cache_bytes;

	if (memory->ghosts == NULL)
		return 0;
	memory->since_resize_sec += elapsed_sec;
	if (memory->since_resize_sec >= RESIZE_SEC &&
		canfs_cache_size(memory->root, &cache_bytes) == 0) {
		canfs_ghosts_resize(memory->ghosts, cache_bytes);
		view->cache_bytes = cache_bytes;
		memory->since_resize_sec = 0;
	}
	view->forecast = canfs_ghosts_forecast(memory->ghosts, elapsed_sec);
	return view->forecast.utilization;
}

int canfs_memory_sample(void *state, double elapsed_sec, double *utilization)
{
	struct memory *memory = state;
	double cache = cache_utilization(memory, elapsed_sec);
	struct canfs_dirty_pages pages;
	char text[16384];
	int error;

	memory->view.dirty_share = NAN;
	error = canfs_read_source(memory->root, "/proc/vmstat", text, sizeof(text));
	if (error < 0)
		return error;
	error = canfs_parse_vmstat(text, &pages);
	if (error != 0)
		return error;
	if (pages.limit == 0)
		return -ENODATA;
	memory->view.dirty_share =
		((double)pages.dirty + (double)pages.writeback) / (double)pages.limit;
	*utilization = fmax(memory->view.dirty_share, cache);
	return 0;
}

void canfs_memory_look(const void *state, struct canfs_memory_view *view)
{
	const struct memory *memory = state;

	*view = memory->view;
	if (memory->ghosts != NULL)
		view->usage = canfs_ghosts_usage(memory->ghosts);
}
