/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The table of active files (Ellard & Seltzer 2003, §6.3): which files are read, by which cursors, and what should
 * be fetched ahead of them. Sharded by file; in each shard the least recently used gives way. Bounded, and full
 * of nothing but what it needs: a table that is too small ruins any heuristic (§6.3), so it may be large.
 *
 * It neither reads nor waits, and has no clock: it says what to fetch, and is told what became of it.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_FILES_H
#define CANFS_GANESHA_FSAL_PREFETCH_FILES_H

#include <stddef.h>
#include <stdint.h>

#define CANFS_ADVICE_MAX 4

struct canfs_files;

struct canfs_files_config {
	uint32_t files;        /* active ones, at most: default a million in <= 256 MB with their cursors */
	uint32_t cursors;      /* common pool of all files */
	uint32_t unit_bytes;   /* 4 MB on a spinning disk, <= 1 MB on an SSD */
	uint32_t units_ahead;  /* at most, of a cursor: 2 */
	uint32_t tolerance_max_bytes; /* of reordering: 2 MB */
};

/* Fetch these bytes of the file. */
struct canfs_advice {
	uint64_t offset;
	uint64_t bytes;
	uint32_t cursor; /* its stream, for the scheduler */
};

int canfs_files_new(struct canfs_files **files, const struct canfs_files_config *config);
void canfs_files_free(struct canfs_files *files);

/*
 * A client asks for bytes [offset, offset + bytes) of a file of file_bytes. Fills in what to fetch for it now,
 * most urgent first, and returns how many (0: nothing). willingness in [0, 1] scales the distance: 1 - the
 * read-ahead price, less under memory pressure; 0: nothing is prefetched, but patterns are still learnt.
 */
size_t canfs_files_read(struct canfs_files *files, uint64_t file, uint64_t offset, uint32_t bytes,
	uint64_t file_bytes, double willingness, struct canfs_advice advice[CANFS_ADVICE_MAX]);

/* What was advised was not fetched (refused, cancelled, failed): it is not charged, and may be advised again. */
void canfs_files_not_fetched(
	struct canfs_files *files, uint64_t file, uint32_t cursor, uint64_t offset, uint64_t bytes);

/* Written or truncated: what was fetched from there on is no longer counted on. */
void canfs_files_changed(struct canfs_files *files, uint64_t file, uint64_t from_offset);

struct canfs_files_stats {
	uint64_t files, cursors, memory_bytes;
	uint64_t reads, matched;                      /* by a cursor */
	uint64_t fetched_bytes, used_bytes, wasted_bytes; /* wasted: the cursor ended, or left it behind, before it was read */
};
struct canfs_files_stats canfs_files_stats(struct canfs_files *files);

#endif
