// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/auction/cache_worth.h"
#include "client-agent/auction/arithmetic.h"

#include <math.h>

/*
 * About as long as a phase of a job: fast enough to keep the job's cache, but too slow to react to
 * each file that the job opens.
 */
static const double tau_sec = 5;

void canfs_cache_worth_init(struct canfs_cache_worth *worth)
{
	*worth = (struct canfs_cache_worth) { 0 };
	canfs_average_init(&worth->share, tau_sec);
	canfs_average_init(&worth->hits, tau_sec);
}

bool canfs_cache_worth_is_due(const struct canfs_cache_worth *worth, uint64_t now_usec)
{
	return !worth->seen_usec || now_usec - worth->seen_usec >= CANFS_CACHE_WORTH_USEC;
}

uint64_t canfs_cache_used_bytes(
	const struct canfs_cache_worth *worth, const struct canfs_meminfo *meminfo)
{
	return (uint64_t)fmin(
		(double)meminfo->active_file_bytes, worth->hits.value * CANFS_CACHE_USE_SEC);
}

bool canfs_cache_is_crowded(uint64_t used_bytes, const struct canfs_meminfo *meminfo)
{
	return used_bytes >= meminfo->available_bytes / 4 &&
	       meminfo->free_bytes < meminfo->total_bytes / 16;
}

double canfs_cache_worth_update(struct canfs_cache_worth *worth, uint64_t missed_bytes,
	uint64_t fetched_bytes, uint64_t read_bytes, uint64_t now_usec)
{
	double elapsed_sec = (double)canfs_growth(now_usec, worth->seen_usec) / 1e6;
	double missed = (double)canfs_growth(missed_bytes, worth->missed_bytes);
	double fetched = (double)canfs_growth(fetched_bytes, worth->fetched_bytes);
	double read = (double)canfs_growth(read_bytes, worth->read_bytes);

	/* Missed data may also be of a local file system. */
	if (worth->seen_usec && elapsed_sec > 0) {
		canfs_average_add(&worth->hits, fmax(read - fetched, 0) / elapsed_sec, elapsed_sec);
		canfs_average_add(&worth->share,
			missed / fmax(fmax(missed, fetched),
					 CANFS_CACHE_WORTH_MIN_BYTES_PER_SEC * elapsed_sec),
			elapsed_sec);
	}
	worth->missed_bytes = missed_bytes;
	worth->fetched_bytes = fetched_bytes;
	worth->read_bytes = read_bytes;
	worth->seen_usec = now_usec;
	return worth->share.value;
}
