/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads files of /proc and /sys. All paths are relative to a root: "" in production, a directory of
 * made-up files in the tests.
 */
#ifndef CANFS_COMMON_FILE_H
#define CANFS_COMMON_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Opens root + path to be read. Returns the descriptor, -ENAMETOOLONG, or -errno. */
int canfs_open_below(const char *root, const char *path);

/* Reads until the end of the file, or until buf is full. Returns the length, or -errno. */
ssize_t canfs_read_up_to(int fd, char *buf, size_t size);

/*
 * Reads all of root + path into buf and appends a NUL. Returns the length, -EFBIG if the file does
 * not fit into size - 1 bytes, -ENAMETOOLONG, or the -errno of open or read.
 */
ssize_t canfs_read_file(const char *root, const char *path, char *buf, size_t size);

/*
 * The same for files that may be long (mountinfo). Returns 0 and sets *text, which the caller must
 * free(). Returns -EFBIG beyond max_bytes, -ENOMEM, or an error as above.
 */
int canfs_read_text(const char *root, const char *path, size_t max_bytes, char **text);

/*
 * Reads a file of any length (mountstats) line by line, in bounded memory. Calls take() with each
 * whole line, which has no terminating NUL; end points to the line's newline. Text after the last
 * newline is torn and skipped. A line longer than CANFS_LINE_MAX is skipped, too.
 *
 * Returns 0, -ENOMEM, -ENAMETOOLONG, or the -errno of open or read. take() may have been called
 * before a read error.
 */
#define CANFS_LINE_MAX                                                                             \
	65536 /* a line of mountinfo has three paths, each byte of which may be escaped */
int canfs_read_lines(const char *root, const char *path,
	void (*take)(void *data, const char *line, const char *end), void *data);

#endif
