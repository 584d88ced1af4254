// SPDX-License-Identifier: LGPL-3.0-or-later
/* Checks a client's operation against the delegations of its file, and prevents conflicting grants until the operation ends. */
#include "ganesha-fsal/canfs_methods.h"

/* The file that the last request of this thread has named, if that is counted (delegations/holders.h). */
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

/* An operation that began in another thread and continues in this one belongs to another request, mostly of another file or client. */
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

fsal_status_t canfs_check_delegations(struct fsal_obj_handle *handle, enum canfs_access access)
{
	canfs_note_arrived(handle);
	return canfs_any_delegations() && handle->type == REGULAR_FILE
		       ? canfs_check_conflicts(canfs_hash_key(handle), access)
		       : fsalstat(ERR_FSAL_NO_ERROR, 0);
}

/* False: there is no such file; the operation itself returns that error. */
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

fsal_status_t canfs_check_named(
	struct fsal_obj_handle *dir, const char *name, enum canfs_access access)
{
	uint64_t file;

	return canfs_any_delegations() && find_named(dir, name, &file)
		       ? canfs_check_conflicts(file, access)
		       : fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static fsal_status_t begin_change(struct canfs_file_change *change)
{
	fsal_status_t status;

	change->holders = canfs_all_holders();
	canfs_holders_begin_change(change->holders, change->file);
	status = canfs_check_conflicts(change->file, CANFS_WRITES);
	if (FSAL_IS_ERROR(status))
		canfs_end_change(change);
	return status;
}

fsal_status_t canfs_begin_change(struct fsal_obj_handle *handle, struct canfs_file_change *change)
{
	*change = (struct canfs_file_change) { .holders = NULL };
	if (handle->type != REGULAR_FILE || !canfs_all_holders())
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	change->file = canfs_hash_key(handle);
	note_arrived(canfs_all_holders(), change->file);
	change->is_holders = is_named(change->file);
	return begin_change(change);
}

fsal_status_t canfs_begin_named_change(
	struct fsal_obj_handle *dir, const char *name, struct canfs_file_change *change)
{
	*change = (struct canfs_file_change) { .holders = NULL };
	return canfs_delegates(op_ctx->fsal_export) && find_named(dir, name, &change->file)
		       ? begin_change(change)
		       : fsalstat(ERR_FSAL_NO_ERROR, 0);
}

void canfs_note_write(struct canfs_file_change *change)
{
	change->is_sent_again =
		change->holders && named.when == CANFS_NAMED_AFTER && is_named(change->file);
}

void canfs_end_change(const struct canfs_file_change *change)
{
	if (!change->holders)
		return;
	canfs_holders_end_change(change->holders, change->file);
	if (change->is_sent_again)
		canfs_holders_arrived(change->holders, change->file);
}
