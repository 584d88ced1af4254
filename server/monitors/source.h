/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Small files of /proc and /sys, and the numbers in them. */
#ifndef CANFS_SERVER_MONITORS_SOURCE_H
#define CANFS_SERVER_MONITORS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads a file into text, which is then NUL-terminated; what does not fit is left out. root is
 * put before the path ("" but for tests). Returns the length, or -errno.
 */
int canfs_read_source(const char *root, const char *path, char *text, size_t size);

/*
 * The parsers' one number reader: skips blanks and tabs, reads digits, moves *cursor behind
 * them. False (and *cursor anywhere) if there is no number or it exceeds UINT64_MAX.
 */
bool canfs_parse_number(const char **cursor, uint64_t *number);

/*
 * The number behind a name at the beginning of a line; the name includes what ends it ("Cached:").
 * False if there is no such line, or no number in it.
 */
bool canfs_parse_named(const char *text, const char *name, uint64_t *number);

/* The line after this one; the terminating NUL if there is none. */
const char *canfs_next_line(const char *line);

/*
 * By how much a counter grew. A counter that went backwards (a device replaced, a counter reset)
 * counts as not having moved.
 */
static inline uint64_t canfs_growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

#endif
