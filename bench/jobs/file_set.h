/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A set of files below one directory. Width and depth of its directories and sizes of its files are gamma-distributed. Some of
 * the files exist when the work begins. Threads of one process take files in turn.
 */
#ifndef CANFS_BENCH_JOBS_FILE_SET_H
#define CANFS_BENCH_JOBS_FILE_SET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_FILE_SET_GAMMA 1.5 /* the shape of all distributions */

struct canfs_file_set_spec {
	const char *name;      /* of its directory */
	uint32_t files, width; /* width: entries of a directory, on average */
	uint32_t mean_bytes;
	bool same_size;  /* all have mean_bytes */
	uint8_t percent; /* share of files that exist at the beginning */
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
	CANFS_TAKE_DELETE, /* an existing file that nobody has open */
};

/*
 * Lays the set out, in memory only. Everything except the parent directory's name depends on *random alone. The spec must
 * outlive the set. Returns 0 or -ENOMEM; the caller frees the set in either case.
 */
int canfs_file_set_plan(struct canfs_file_set *set, const struct canfs_file_set_spec *spec,
	const char *parent, uint64_t *random);
void canfs_file_set_free(struct canfs_file_set *set);

/* Makes directories and files, in random order, so that they are not on the disk in the order of their names. Keeps files that
 * already have their size. Returns 0 or -errno. */
int canfs_file_set_make(const struct canfs_file_set *set, uint64_t *random);

/*
 * The next file in turn, which is busy until canfs_file_set_give(); NULL if there is none. Busy files are skipped unless all are
 * busy. next: position of a thread that has its own turn; NULL: the common turn.
 */
struct canfs_set_file *canfs_file_set_take(
	struct canfs_file_set *set, enum canfs_take how, uint32_t *next);
/* The operation is done; ret: 0 or its error. */
void canfs_file_set_give(
	struct canfs_file_set *set, struct canfs_set_file *file, enum canfs_take how, int ret);

/* Before and after close(). */
void canfs_file_set_close(struct canfs_file_set *set, struct canfs_set_file *file);
void canfs_file_set_closed(struct canfs_file_set *set, struct canfs_set_file *file);

#endif
