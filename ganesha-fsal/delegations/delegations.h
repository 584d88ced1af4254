/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Delegations (RFC 8881 §10.4) in Ganesha, above an FSAL that grants none. Code that does not need
 * Ganesha is in core/.
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_DELEGATIONS_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_DELEGATIONS_H

#include <stdatomic.h>

#include "ganesha-fsal/delegations/core/holders.h"
#include "ganesha-fsal/stack/feature.h"

/* This feature's part of an export. */
struct canfs_export_delegations {
	int dir;      /* a descriptor of its path, for opening watched files; -1: none */
	dev_t st_dev; /* the file system of dir */
	_Atomic bool delegates;
};

/* Never NULL. canfs_delegations_here() needs op_ctx on the export. */
static inline struct canfs_export_delegations *canfs_delegations_of(
	const struct canfs_export *export)
{
	return export->part[CANFS_FEATURE_DELEGATIONS];
}

static inline struct canfs_export_delegations *canfs_delegations_here(void)
{
	return canfs_delegations_of(canfs_export_here());
}

/*
 * delegations.c. Returns true if the client of op_ctx may be granted a delegation. Also returns
 * true while any delegation is held, because its holder must still be able to open the files that
 * it has open.
 */
bool canfs_delegates(const struct fsal_export *export);
bool canfs_any_delegations(void);

/* True: the export may grant delegations now, whether any is held or not. Needs op_ctx on it. */
bool canfs_export_delegates(const struct fsal_export *export);

struct canfs_revoked;
struct canfs_holders *canfs_all_holders(void); /* NULL: no export wants delegations */
struct canfs_revoked *canfs_all_revoked(void); /* likewise */
struct canfs_nfs_client canfs_client_here(void);

/*
 * Checks whether the client of op_ctx may access the file now. If another client's delegation
 * conflicts, recalls that delegation and returns ERR_FSAL_DELAY, so the client retries.
 */
fsal_status_t canfs_check_conflicts(uint64_t file, enum canfs_access access);

/*
 * leases.c. The feature's hook: grants a delegation, or notes that one ends. False: the sub-FSAL
 * must handle the lease.
 */
bool canfs_lease(struct fsal_obj_handle *handle, struct state_t *state, void *owner,
	fsal_deleg_t deleg, fsal_status_t *status);

/*
 * Call this for any state that ends. Repeated calls are harmless. owner: as in lease_op2; NULL: the
 * owner may be gone.
 */
void canfs_return_lease(struct fsal_obj_handle *handle, struct state_t *state, void *owner);

/*
 * Returns true if the client of op_ctx lost its delegation of the file and the file has changed
 * since. Returns true only once. The client's OPEN for writing then fails with NFS4ERR_NOENT. To
 * send its unsent data, Linux opens the file by handle, and gives up on this error. A client that
 * opens the file by name looks up the name again.
 */
bool canfs_open_was_revoked(struct fsal_obj_handle *handle);

/*
 * Likewise, for a client that has not opened the file since. True: this WRITE carries data that was
 * unsent when the delegation was lost. It fails with NFS4ERR_IO.
 */
bool canfs_write_was_revoked(struct fsal_obj_handle *handle, const struct fsal_io_arg *io);

/* An open may have created the file in this directory. */
void canfs_note_made(struct fsal_obj_handle *handle, struct fsal_obj_handle *dir);

/* file_changes.c: the hooks that run before and after operations. */
void canfs_note_named(const struct gsh_buffdesc *key);
fsal_status_t canfs_check_look(struct canfs_op *op);
fsal_status_t canfs_check_read(struct canfs_op *op);
fsal_status_t canfs_check_lock(struct canfs_op *op);
fsal_status_t canfs_note_commit(struct canfs_op *op);
fsal_status_t canfs_begin_change(struct canfs_op *op);
fsal_status_t canfs_begin_unlink(struct canfs_op *op);
fsal_status_t canfs_begin_rename(struct canfs_op *op);
fsal_status_t canfs_begin_write_change(struct canfs_op *op);
fsal_status_t canfs_begin_open(struct canfs_op *op);
fsal_status_t canfs_end_open(struct canfs_op *op, fsal_status_t status);
fsal_status_t canfs_end_change(struct canfs_op *op, fsal_status_t status);
bool canfs_retries_write(struct canfs_op *op, fsal_status_t status);

/*
 * An operation has reached the FSAL. If the last request of this thread named the file
 * (core/holders.h), that request is no longer missing.
 */
void canfs_note_arrived(struct fsal_obj_handle *handle);

/*
 * write_delegations.c. canfs_afford_write_delegation() reserves space for a write delegation of
 * this file, if the server can afford it. The space stays reserved until
 * canfs_end_write_delegation() is called with the same name. That call may be repeated. Functions
 * that return int return 0 or -errno.
 */
int canfs_open_space(void (*recall)(uint64_t file));
void canfs_close_space(void);
int canfs_afford_write_delegation(
	const struct canfs_export *export, struct fsal_obj_handle *handle, const void *name);
void canfs_end_write_delegation(const void *name);
uint64_t canfs_count_not_afforded(void);

/*
 * A WRITE of a holder found no space: releases some of the reserve. True: retry the WRITE. Needs
 * op_ctx on our export.
 */
bool canfs_spend_space(uint64_t bytes);

/*
 * Access to exports is about to change. Blocks until clients have written the data of files that
 * they closed, for at most 11 s.
 */
void canfs_recall_before_change(void);

/*
 * back_channel.c, from any thread. is_unheard: the client does not answer recalls; called once a
 * second. has_answered: the client has just answered.
 */
void canfs_client_is_unheard(void *client_record);
void canfs_client_has_answered(void *client_record);

/*
 * watched_files.c, with op_ctx on the export. From canfs_watch_file() to canfs_unwatch_file(),
 * other processes of this machine that open the file are reported and wait (core/watch.h).
 * Functions that return int return 0 or -errno.
 */
struct canfs_watch_config;
int canfs_start_watching(const struct canfs_watch_config *config);
void canfs_stop_watching(void);
int canfs_watch_file(const struct canfs_export_delegations *own, struct fsal_obj_handle *handle);
/* op_ctx may be on any export of the file's file system. */
void canfs_unwatch_file(struct fsal_obj_handle *handle);

/* Returns an O_PATH descriptor of the file, or -errno. */
int canfs_open_same(const struct canfs_export_delegations *own, struct fsal_obj_handle *handle);

/*
 * Reads the file's attributes without an open(2). FSAL VFS would open the file, and the watch would
 * have to handle that open (core/watch.h). With Attr_Expiration_Time = 0, each request asks for
 * attributes several times. False: ask the sub-FSAL.
 */
bool canfs_stat_watched(struct fsal_obj_handle *handle, struct fsal_attrlist *attrs);

/* A file is about to be deleted: closes its descriptor if its watch is settling (core/watch.h). */
bool canfs_any_file_settles(void);
void canfs_forget_watched(const struct fsal_obj_handle *handle);

/*
 * recalls.c. Recalls a file's delegations in a thread of Ganesha, which holds a reference to the
 * export.
 */
void canfs_ask_back(const void *up_ops, const void *key, size_t key_bytes);

bool canfs_recall_is_overdue(const struct state_t *state);
bool canfs_recall_was_answered(const struct state_t *state); /* less than 2 s ago */

/*
 * The lock and unlock hooks of canfs_holders_tick(). The struct state_t must still belong to a
 * holder.
 */
void *canfs_lock_state(void *state);
void canfs_unlock_state(void *locked);

/*
 * kept_states.c, with op_ctx. Keeps the state of a returned delegation or of ended locks for one
 * second.
 */
void canfs_keep_state(struct state_t *state);

/* Releases the states whose second is over. From any thread. */
void canfs_let_states_go(uint64_t now_usec);

/*
 * ganesha_states.c, with op_ctx and the file's state lock held. True: another client's open of the
 * file conflicts with the requested delegation (RFC 8881 §10.4).
 */
bool canfs_opens_conflict(const struct state_t *delegation, uint64_t client, bool writes);

/*
 * Under the same conditions, for a delegation that is granted, refused or returned. Hides the
 * delegation from NFS-Ganesha's own search for conflicts. owner: as in lease_op2.
 */
void canfs_hide_granted(struct state_t *delegation, bool is_refused);
void canfs_hide_returned(struct state_t *delegation, void *owner);

/* True: the request of op_ctx contains a WRITE. */
bool canfs_request_writes(void);

#endif
