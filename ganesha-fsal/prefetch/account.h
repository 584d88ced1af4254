/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What bounds waste: accounts of each file, and of the server; files.h says what they are for.
 *
 *	server, risk:   16 x the most that one cursor may be ahead
 *	                + a sixth of all that is read in sequence
 *	                - what is fetched and was not read (yet)
 *	server, trust:  1 x that most + a twentieth - what is wasted, or suspected to be
 *	file, own:      a twentieth of what is read of it in sequence - what is wasted, or suspected to be
 *
 * Doubtful is what a cursor has fetched that was not hit while its file, or the other files, were read often. It is
 * forgiven if the cursor is hit after all.
 *
 * So, if everybody stopped now, a seventh of all bytes would be wasted, and the grant of 16 x; in the long run it is a
 * twentieth of what is read in sequence.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_ACCOUNT_H
#define CANFS_GANESHA_FSAL_PREFETCH_ACCOUNT_H

#include "ganesha-fsal/prefetch/table.h"

void canfs_account_open(struct canfs_files *files);

/* A cursor of the file was hit, and this came of it. Call hit first: it forgives. */
void canfs_account_hit(
	struct canfs_shard *shard, struct canfs_file *file, struct canfs_cursor *cursor);
void canfs_account_followed(struct canfs_files *files, struct canfs_shard *shard,
	struct canfs_file *file, struct canfs_followed followed);

/* The cursor was not hit for long. */
void canfs_account_suspect(
	struct canfs_shard *shard, struct canfs_file *file, struct canfs_cursor *cursor);

/* Its stream has ended: what was fetched and not read is wasted. */
void canfs_account_end(
	struct canfs_shard *shard, struct canfs_file *file, struct canfs_cursor *cursor);

void canfs_account_fetched(struct canfs_files *files, struct canfs_shard *shard,
	struct canfs_file *file, uint32_t bytes);

/*
 * Something is on its way for this file: it is watched from now on, and another one, that was watched before, is looked
 * at. If nobody has read it while all others were, what it has fetched is suspected: its reader has gone, and left no
 * other trace.
 */
void canfs_account_watch(struct canfs_shard *shard, struct canfs_file *file);

/* It was not fetched after all, by this cursor. */
void canfs_account_refund(struct canfs_shard *shard, struct canfs_file *file,
	const struct canfs_cursor *cursor, uint32_t bytes);

/* How far ahead the cursor may be, in bytes; scale in [0, 1]. */
uint64_t canfs_account_ahead(struct canfs_files *files, const struct canfs_file *file,
	const struct canfs_cursor *cursor, double scale);

#endif
