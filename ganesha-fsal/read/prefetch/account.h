/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bounds the waste of prefetch: bytes that are fetched and never read. Each file has accounts, and
 * so has the server (files.h).
 *
 *	server, risk:   16 x the maximum distance of one cursor
 *	                + 1/6 of all bytes read in sequence
 *	                - bytes fetched and not read (yet)
 *	server, trust:  1 x that maximum + 1/20 of all bytes read in sequence - bytes wasted or suspected
 *	file, own:      1/20 of its bytes read in sequence - bytes wasted or suspected
 *
 * Bytes fetched for a cursor are suspected waste if the cursor is not hit while its file, or other
 * files, are read often. A hit of the cursor clears the suspicion.
 *
 * If all readers stopped now, 1/7 of all bytes read from the disk would be wasted, plus the grant
 * of 16 x. In the long run, the waste is 1/20 of the bytes read in sequence.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_ACCOUNT_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_ACCOUNT_H

#include "ganesha-fsal/read/prefetch/table.h"

void canfs_account_open(struct canfs_files *files);

/*
 * A read hit the cursor. Call canfs_account_hit() first, which clears the suspicion, then
 * canfs_account_followed(), which books what the read did.
 */
void canfs_account_hit(
	struct canfs_shard *shard, struct canfs_file *file, struct canfs_cursor *cursor);
void canfs_account_followed(struct canfs_files *files, struct canfs_shard *shard,
	struct canfs_file *file, struct canfs_followed followed);

/* The cursor was not hit for a long time: its outstanding bytes become suspected waste. */
void canfs_account_suspect(
	struct canfs_shard *shard, struct canfs_file *file, struct canfs_cursor *cursor);

/* The cursor's stream has ended: its outstanding bytes are wasted. */
void canfs_account_end(
	struct canfs_shard *shard, struct canfs_file *file, struct canfs_cursor *cursor);

void canfs_account_fetched(struct canfs_files *files, struct canfs_shard *shard,
	struct canfs_file *file, uint32_t bytes);

/*
 * Prefetch for this file is in flight: watches the file from now on, and checks up to two files
 * watched before. If a watched file was not read while the others were, its reader has left without
 * any other sign. The file's outstanding bytes then become suspected waste.
 */
void canfs_account_watch(struct canfs_shard *shard, struct canfs_file *file);

/* These bytes were not fetched for this cursor after all. */
void canfs_account_refund(struct canfs_shard *shard, struct canfs_file *file,
	const struct canfs_cursor *cursor, uint32_t bytes);

/* Returns how far ahead the cursor may be, in bytes. scale: [0, 1]. */
uint64_t canfs_account_ahead(struct canfs_files *files, const struct canfs_file *file,
	const struct canfs_cursor *cursor, double scale);

#endif
