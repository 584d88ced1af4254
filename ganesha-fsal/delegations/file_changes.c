// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Checks a client's operation against the delegations of its file, and prevents conflicting grants
 * until the operation ends.
 */
#include "ganesha-fsal/delegations/delegations.h"

#include "common/clock.h"

/*
 * The file that the last request of this thread named, if that request is counted (core/holders.h).
 */
static __thread struct {
	uint64_t file;
	const void *address; /* of its client */
	enum canfs_named when;
	bool has_arrived;
} named;

void canfs_note_named(const struct gsh_buffdesc *key)
{
	named.when = CANFS_NOT_COUNTED;
	if (!canfs_any_delegations() || !canfs_request_writes())
		return;
	named.file = canfs_hash_bytes(key->addr, key->len);
	named.address = op_ctx->client;
	named.has_arrived = false;
	named.when = canfs_holders_named(
		canfs_all_holders(), named.file, canfs_client_here(), canfs_now_usec());
}

/*
 * An operation may begin in another thread and continue in this one. It then belongs to another
 * request, mostly of another file or client.
 */
static bool is_named(uint64_t file)
{
	return named.when != CANFS_NOT_COUNTED && named.file == file &&
	       named.address == op_ctx->client;
}

static void note_arrived(struct canfs_holders *holders, uint64_t file)
{
	if (!is_named(file) || named.has_arrived)
		return;
	named.has_arrived = true;
	canfs_holders_arrived(holders, file);
}

void canfs_note_arrived(struct fsal_obj_handle *handle)
{
	struct canfs_holders *holders = canfs_all_holders();

	if (holders && named.when != CANFS_NOT_COUNTED)
		note_arrived(holders, canfs_hash_key(handle));
}

static fsal_status_t check(struct fsal_obj_handle *handle, enum canfs_access access)
{
	canfs_note_arrived(handle);
	return canfs_any_delegations() && handle->type == REGULAR_FILE
		       ? canfs_check_conflicts(canfs_hash_key(handle), access)
		       : fsalstat(ERR_FSAL_NO_ERROR, 0);
}

fsal_status_t canfs_check_look(struct canfs_op *op)
{
	return check(op->handle, CANFS_LOOKS);
}

fsal_status_t canfs_check_read(struct canfs_op *op)
{
	return check(op->handle, CANFS_READS);
}

/*
 * A holder locks the file without asking the server. A lock of another client therefore conflicts
 * with any delegation.
 */
fsal_status_t canfs_check_lock(struct canfs_op *op)
{
	if (op->writes)
		return check(op->handle, CANFS_WRITES);
	canfs_note_arrived(op->handle);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

fsal_status_t canfs_note_commit(struct canfs_op *op)
{
	canfs_note_arrived(op->handle);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

/*
 * Returns false if there is no such file. If nothing has this name, the operation itself returns
 * the error.
 */
static bool find_named(struct fsal_obj_handle *dir, const char *name, uint64_t *file)
{
	struct fsal_obj_handle *sub = NULL;
	struct gsh_buffdesc key;
	bool is_file;

	if (FSAL_IS_ERROR(PASS(dir, lookup, name, &sub, NULL)))
		return false;
	is_file = sub->type == REGULAR_FILE;
	if (is_file) {
		BELOW_VOID(op_ctx->fsal_export, sub->obj_ops->handle_to_key(sub, &key));
		*file = canfs_hash_bytes(key.addr, key.len);
	}
	BELOW_VOID(op_ctx->fsal_export, sub->obj_ops->release(sub));
	return is_file;
}

/* Checks the file with this name, if there is one. */
static fsal_status_t check_named(
	struct fsal_obj_handle *dir, const char *name, enum canfs_access access)
{
	uint64_t file;

	return canfs_any_delegations() && find_named(dir, name, &file)
		       ? canfs_check_conflicts(file, access)
		       : fsalstat(ERR_FSAL_NO_ERROR, 0);
}

/*
 * A change of contents, attributes or names. No delegation of the file is granted until the change
 * ends.
 */
struct change {
	struct canfs_holders *holders; /* NULL: there are no delegations */
	uint64_t file;
	bool is_sent_again; /* a WRITE that may have been sent again: core/holders.h */
	bool is_holders;    /* the client has a write delegation, or just had one */
	uint8_t tries;      /* to find space for the WRITE */
};

/* This feature's part of an operation. */
struct changes {
	struct change own, replaced; /* of a rename */
};

static struct changes *changes_of(struct canfs_op *op)
{
	return CANFS_OP_PART(op, CANFS_FEATURE_DELEGATIONS, struct changes);
}

static void end_change(const struct change *change)
{
	if (!change->holders)
		return;
	canfs_holders_end_change(change->holders, change->file);
	if (change->is_sent_again)
		canfs_holders_arrived(change->holders, change->file);
}

static fsal_status_t begin_change_of(struct change *change)
{
	fsal_status_t status;

	change->holders = canfs_all_holders();
	canfs_holders_begin_change(change->holders, change->file);
	status = canfs_check_conflicts(change->file, CANFS_WRITES);
	if (FSAL_IS_ERROR(status))
		end_change(change);
	return status;
}

static fsal_status_t begin_change(struct fsal_obj_handle *handle, struct change *change)
{
	if (handle->type != REGULAR_FILE || !canfs_all_holders())
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	change->file = canfs_hash_key(handle);
	note_arrived(canfs_all_holders(), change->file);
	change->is_holders = is_named(change->file);
	return begin_change_of(change);
}

static fsal_status_t begin_named_change(
	struct fsal_obj_handle *dir, const char *name, struct change *change)
{
	return canfs_delegates(op_ctx->fsal_export) && find_named(dir, name, &change->file)
		       ? begin_change_of(change)
		       : fsalstat(ERR_FSAL_NO_ERROR, 0);
}

fsal_status_t canfs_begin_change(struct canfs_op *op)
{
	return begin_change(op->handle, &changes_of(op)->own);
}

fsal_status_t canfs_begin_unlink(struct canfs_op *op)
{
	fsal_status_t status = canfs_begin_change(op);

	if (!FSAL_IS_ERROR(status) && op->handle->type == REGULAR_FILE)
		canfs_forget_watched(op->handle);
	return status;
}

/* The file that a rename replaces is deleted. */
static void forget_named(struct fsal_obj_handle *dir, const char *name)
{
	struct fsal_obj_handle *sub = NULL;

	if (!canfs_any_file_settles() || FSAL_IS_ERROR(PASS(dir, lookup, name, &sub, NULL)))
		return;
	if (sub->type == REGULAR_FILE)
		canfs_forget_watched(sub);
	BELOW_VOID(op_ctx->fsal_export, sub->obj_ops->release(sub));
}

fsal_status_t canfs_begin_rename(struct canfs_op *op)
{
	struct changes *changes = changes_of(op);
	fsal_status_t status = begin_change(op->handle, &changes->own);

	if (FSAL_IS_ERROR(status))
		return status;
	status = begin_named_change(op->dir, op->name, &changes->replaced);
	if (FSAL_IS_ERROR(status))
		end_change(&changes->own);
	else
		forget_named(op->dir, op->name);
	return status;
}

fsal_status_t canfs_begin_write_change(struct canfs_op *op)
{
	struct change *change = &changes_of(op)->own;
	fsal_status_t status = canfs_write_was_revoked(op->handle, op->io)
				       ? fsalstat(ERR_FSAL_IO, 0)
				       : begin_change(op->handle, change);

	if (!FSAL_IS_ERROR(status))
		change->is_sent_again = change->holders && named.when == CANFS_NAMED_AFTER &&
					is_named(change->file);
	return status;
}

fsal_status_t canfs_begin_open(struct canfs_op *op)
{
	enum canfs_access access = op->writes ? CANFS_WRITES : CANFS_READS;
	struct change *change = &changes_of(op)->own;
	fsal_status_t status;

	if (op->truncates)
		status = op->name ? begin_named_change(op->handle, op->name, change)
				  : begin_change(op->handle, change);
	else
		status = op->name ? check_named(op->handle, op->name, access)
				  : check(op->handle, access);
	if (FSAL_IS_ERROR(status) || op->kind != CANFS_OP_OPEN || op->name ||
		!(op->truncates || op->writes) || !canfs_open_was_revoked(op->handle))
		return status;
	end_change(change);
	return fsalstat(ERR_FSAL_NOENT, 0);
}

fsal_status_t canfs_end_open(struct canfs_op *op, fsal_status_t status)
{
	/* After our lookup another client may have created the file and got a delegation. */
	if (op->made && op->truncates && op->may_exist && !FSAL_IS_ERROR(status))
		status = check(op->made, CANFS_WRITES);
	if (op->made && !FSAL_IS_ERROR(status))
		canfs_note_made(op->made, op->handle);
	return canfs_end_change(op, status);
}

fsal_status_t canfs_end_change(struct canfs_op *op, fsal_status_t status)
{
	const struct changes *changes = changes_of(op);

	end_change(&changes->replaced);
	end_change(&changes->own);
	return status;
}

#define SPEND_TRIES 8

bool canfs_retries_write(struct canfs_op *op, fsal_status_t status)
{
	struct change *change = &changes_of(op)->own;

	if (status.major != ERR_FSAL_NOSPC || !change->is_holders || change->tries == SPEND_TRIES)
		return false;
	change->tries++;
	return canfs_spend_space(canfs_bytes_of(op->io) << change->tries);
}
