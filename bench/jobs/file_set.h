/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A set of files below one directory: a tree of directories of gamma-distributed width and depth, files of gamma-distributed
 * size, of which some exist when the work begins. Threads of one process take files of it in turn.
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
	uint8_t percent; /* of the files exist at the beginning */
	bool read_only;
};

struct canfs_set_file {
	char *path;
	uint64_t bytes; /* it is made with; what is appended does not count */
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
	CANFS_TAKE_OPEN,   /* one that exists; opened */
	CANFS_TAKE_LOOK,   /* one that exists */
	CANFS_TAKE_CREATE, /* one that does not exist; opened */
	CANFS_TAKE_DELETE, /* one that exists and nobody has open */
};

/*
 * Lays the set out, in memory only; everything but the parent directory's name depends on *random alone. The spec must outlive
 * the set. Returns 0 or -ENOMEM; the set is to be freed in any case.
 */
int canfs_file_set_plan(struct canfs_file_set *set, const struct canfs_file_set_spec *spec,
	const char *parent, uint64_t *random);
void canfs_file_set_free(struct canfs_file_set *set);

/* Makes directories and files, in random order: a disk shall not have them in the order of their names. A file that has its
 * size already stays. Returns 0 or -errno. */
int canfs_file_set_make(const struct canfs_file_set *set, uint64_t *random);

/*
 * The next file in turn, which is busy until canfs_file_set_give(); NULL if there is none. Files that are busy are passed over,
 * unless there are no others. next: where a thread that goes its own round is in it; NULL: the round of all.
 */
struct canfs_set_file *canfs_file_set_take(
	struct canfs_file_set *set, enum canfs_take how, uint32_t *next);
/* That was done with it; ret: 0, or why it failed. */
void canfs_file_set_give(
	struct canfs_file_set *set, struct canfs_set_file *file, enum canfs_take how, int ret);

/* Before and after close(). */
void canfs_file_set_close(struct canfs_file_set *set, struct canfs_set_file *file);
void canfs_file_set_closed(struct canfs_file_set *set, struct canfs_set_file *file);

#endif
