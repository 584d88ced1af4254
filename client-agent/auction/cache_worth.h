/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the page cache of this client is worth to its readers (CA-NFS §3.3, "Client and Server
 * Memory"). Dirty pages that are held back leave less of the page cache to readers.
 *
 * The paper counts reads in a ghost cache behind the end of the real one. The kernel has such a
 * ghost cache. Its counter workingset_activate_file counts pages that are read again and would still
 * be cached if the cache were up to twice as large. Pages of a scan, which no cache would keep,
 * count only as refaults (mm/workingset.c).
 *
 *	worth = pages missed like that / pages read from servers
 *
 * The worth is averaged over some seconds. 0: no reader misses anything that a larger cache would
 * hold. 1: everything that is read was evicted before. Reads that the cache answers do not count.
 * As a share of all reads, the worth would fall as the cache works better, although there is then
 * more to lose.
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_CACHE_WORTH_H
#define CANFS_CLIENT_AGENT_AUCTION_CACHE_WORTH_H

#include <stdbool.h>
#include <stdint.h>
#include "client-agent/kernel/procfs.h"
#include "pricing/utilization.h"

/*
 * Interval between two samples. Summing up these counters costs the kernel as much as all other
 * reads of a tick.
 */
#define CANFS_CACHE_WORTH_USEC 1000000

/*
 * A client that reads less than this counts as reading this much. It cannot miss much, whatever the
 * share.
 */
#define CANFS_CACHE_WORTH_MIN_BYTES_PER_SEC (512.0 * 1024)

/* If the worth is at least this, memory belongs to the readers: nothing more is held back. */
#define CANFS_CACHE_WORTH_NEEDED 0.5

struct canfs_cache_worth {
	struct canfs_average share; /* in [0, 1] */
	struct canfs_average hits;  /* bytes per second that the cache answered */
	uint64_t missed_bytes;      /* last values of the counters */
	uint64_t fetched_bytes;
	uint64_t read_bytes;
	uint64_t seen_usec; /* 0: never */
};

void canfs_cache_worth_init(struct canfs_cache_worth *worth);

/* Returns true if the next sample is due. */
bool canfs_cache_worth_is_due(const struct canfs_cache_worth *worth, uint64_t now_usec);

/*
 * All counters are cumulative. missed_bytes is of the whole system, fetched_bytes is fetched from
 * servers, read_bytes is what applications read through the cache of the same mounts. A counter
 * that runs backwards (a mount went away) counts as unchanged. Returns the worth, in [0, 1].
 */
double canfs_cache_worth_update(struct canfs_cache_worth *worth, uint64_t missed_bytes,
	uint64_t fetched_bytes, uint64_t read_bytes, uint64_t now_usec);

/*
 * "The portion of RAM that is actively used to cache read data" (§3.3). This is Active(file), but
 * at most what the cache would answer in CANFS_CACHE_USE_SEC at the present rate. The value is known
 * before any reader misses the cache.
 */
#define CANFS_CACHE_USE_SEC 60.0
uint64_t canfs_cache_used_bytes(
	const struct canfs_cache_worth *worth, const struct canfs_meminfo *meminfo);

/*
 * Returns true if written data evicts read data: used_bytes is at least a quarter of MemAvailable,
 * and less than 1/16 of memory is free.
 */
bool canfs_cache_is_crowded(uint64_t used_bytes, const struct canfs_meminfo *meminfo);

#endif
