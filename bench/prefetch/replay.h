/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Measures the value of the prefetcher's decisions. Passes reads to a table of active files,
 * fetches its advice into an unlimited page cache, and counts what becomes of each page. There is
 * no disk and no time: advised pages arrive a given number of reads later.
 */
#ifndef CANFS_BENCH_PREFETCH_REPLAY_H
#define CANFS_BENCH_PREFETCH_REPLAY_H

#include "ganesha-fsal/read/prefetch/files.h"

#define CANFS_REPLAY_PAGE_BYTES 4096u

struct canfs_replay;

struct canfs_replay_result {
	uint64_t reads, advice;
	/* Pages, each counted once: */
	uint64_t read;       /* by clients */
	uint64_t prefetched; /* before anybody read the page */
	uint64_t covered;    /* read, and present at that time */
	uint64_t late;       /* read, and still in flight */
	uint64_t wasted;     /* prefetched and not read so far */
};

/*
 * arrival_reads: prefetched pages arrive after so many reads, of any file. Does not take ownership
 * of the table. Returns NULL if there is no memory.
 */
struct canfs_replay *canfs_replay_new(struct canfs_files *files, unsigned int arrival_reads);
void canfs_replay_free(struct canfs_replay *replay);

/* Returns 0, -ENOMEM, or -EINVAL if the advice breaks the contract of files.h. */
int canfs_replay_read(struct canfs_replay *replay, uint64_t file, uint64_t offset, uint32_t bytes,
	uint64_t file_bytes);

struct canfs_replay_result canfs_replay_result(const struct canfs_replay *replay);

/* Shares in [0, 1]; 0 if there is nothing to share. */
/* Share of the pages read that were fetched before. Late pages do not count. */
double canfs_replay_coverage(const struct canfs_replay_result *result);
/* Share of the pages from the disk that were never read. */
double canfs_replay_waste(const struct canfs_replay_result *result);

#endif
