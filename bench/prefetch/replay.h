/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the prefetcher's decisions are worth: reads are put to a table of active files, its advice is fetched into
 * a page cache without end, and what becomes of each page is counted. No disk and no time: what is advised arrives
 * so many reads later.
 */
#ifndef CANFS_BENCH_PREFETCH_REPLAY_H
#define CANFS_BENCH_PREFETCH_REPLAY_H

#include "ganesha-fsal/prefetch/files.h"

#define CANFS_REPLAY_PAGE_BYTES 4096u

struct canfs_replay;

struct canfs_replay_result {
	uint64_t reads, advice;
	/* Pages, each once: */
	uint64_t read;       /* by clients */
	uint64_t prefetched; /* before anybody read them */
	uint64_t covered;    /* read, and there by then */
	uint64_t late;       /* read, and still on the way */
	uint64_t wasted;     /* prefetched and not read until now */
};

/* arrival_reads: after so many reads, of any file. NULL: no memory. It does not own the table. */
struct canfs_replay *canfs_replay_new(struct canfs_files *files, unsigned int arrival_reads);
void canfs_replay_free(struct canfs_replay *replay);

/* 0, -ENOMEM, -EINVAL: advice that breaks the contract of files.h. */
int canfs_replay_read(struct canfs_replay *replay, uint64_t file, uint64_t offset, uint32_t bytes,
	uint64_t file_bytes);

struct canfs_replay_result canfs_replay_result(const struct canfs_replay *replay);

/* Shares in [0, 1]; 0 of nothing. */
double canfs_replay_coverage(
	const struct canfs_replay_result *result); /* of what was read; late is not covered */
double canfs_replay_waste(
	const struct canfs_replay_result *result); /* of all that came from the disk */

#endif
