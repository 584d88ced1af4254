/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Small files of /proc and /sys, and the numbers in them. */
#ifndef CANFS_SERVER_MONITORS_SOURCE_H
#define CANFS_SERVER_MONITORS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/counter.h"

/*
 * Reads a file into text, which is then NUL-terminated; what does not fit is left out. root is
 * put before the path ("" but for tests). Returns the length, or -errno.
 */
int canfs_read_source(const char *root, const char *path, char *text, size_t size);

/*
 * Likewise into *text of *size bytes, from malloc(3) or NULL and 0, which grow as the file does, up to max. A last line that is cut
 * off is left out.
 */
int canfs_read_whole_source(
	const char *root, const char *path, char **text, size_t *size, size_t max);

/*
 * The parsers' one number reader: skips blanks and tabs, reads digits, moves *cursor behind
 * them. False (and *cursor anywhere) if there is no number or it exceeds UINT64_MAX.
 */
bool canfs_parse_number(const char **cursor, uint64_t *number);

/* Likewise of a counter of the kernel: one above INT64_MAX has been negative. */
bool canfs_parse_count(const char **cursor, uint64_t *number);

/* A number that is not used: moves *cursor behind it, whatever it is. */
void canfs_skip_number(const char **cursor);

/*
 * The number behind a name at the beginning of a line; the name includes what ends it ("Cached:").
 * False if there is no such line, or no number in it.
 */
bool canfs_parse_named(const char *text, const char *name, uint64_t *number);

/* What is behind the name in the first line that begins with it; NULL: there is none. */
const char *canfs_find_named(const char *text, const char *name);

/* What was said of sources, so that each line that cannot be used is named once. Of more lines than that nothing is said. */
#define CANFS_SAID_MAX 16
struct canfs_said {
	void (*say)(const char *message); /* NULL: nobody hears it */
	uint64_t lines[CANFS_SAID_MAX];
	size_t count;
};

/* Says message, unless something was said of that before. */
void canfs_say_once(struct canfs_said *said, const char *of, const char *message);

/*
 * A line of the file at path cannot be used, or (line NULL or empty) all of it. Lines are told apart by their first words, since numbers
 * change.
 */
void canfs_say_unusable(struct canfs_said *said, const char *path, const char *line);

/* Says it of the lines that begin with a name ("Cached:"), if one is missing or has no number that can be used. */
void canfs_say_unusable_names(
	struct canfs_said *said, const char *path, const char *text, const char *const *names);

/* The line after this one; the terminating NUL if there is none. */
const char *canfs_next_line(const char *line);

#endif
