/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Promises of NFS that the FSAL below may break: write errors are reported, and names are durable.
 */
#ifndef CANFS_GANESHA_FSAL_PROMISES_PROMISES_H
#define CANFS_GANESHA_FSAL_PROMISES_PROMISES_H

#include "ganesha-fsal/stack/feature.h"

/*
 * write_errors.c. Decides which status a client gets for a write or a commit, and which status all
 * clients get after a failed write. RFC 1813 §3.3.7 and RFC 8881 §18.32.3: a stable write is on
 * disk, or the client gets an error.
 */
fsal_status_t canfs_begin_write_errors(struct canfs_op *op);
fsal_status_t canfs_check_write(struct canfs_op *op, fsal_status_t status);
fsal_status_t canfs_check_commit(struct canfs_op *op, fsal_status_t status);

/* Combines the server's write verifier with the number of write errors. */
void canfs_add_write_errors(struct gsh_buffdesc *verifier);
void canfs_count_write_errors(struct json_t *counters); /* from any thread */

/* If the file is now empty, forgets its write errors: the lost data no longer matters. */
void canfs_forget_write_errors(
	struct fsal_obj_handle *handle, uint64_t bytes, fsal_status_t status);

/*
 * metadata.c, with op_ctx on the export. wanted: names and attributes must be on disk before the
 * reply.
 */
void canfs_set_commit_metadata(struct canfs_export *export, bool wanted);
void canfs_end_commit_metadata(struct canfs_export *export);

/*
 * A name or an attribute is about to change. Returns ERR_FSAL_DELAY, so the client retries, if half
 * of the server's threads are in such changes and wait for a journal.
 */
fsal_status_t canfs_begin_metadata(struct canfs_op *op);

/*
 * The change was made. If the export wants it, blocks until the change is on disk; one commit
 * may cover changes of several threads. Returns status, or an error if the change may not be on disk.
 */
fsal_status_t canfs_commit_metadata(struct canfs_op *op, fsal_status_t status);

#endif
