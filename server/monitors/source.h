/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Small files of /proc and /sys, and the numbers in them. */
#ifndef CANFS_SERVER_MONITORS_SOURCE_H
#define CANFS_SERVER_MONITORS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/counter.h"

#define CANFS_SECTOR_BYTES 512u /* of /sys, whatever the disk's own are */

/*
 * Reads a file into text, which is then NUL-terminated; what does not fit is left out. root is
 * put before the path ("" but for tests). Returns the length, or -errno.
 */
int canfs_read_source(const char *root, const char *path, char *text, size_t size);

/*
 * Likewise into *text of *size bytes, from malloc(3) or NULL and 0. The buffer grows with the file, up to max. A truncated last line is left
 * out.
 */
int canfs_read_whole_source(
	const char *root, const char *path, char **text, size_t *size, size_t max);

/*
 * The parsers' one number reader: skips blanks and tabs, reads digits, moves *cursor behind
 * them. False (and *cursor anywhere) if there is no number or it exceeds UINT64_MAX.
 */
bool canfs_parse_number(const char **cursor, uint64_t *number);

/* Likewise for a kernel counter: a value above INT64_MAX was negative. */
bool canfs_parse_count(const char **cursor, uint64_t *number);

/* Skips an unused number, whatever it is. */
void canfs_skip_number(const char **cursor);

/*
 * The number behind a name at the beginning of a line; the name includes what ends it ("Cached:").
 * False if there is no such line, or no number in it.
 */
bool canfs_parse_named(const char *text, const char *name, uint64_t *number);

/* The text after the name in the first line that starts with it; NULL: no such line. */
const char *canfs_find_named(const char *text, const char *name);

/* Lines that were reported, so that each unusable line is reported once. When the table is full, no further line is reported. */
#define CANFS_SAID_MAX 16
struct canfs_said {
	void (*say)(const char *message); /* NULL: no interest */
	uint64_t lines[CANFS_SAID_MAX];
	size_t count;
};

/* Reports message, unless this line was reported before. */
void canfs_say_once(struct canfs_said *said, const char *of, const char *message);

/*
 * Reports that a line of the file at path, or the whole file (line NULL or empty), is unusable. Lines are identified by their first word, since
 * numbers change.
 */
void canfs_say_unusable(struct canfs_said *said, const char *path, const char *line);

/* Reports each of the named lines ("Cached:") that is missing or has no usable number. */
void canfs_say_unusable_names(
	struct canfs_said *said, const char *path, const char *text, const char *const *names);

/* The next line, or the terminating NUL. */
const char *canfs_next_line(const char *line);

#endif
