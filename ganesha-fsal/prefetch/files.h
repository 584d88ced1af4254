/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The table of active files (Ellard & Seltzer 2003, §6.3): which files are read, by which cursors (cursor.h), and what
 * should be fetched ahead of them. Sharded by file; in each shard the least recently used gives way. Bounded, and full
 * of nothing but what it needs: a table that is too small ruins any heuristic (§6.3), so it may be large.
 *
 * It neither reads nor waits, and has no clock: it says what to fetch, and is told what became of it. Any thread
 * may call it; a shard's lock is held for some hundred nanoseconds.
 *
 * Waste is bounded by accounts (account.h), of each file and of the server. A file whose prefetch is not read gets
 * less, and then nothing until enough of it was read in sequence; on a server where much is wasted, each file may risk
 * what it has earned itself.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_FILES_H
#define CANFS_GANESHA_FSAL_PREFETCH_FILES_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_ADVICE_MAX 4

struct canfs_files;

struct canfs_files_config {
	uint32_t files;       /* active ones: 1 ... CANFS_FILES_MAX */
	uint32_t cursors;     /* in the pool, besides each file's first: 0 ... the same */
	uint32_t unit_bytes;  /* 64 KiB ... 64 MiB: 4 MiB for a disk, <= 1 MiB for an SSD */
	uint32_t units_ahead; /* at most, of a cursor: 1 ... 8 */
	/* Of reordering: 64 KiB ... 16 MiB, if that is 24 to 32 reads. */
	uint32_t tolerance_max_bytes;
};
#define CANFS_FILES_MAX ((uint32_t)1 << 26)

/* A million files and 750000 more cursors, in 246 MB at most; a spinning disk. */
extern const struct canfs_files_config canfs_files_defaults;

/* The same for so many files, with three quarters as many cursors more. */
struct canfs_files_config canfs_files_config_for(uint32_t files);

/* Fetch these bytes of the file. They do not go beyond its end. */
struct canfs_advice {
	uint64_t offset;
	uint64_t bytes;
	uint32_t cursor; /* its stream, for the scheduler. Used again when that has ended */
};

/* 0, -EINVAL (a member of config is out of range), -ENOMEM. */
int canfs_files_new(struct canfs_files **files, const struct canfs_files_config *config);
void canfs_files_free(struct canfs_files *files); /* nobody may call it any more; NULL allowed */

/* What else a read was found to be. */
struct canfs_files_found {
	uint32_t fetched; /* bytes of it that were fetched ahead for it */
	bool awaited;     /* somebody is expected to read what was fetched before of this file */
	bool random;      /* it is in no sequence that is known, and not at the start of its file */
	bool steady; /* plain for so long that its order is known, and past all that was fetched for it */
	bool plain; /* it is of a plain stream (canfs_cursor_is_plain()), which is alone in its file, or in_order */
};

/* From now on nothing is advised for plain streams; or it is, as at first. They are learnt in either case. */
void canfs_files_leave_plain(struct canfs_files *files, bool leave);

/*
 * A client asks for bytes [offset, offset + bytes) of a file of file_bytes. Fills in what to fetch for it now,
 * most urgent first, and returns how many (0: nothing). scale in [0, 1] scales the distance;
 * 0: nothing is prefetched, but patterns are still learnt. in_order: of what this client reads of the file (kernel_stream.h).
 * found: NULL allowed.
 * A read of nothing, or beyond the end, is none.
 */
size_t canfs_files_read(struct canfs_files *files, uint64_t file, uint64_t offset, uint32_t bytes,
	uint64_t file_bytes, double scale, bool in_order,
	struct canfs_advice advice[CANFS_ADVICE_MAX], struct canfs_files_found *found);

/*
 * What was advised was not fetched (refused, cancelled, failed): neither it nor what its stream was advised beyond it
 * is charged, and all may be advised again, at the next read already.
 */
void canfs_files_not_fetched(
	struct canfs_files *files, uint64_t file, uint32_t cursor, uint64_t offset, uint64_t bytes);

/*
 * So many bytes of what was advised need not be fetched: they were there already. They are not charged. A caller that cannot
 * tell may leave it: what is fetched and then read is used, whichever cursor fetched it.
 */
void canfs_files_was_there(
	struct canfs_files *files, uint64_t file, uint32_t cursor, uint64_t bytes);

/* Written or truncated: what was fetched from there on is no longer counted on. */
void canfs_files_changed(struct canfs_files *files, uint64_t file, uint64_t from_offset);

/*
 * Bytes fetched are used, or wasted (their cursor ended, or left them behind), or still on their way. What was not
 * fetched after all is no longer among them.
 */
struct canfs_files_stats {
	uint64_t files, cursors;
	uint64_t memory_bytes;   /* the bound */
	uint64_t reads, matched; /* by a cursor */
	uint64_t fetched_bytes, used_bytes, wasted_bytes;
};
struct canfs_files_stats canfs_files_stats(struct canfs_files *files); /* the sum of moments */

#endif
