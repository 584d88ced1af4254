/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Detects that a client lists a directory (READDIRPLUS of NFSv3, ls -l): it reads the attributes of
 * one file after another. The caller notes only looks that conflict with a delegation. From any
 * thread.
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_LISTING_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_LISTING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct canfs_listing {
	pthread_mutex_t lock;
	/*
	 * The last look, and when all delegations of the directory were last recalled (0: never).
	 */
	uint64_t file, parent, usec, all_usec;
};

void canfs_listing_init(struct canfs_listing *listing);
void canfs_listing_fini(struct canfs_listing *listing);

/*
 * Notes a look at a file. parent 0: its directory is unknown. Returns true if the previous look was
 * at another file of the same directory, less than ten seconds ago; but true at most once a second.
 */
bool canfs_listing_note(
	struct canfs_listing *listing, uint64_t file, uint64_t parent, uint64_t now_usec);

/* True: the last look was at a file of the directory, less than ten seconds ago. */
bool canfs_listing_is_on(struct canfs_listing *listing, uint64_t parent, uint64_t now_usec);

#endif
