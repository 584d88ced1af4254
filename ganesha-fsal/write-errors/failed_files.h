/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The files of which the kernel could not put on the disk what was written. It tells that once, to one fsync(2), and has
 * forgotten what it could not write; the COMMIT of another client would succeed. NFSv4 clients learn by the write
 * verifier that they have to write again (RFC 8881 §18.32.3); that of NFSv3 is the whole server's, and out of reach.
 * So for them a failed file stays failed, until nothing of it is left, or for long enough that what was written before has
 * been asked for.
 *
 * From any thread. While there is none, which is always, a look costs one load.
 */
#ifndef CANFS_GANESHA_FSAL_FAILED_FILES_H
#define CANFS_GANESHA_FSAL_FAILED_FILES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_FAILED_FILES_MAX 256 /* 4 KiB; if there are more, all files count as failed */
#define CANFS_FAILED_FILE_SEC  3600

struct canfs_failed_files {
	pthread_mutex_t lock;
	_Atomic bool any;
	unsigned int count;
	uint64_t all_until_usec; /* more than fit */
	struct {
		uint64_t file;
		uint64_t until_usec;
	} row[CANFS_FAILED_FILES_MAX];
};

#define CANFS_FAILED_FILES_NONE                                                                    \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

/* file: any number that names it. False: it had failed before. */
bool canfs_failed_files_note(struct canfs_failed_files *files, uint64_t file, uint64_t now_usec);

static inline bool canfs_failed_files_any(const struct canfs_failed_files *files)
{
	return atomic_load(&files->any);
}

/* Is it one that has failed since then, or at any time (since_usec 0)? */
bool canfs_failed_files_has(
	struct canfs_failed_files *files, uint64_t file, uint64_t since_usec, uint64_t now_usec);

/* Nothing is left of what was written to it. */
void canfs_failed_files_forget(struct canfs_failed_files *files, uint64_t file);

#endif
