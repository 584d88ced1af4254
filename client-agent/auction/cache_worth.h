/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the page cache of this client is worth to its readers (CA-NFS §3.3, "Client and Server Memory"): dirty
 * pages that are held back take its room. The paper counts reads in a ghost cache behind the end of the real
 * one; the kernel has such a ghost cache, and counts a page that is read again and would still be there, were
 * the cache up to twice as large, as workingset_activate_file. Pages of a scan, which no cache would keep, are
 * refaults only (mm/workingset.c).
 *
 *	worth = pages missed like that / pages read from servers
 *
 * averaged over some seconds: 0, nobody misses anything that a larger cache would have; 1, all that is read is
 * what was pushed out. Reads that the cache answers do not count: a share of all reads would be the smaller,
 * the better the cache works, and the better it works, the more there is to lose.
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_CACHE_WORTH_H
#define CANFS_CLIENT_AGENT_AUCTION_CACHE_WORTH_H

#include <stdbool.h>
#include <stdint.h>
#include "client-agent/kernel/procfs.h"
#include "pricing/utilization.h"

/* The counters are looked at so often: summing them up costs the kernel as much as all other reads of a tick. */
#define CANFS_CACHE_WORTH_USEC 1000000

/* A client that reads less than this cannot miss much, whatever the share: it counts as reading this. */
#define CANFS_CACHE_WORTH_MIN_BYTES_PER_SEC (512.0 * 1024)

/* From here on memory is for the readers: nothing more is held back. */
#define CANFS_CACHE_WORTH_NEEDED 0.5

struct canfs_cache_worth {
	struct canfs_average share; /* in [0, 1] */
	struct canfs_average hits;  /* bytes per second that the cache answered */
	uint64_t missed_bytes;      /* the counters' last values */
	uint64_t fetched_bytes;
	uint64_t read_bytes;
	uint64_t seen_usec; /* 0: never */
};

void canfs_cache_worth_init(struct canfs_cache_worth *worth);

/* Is it time to look again? */
bool canfs_cache_worth_is_due(const struct canfs_cache_worth *worth, uint64_t now_usec);

/*
 * All cumulative: missed_bytes of the whole system, fetched_bytes from servers, read_bytes what applications read
 * through the cache of the same mounts. One that runs
 * backwards (a mount went away) counts as standing still. Returns the worth, in [0, 1].
 */
double canfs_cache_worth_update(struct canfs_cache_worth *worth, uint64_t missed_bytes,
	uint64_t fetched_bytes, uint64_t read_bytes, uint64_t now_usec);

/*
 * "The portion of RAM that is actively used to cache read data" (§3.3): Active(file), as far as the last minute's hits
 * would go round it. Known before anything is missed.
 */
#define CANFS_CACHE_USE_SEC 60.0
uint64_t canfs_cache_used_bytes(
	const struct canfs_cache_worth *worth, const struct canfs_meminfo *meminfo);

/* Does what is written push out what is read? A fair part of the page cache is in use, and next to nothing is free. */
bool canfs_cache_is_crowded(uint64_t used_bytes, const struct canfs_meminfo *meminfo);

#endif
