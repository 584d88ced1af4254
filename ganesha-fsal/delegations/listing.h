/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Does somebody list a directory? Who does looks at the attributes of one file of it after the other (READDIRPLUS of NFSv3, ls -l). Told of
 * those looks that conflict with a delegation. From any thread.
 */
#ifndef CANFS_GANESHA_FSAL_LISTING_H
#define CANFS_GANESHA_FSAL_LISTING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct canfs_listing {
	pthread_mutex_t lock;
	/* The last look, and when all of the directory were last asked back (0: never). */
	uint64_t file, parent, usec, all_usec;
};

void canfs_listing_init(struct canfs_listing *listing);
void canfs_listing_fini(struct canfs_listing *listing);

/* A look at a file; parent 0: its directory is not known. Is it the second one of a directory, for the first time in a second? */
bool canfs_listing_note(
	struct canfs_listing *listing, uint64_t file, uint64_t parent, uint64_t now_usec);

/* Was a file of the directory looked at within ten seconds? */
bool canfs_listing_is_on(struct canfs_listing *listing, uint64_t parent, uint64_t now_usec);

#endif
