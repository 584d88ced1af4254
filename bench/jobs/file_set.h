/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A set of files below one directory. The width and depth of its directories and the sizes of its
 * files are gamma-distributed. Some files exist from the start. The threads of a process take files
 * in turn.
 */
#ifndef CANFS_BENCH_JOBS_FILE_SET_H
#define CANFS_BENCH_JOBS_FILE_SET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_FILE_SET_GAMMA 1.5 /* shape of all distributions */

struct canfs_file_set_spec {
	const char *name;      /* of its directory */
	uint32_t files, width; /* width: mean number of entries in a directory */
	uint32_t mean_bytes;
	bool same_size;  /* all files have mean_bytes */
	uint8_t percent; /* share of files that exist from the start */
	bool read_only;
};

struct canfs_set_file {
	char *path;
	uint64_t bytes; /* size at creation, without appended data */
	bool exists;
	unsigned int opens, busy; /* busy: in open(), close() or stat() */
};

struct canfs_file_set {
	const struct canfs_file_set_spec *spec;
	pthread_mutex_t lock;
	struct canfs_set_file *file;
	char **directory; /* parents come first */
	uint32_t files, files_max, directories;
	uint32_t next, next_missing;
};

enum canfs_take {
	CANFS_TAKE_OPEN,   /* an existing file, opened */
	CANFS_TAKE_LOOK,   /* an existing file */
	CANFS_TAKE_CREATE, /* a file that does not exist, opened */
	CANFS_TAKE_DELETE, /* an existing file that is not open */
};

/*
 * Plans the set in memory only. The result depends only on *random, except for the name of the
 * parent directory. The spec must outlive the set. Returns 0 or -ENOMEM; the caller frees the set
 * in either case.
 */
int canfs_file_set_plan(struct canfs_file_set *set, const struct canfs_file_set_spec *spec,
	const char *parent, uint64_t *random);
void canfs_file_set_free(struct canfs_file_set *set);

/*
 * Creates directories and files, in random order, so that the order on disk is not that of the
 * names. Keeps files that already have the right size. Returns 0 or -errno.
 */
int canfs_file_set_make(const struct canfs_file_set *set, uint64_t *random);

/*
 * Returns the next file in turn, which stays busy until canfs_file_set_give(), or NULL if there is
 * none. Busy files are skipped unless all are busy. next: the position of a thread with its own
 * turn; NULL: the common turn.
 */
struct canfs_set_file *canfs_file_set_take(
	struct canfs_file_set *set, enum canfs_take how, uint32_t *next);
/* Ends the operation. ret: 0 or its -errno. */
void canfs_file_set_give(
	struct canfs_file_set *set, struct canfs_set_file *file, enum canfs_take how, int ret);

/* Call before and after close(). */
void canfs_file_set_close(struct canfs_file_set *set, struct canfs_set_file *file);
void canfs_file_set_closed(struct canfs_file_set *set, struct canfs_set_file *file);

#endif
