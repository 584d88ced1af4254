/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Files whose written data the kernel could not put on disk. The kernel reports this once to each
 * open file description, and then forgets the data. The COMMIT of another client would succeed.
 *
 * NFSv4 clients learn from the write verifier that they must write again (RFC 8881 §18.32.3). The
 * verifier of NFSv3 belongs to the whole server, and a plugin cannot change it. For NFSv3 clients,
 * a failed file therefore stays failed until it is emptied, or for CANFS_FAILED_FILE_SEC. By then,
 * clients have committed what they wrote before the failure.
 *
 * From any thread. While no file has failed, which is the normal case, a check costs one load.
 */
#ifndef CANFS_GANESHA_FSAL_PROMISES_CORE_FAILED_FILES_H
#define CANFS_GANESHA_FSAL_PROMISES_CORE_FAILED_FILES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_FAILED_FILES_MAX 256 /* in 4 KiB; if more fail, all files count as failed */
#define CANFS_FAILED_FILE_SEC  3600

struct canfs_failed_files {
	pthread_mutex_t lock;
	_Atomic bool any;
	unsigned int count;
	uint64_t all_until_usec; /* all files count as failed until then */
	struct {
		uint64_t file;
		uint64_t until_usec;
	} row[CANFS_FAILED_FILES_MAX];
};

#define CANFS_FAILED_FILES_NONE                                                                    \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

/* file: any number that identifies it. Returns false if the file is already listed as failed. */
bool canfs_failed_files_note(struct canfs_failed_files *files, uint64_t file, uint64_t now_usec);

static inline bool canfs_failed_files_any(const struct canfs_failed_files *files)
{
	return atomic_load(&files->any);
}

/* True: the file has failed since since_usec, or at any time if since_usec is 0. */
bool canfs_failed_files_has(
	struct canfs_failed_files *files, uint64_t file, uint64_t since_usec, uint64_t now_usec);

/* Nothing is left of what was written to the file. */
void canfs_failed_files_forget(struct canfs_failed_files *files, uint64_t file);

#endif
