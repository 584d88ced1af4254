// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/promises/core/failed_files.h"

#define FAILED_USEC (CANFS_FAILED_FILE_SEC * UINT64_C(1000000))

static void drop(struct canfs_failed_files *files, unsigned int at)
{
	files->row[at] = files->row[--files->count];
}

/* Returns -1 if the file is not listed. */
static int find(const struct canfs_failed_files *files, uint64_t file)
{
	for (unsigned int i = 0; i < files->count; i++) {
		if (files->row[i].file == file)
			return (int)i;
	}
	return -1;
}

static void drop_old(struct canfs_failed_files *files, uint64_t now_usec)
{
	for (unsigned int i = files->count; i-- > 0;) {
		if (files->row[i].until_usec <= now_usec)
			drop(files, i);
	}
	atomic_store(&files->any, files->count > 0 || now_usec < files->all_until_usec);
}

bool canfs_failed_files_note(struct canfs_failed_files *files, uint64_t file, uint64_t now_usec)
{
	uint64_t until_usec = now_usec + FAILED_USEC;
	int at;

	pthread_mutex_lock(&files->lock);
	drop_old(files, now_usec);
	at = find(files, file);
	if (at >= 0) {
		files->row[at].until_usec = until_usec;
	} else if (files->count < CANFS_FAILED_FILES_MAX) {
		files->row[files->count].file = file;
		files->row[files->count++].until_usec = until_usec;
	} else {
		files->all_until_usec = until_usec;
	}
	atomic_store(&files->any, true);
	pthread_mutex_unlock(&files->lock);
	return at < 0;
}

bool canfs_failed_files_has(
	struct canfs_failed_files *files, uint64_t file, uint64_t since_usec, uint64_t now_usec)
{
	uint64_t until_usec;
	int at;

	if (!canfs_failed_files_any(files))
		return false;
	pthread_mutex_lock(&files->lock);
	drop_old(files, now_usec);
	until_usec = now_usec < files->all_until_usec ? files->all_until_usec : 0;
	at = find(files, file);
	if (at >= 0 && files->row[at].until_usec > until_usec)
		until_usec = files->row[at].until_usec;
	pthread_mutex_unlock(&files->lock);
	return until_usec != 0 && until_usec - FAILED_USEC >= since_usec;
}

void canfs_failed_files_forget(struct canfs_failed_files *files, uint64_t file)
{
	int at;

	pthread_mutex_lock(&files->lock);
	at = find(files, file);
	if (at >= 0)
		drop(files, (unsigned int)at);
	pthread_mutex_unlock(&files->lock);
}
