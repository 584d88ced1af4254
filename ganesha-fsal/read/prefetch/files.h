/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The table of active files (Ellard & Seltzer 2003, §6.3): which files are read, by which cursors
 * (cursor.h), and what to fetch ahead of them. It is sharded by file. In each shard the least
 * recently used file is replaced. The table is bounded. Unused entries cost no memory, so it may be
 * large: a table that is too small ruins any heuristic (§6.3).
 *
 * The table does no I/O and has no clock. It advises what to fetch, and is told the result. Any
 * thread may call it. A shard's lock is held for some hundred nanoseconds.
 *
 * Accounts of each file and of the server bound the waste (account.h). A file whose prefetch is not
 * read gets less prefetch, then none until enough of it was read in sequence. On a server with much
 * waste, each file may risk only what it has earned itself.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_FILES_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_FILES_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_ADVICE_MAX 4

struct canfs_files;

struct canfs_files_config {
	uint32_t files;       /* active files: 1 ... CANFS_FILES_MAX */
	uint32_t cursors;     /* in the pool, besides each file's first: 0 ... CANFS_FILES_MAX */
	uint32_t unit_bytes;  /* 64 KiB ... 64 MiB: 4 MiB for a disk, <= 1 MiB for an SSD */
	uint32_t units_ahead; /* maximum of a cursor: 1 ... 8 */
	/* Tolerated reordering: 64 KiB ... 16 MiB, clamped to 24 ... 32 reads. */
	uint32_t tolerance_max_bytes;
};
#define CANFS_FILES_MAX ((uint32_t)1 << 26)

/* A million files and 750,000 cursors in the pool, in at most 246 MB. For a spinning disk. */
extern const struct canfs_files_config canfs_files_defaults;

/* The defaults for `files` files, with 3/4 as many cursors in the pool. */
struct canfs_files_config canfs_files_config_for(uint32_t files);

/* Fetch these bytes of the file. They end at or before its end. */
struct canfs_advice {
	uint64_t offset;
	uint64_t bytes;
	uint32_t cursor; /* its stream, for the scheduler; reused after the stream has ended */
};

/* Returns 0, -EINVAL if a member of config is out of range, or -ENOMEM. */
int canfs_files_new(struct canfs_files **files, const struct canfs_files_config *config);
void canfs_files_free(struct canfs_files *files); /* no thread may use it any more; NULL allowed */

/* What else canfs_files_read() found out about a read. */
struct canfs_files_found {
	uint32_t fetched; /* bytes of the read that were fetched ahead */
	bool awaited;     /* bytes of the file that were fetched ahead await a reader */
	bool random;      /* in no known sequence, and not at the start of its file */
	bool steady;      /* plain long enough to know its order, and past all bytes fetched */
	bool plain;       /* canfs_cursor_is_plain(), and alone in its file or in_order */
};

/*
 * leave: from now on, nothing is advised for plain streams. The initial state is false. Plain
 * streams are learned in either state.
 */
void canfs_files_leave_plain(struct canfs_files *files, bool leave);

/*
 * A client reads bytes [offset, offset + bytes) of a file of file_bytes. Fills in what to fetch for
 * it now, most urgent first, and returns the number of advices (0: none). scale in [0, 1] scales
 * the distance; at 0 nothing is prefetched, but patterns are still learned. in_order: this client
 * reads the file in order (kernel_stream.h). found: NULL allowed. A read of 0 bytes or beyond the
 * end of the file is ignored.
 */
size_t canfs_files_read(struct canfs_files *files, uint64_t file, uint64_t offset, uint32_t bytes,
	uint64_t file_bytes, double scale, bool in_order,
	struct canfs_advice advice[CANFS_ADVICE_MAX], struct canfs_files_found *found);

/*
 * Advised bytes were not fetched (refused, cancelled or failed). Neither these bytes nor what their
 * stream was advised beyond them is charged. All of them may be advised again, from the next read
 * on.
 */
void canfs_files_not_fetched(
	struct canfs_files *files, uint64_t file, uint32_t cursor, uint64_t offset, uint64_t bytes);

/*
 * `bytes` of the advised bytes need no fetch, because they are already there. They are not charged.
 * A caller that cannot tell may skip this call: bytes that are fetched and then read count as used,
 * whichever cursor fetched them.
 */
void canfs_files_was_there(
	struct canfs_files *files, uint64_t file, uint32_t cursor, uint64_t bytes);

/*
 * The file was written or truncated from from_offset on. Bytes fetched from there on no longer
 * count as fetched.
 */
void canfs_files_changed(struct canfs_files *files, uint64_t file, uint64_t from_offset);

/*
 * Fetched bytes are used, or wasted (their cursor ended or passed them), or still await a reader.
 * Bytes that were not fetched after all are subtracted.
 */
struct canfs_files_stats {
	uint64_t files, cursors;
	uint64_t memory_bytes;   /* upper bound */
	uint64_t reads, matched; /* matched: by a cursor */
	uint64_t fetched_bytes, used_bytes, wasted_bytes;
};
struct canfs_files_stats canfs_files_stats(struct canfs_files *files); /* shards are read in turn */

#endif
