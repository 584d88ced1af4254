/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reads small files of /proc and /sys, and the numbers in them. */
#ifndef CANFS_SERVER_MONITORS_SOURCE_H
#define CANFS_SERVER_MONITORS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/counter.h"

#define CANFS_SECTOR_BYTES 512u /* sectors in /sys, whatever the disk's own sector size */

/*
 * Reads a file into text and NUL-terminates it. Data that do not fit are dropped. root is put
 * before the path ("" except in tests). Returns the length, or -errno.
 */
int canfs_read_source(const char *root, const char *path, char *text, size_t size);

/*
 * Reads a file into *text, a buffer of *size bytes from malloc(3), or NULL and 0. The buffer grows
 * with the file, up to max. A truncated last line is dropped. Returns the length, or -errno.
 */
int canfs_read_whole_source(
	const char *root, const char *path, char **text, size_t *size, size_t max);

/*
 * The number parser of all parsers here: skips blanks and tabs, reads digits and moves *cursor
 * after them. Returns false, with *cursor undefined, if there is no number or if it exceeds
 * UINT64_MAX.
 */
bool canfs_parse_number(const char **cursor, uint64_t *number);

/* Parses a kernel counter. Also returns false above INT64_MAX, which is a negative value. */
bool canfs_parse_count(const char **cursor, uint64_t *number);

/* Skips an unused field of any content. */
void canfs_skip_number(const char **cursor);

/*
 * Parses the number after a name at the start of a line. name includes its delimiter ("Cached:").
 * Returns false if there is no such line, or no number in it.
 */
bool canfs_parse_named(const char *text, const char *name, uint64_t *number);

/* The text after the name in the first line that starts with it; NULL: no such line. */
const char *canfs_find_named(const char *text, const char *name);

/*
 * Lines already reported, so that each is reported once. If the table is full, nothing more is
 * reported.
 */
#define CANFS_SAID_MAX 16
struct canfs_said {
	void (*say)(const char *message); /* NULL: not reported */
	uint64_t lines[CANFS_SAID_MAX];
	size_t count;
};

/* Reports message, unless this line was reported before. */
void canfs_say_once(struct canfs_said *said, const char *of, const char *message);

/*
 * Reports that a line of the file at path is unusable. line NULL or empty: the whole file is. Lines
 * are identified by their first word, because their numbers change.
 */
void canfs_say_unusable(struct canfs_said *said, const char *path, const char *line);

/* Reports each of the named lines ("Cached:") that is missing or has no usable number. */
void canfs_say_unusable_names(
	struct canfs_said *said, const char *path, const char *text, const char *const *names);

/* The next line, or the terminating NUL. */
const char *canfs_next_line(const char *line);

#endif
