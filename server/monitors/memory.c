// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Memory: "the price of memory increases if the existing set of pages yields a high cache hit rate
 * or there are a large number of dirty pages that have triggered write-back" (CA-NFS §3.3).
 *
 *	utilization = max(dirty and write-back over the kernel's dirty limit,
 *	                  effective utilization of the read cache: pricing/ghost.h,
 *	                  share of time in which some task waits for memory: the kernel's PSI)
 *
 * The third term covers what the others do not see: memory of other programs, refaults of pages
 * that were not read through the server, reclaim under a cgroup's limit. It is a lower bound,
 * because memory is in full use long before a task waits for it. Measured with four readers under a
 * limit of 200 MiB (Linux 6.18, single runs):
 *
 *	230 MiB read repeatedly, sequentially       0.78
 *	230 MiB read repeatedly, randomly           0.71
 *	600 MiB read sequentially                   0.31
 *	600 MiB read randomly (little would fit)    0.13
 *	one such reader instead of four             0.04
 *	a writer                                    0.13
 *
 * With the k of memory, only the first two have a noticeable price. The kernel's average over ten
 * seconds is used: it changes as slowly as the value of the cache, and is as steady.
 *
 * The pressure of the server's own cgroup counts if that has version 2. The machine's pressure also
 * includes services in other cgroups that reach their own limits, and kswapd, which no task waits
 * for. For the kernel's NFS server only the machine's pressure exists.
 *
 * The kernel's io pressure is not used. It shows that some task waits for some disk, but not how
 * many tasks or which disk. One reader of an otherwise idle fast disk caused 0.37, the runs above
 * 0.26 to 0.52. An export would also pay for another export's disk.
 */
#include "server/monitors/cache_size.h"
#include "server/monitors/cgroup.h"
#include "server/monitors/ghosts.h"
#include "server/monitors/monitors.h"
#include "server/monitors/source.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The cache size and the pressure change slowly, and the kernel needs a while to produce
 * memory.stat on a large server.
 */
#define SAMPLE_SEC 1.0

struct memory {
	const char *root;
	bool whole_machine;
	struct canfs_ghosts *ghosts;
	double since_sample_sec;
	struct canfs_said said;
	struct canfs_memory_view view; /* without view.usage */
};

static const char *const vmstat_names[] = { "nr_dirty ", "nr_writeback ", "nr_dirty_threshold ",
	NULL };
static const char *const meminfo_names[] = { "Cached:", "Shmem:", "MemFree:", NULL };

/* A counter that is briefly negative counts as 0. False: there is no such line. */
static bool parse_pages(const char *text, const char *name, uint64_t *pages)
{
	const char *cursor = canfs_find_named(text, name);

	if (cursor && !canfs_parse_count(&cursor, pages))
		*pages = 0;
	return cursor;
}

int canfs_parse_vmstat(const char *text, struct canfs_dirty_pages *pages)
{
	return parse_pages(text, vmstat_names[0], &pages->dirty) &&
			       parse_pages(text, vmstat_names[1], &pages->writeback) &&
			       canfs_parse_named(text, vmstat_names[2], &pages->limit)
		       ? 0
		       : -EPROTO;
}

int canfs_parse_pressure(const char *text, double *some)
{
	static const char name[] = "some avg10=";
	uint64_t whole_pct, hundredths = 0;

	/* Only the first line is used. It has a percentage with two decimals. */
	if (strncmp(text, name, sizeof(name) - 1) != 0)
		return -EPROTO;
	text += sizeof(name) - 1;
	if (!canfs_parse_number(&text, &whole_pct))
		return -EPROTO;
	if (*text == '.' && text[1] >= '0' && text[1] <= '9' && text[2] >= '0' && text[2] <= '9')
		hundredths = (uint64_t)(text[1] - '0') * 10 + (uint64_t)(text[2] - '0');
	*some = fmin(((double)whole_pct + (double)hundredths / 100) / 100, 1);
	return 0;
}

int canfs_memory_open(void **state, const struct canfs_monitor_setup *setup)
{
	struct memory *memory = malloc(sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	*memory = (struct memory) { .root = setup->root,
		.whole_machine = setup->whole_machine,
		.ghosts = setup->ghosts,
		.since_sample_sec = INFINITY,
		.said.say = setup->say,
		.view = { .dirty_share = NAN, .has_ghosts = setup->ghosts } };
	*state = memory;
	return 0;
}

void canfs_memory_close(void *state)
{
	free(state);
}

/* 0 if the kernel has no PSI: the other terms decide then. */
static double read_pressure(const char *root, bool whole_machine)
{
	struct canfs_cgroup group;
	char text[256];
	double some;
	int len = -ENOENT;

	if (!whole_machine && canfs_cgroup_own(root, "", &group))
		len = canfs_cgroup_read(&group, "memory.pressure", text, sizeof(text));
	if (len < 0)
		len = canfs_read_source(root, "/proc/pressure/memory", text, sizeof(text));
	return len > 0 && canfs_parse_pressure(text, &some) == 0 ? some : 0;
}

static void say_unusable(struct memory *memory, const char *path, const char *const *names)
{
	char text[16384];

	if (canfs_read_source(memory->root, path, text, sizeof(text)) >= 0)
		canfs_say_unusable_names(&memory->said, path, text, names);
}

/* Without a new cache size, the ghost caches keep the last one. */
static void sample_cache(struct memory *memory)
{
	struct canfs_memory_view *view = &memory->view;
	uint64_t cache_bytes;

	view->pressure = read_pressure(memory->root, memory->whole_machine);
	if (!memory->ghosts)
		return;
	if (canfs_cache_size(memory->root, &cache_bytes) != 0) {
		say_unusable(memory, "/proc/meminfo", meminfo_names);
		return;
	}
	canfs_ghosts_resize(memory->ghosts, cache_bytes);
	view->cache_bytes = cache_bytes;
}

int canfs_memory_sample(void *state, double elapsed_sec, double *utilization)
{
	struct memory *memory = state;
	struct canfs_memory_view *view = &memory->view;
	struct canfs_dirty_pages pages;
	char text[16384];
	int ret;

	memory->since_sample_sec += elapsed_sec;
	if (memory->since_sample_sec >= SAMPLE_SEC) {
		sample_cache(memory);
		memory->since_sample_sec = 0;
	}
	if (memory->ghosts)
		view->forecast = canfs_ghosts_forecast(memory->ghosts, elapsed_sec);
	view->dirty_share = NAN;
	ret = canfs_read_source(memory->root, "/proc/vmstat", text, sizeof(text));
	if (ret < 0)
		return ret;
	canfs_say_unusable_names(&memory->said, "/proc/vmstat", text, vmstat_names);
	ret = canfs_parse_vmstat(text, &pages);
	if (ret != 0)
		return ret;
	if (pages.limit == 0)
		return -ENODATA;
	view->dirty_share = ((double)pages.dirty + (double)pages.writeback) / (double)pages.limit;
	*utilization = fmax(view->dirty_share, fmax(view->forecast.utilization, view->pressure));
	return 0;
}

void canfs_memory_get_view(const void *state, struct canfs_memory_view *view)
{
	const struct memory *memory = state;

	*view = memory->view;
	if (memory->ghosts)
		view->usage = canfs_ghosts_usage(memory->ghosts);
}
